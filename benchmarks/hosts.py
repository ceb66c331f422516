"""Two hosts in one machine: network namespaces that are joined by a cable. Needs root and iproute2."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

NETWORK = 0x40000000  # CLONE_NEWNET


@dataclass(frozen=True)
class Host:
    namespace: str
    interface: str
    address: str

    def enter(self) -> None:
        """From here on this thread, and those it starts, are on the host."""
        with Path("/run/netns", self.namespace).open() as file:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(file.fileno(), NETWORK):
                raise OSError(ctypes.get_errno(), "setns")
        os.environ["GLOO_SOCKET_IFNAME"] = self.interface

    def sent(self) -> int:
        """Bytes that have left the host, as a process on it sees them."""
        for line in Path("/proc/thread-self/net/dev").read_text().splitlines():
            name, _, numbers = line.partition(":")
            if name.strip() == self.interface:
                return int(numbers.split()[8])
        raise ValueError(f"no {self.interface} here")

    def cut(self) -> None:
        """Pulls the cable."""
        _ip("-n", self.namespace, "link", "set", self.interface, "down")


def can_make_hosts() -> bool:
    if shutil.which("ip") is None or os.name != "posix" or os.geteuid() != 0:
        return False
    name = f"kw{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode == 0
    if made:
        _ip("netns", "del", name)
    return made


@contextmanager
def two_hosts() -> Iterator[list[Host]]:
    tag = os.getpid() % 100_000
    names = [f"kw{tag}{side}" for side in "ab"]
    hosts = [Host(f"{name}-host", name, f"10.231.17.{i + 1}") for i, name in enumerate(names)]
    try:
        for host in hosts:
            _ip("netns", "add", host.namespace)
        first, second = hosts
        _ip("link", "add", first.interface, "netns", first.namespace, "type", "veth", "peer", "name", second.interface,
            "netns", second.namespace)  # fmt: skip
        for host in hosts:
            _ip("-n", host.namespace, "addr", "add", f"{host.address}/24", "dev", host.interface)
            for interface in (host.interface, "lo"):
                _ip("-n", host.namespace, "link", "set", interface, "up")
        yield hosts
    finally:
        for host in hosts:
            subprocess.run(["ip", "netns", "del", host.namespace], capture_output=True, check=False)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
