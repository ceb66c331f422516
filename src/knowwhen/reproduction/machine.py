"""What a result says of its making: the machine, the memory it took, the commit and the versions."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path

import torch

from knowwhen.limits import physical_bytes

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
CLEAR_PEAK = "5"  # what resets VmHWM


def machine() -> str:
    return f"{os.cpu_count() or 1} cores, {round(physical_bytes() / 2**30)} GB"


def versions() -> dict[str, str]:
    try:
        own = metadata.version("knowwhen")
    except metadata.PackageNotFoundError:
        own = "unknown"
    return {"knowwhen": own, "python": platform.python_version(), "torch": torch.__version__}


def commit() -> str:
    """The commit of this checkout, with a + where its code was changed since; 'unknown' where it is not one."""
    package = Path(__file__).parents[1]
    found = _git("rev-parse", "--short", "HEAD", at=package)
    return (found + "+" * bool(_git("status", "--porcelain", "--", ".", at=package))) or "unknown"


def _git(*command: str, at: Path) -> str:
    try:
        done = subprocess.run(["git", "-C", str(at), *command], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


class Peak:
    """The most memory that this process held during a block, in GB; None where the system does not say."""

    gigabytes: float | None = None


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measures the peak of the block alone where the system can forget earlier ones (Linux)."""
    with suppress(OSError):
        CLEAR.write_text(CLEAR_PEAK)
    peak = Peak()
    yield peak
    with suppress(OSError):
        lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines() if ":" in line)
        if "VmHWM" in lines:
            peak.gigabytes = round(int(lines["VmHWM"].split()[0]) / 2**20, 2)
