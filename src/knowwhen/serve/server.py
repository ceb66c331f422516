"""A server on a socket: bound before anything else, stopped with what is under way answered."""

from __future__ import annotations

import errno
import ipaddress
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from knowwhen.errors import BadRequest, RunError
from knowwhen.serve.guard import Rules
from knowwhen.serve.settings import ServeSettings

ELSEWHERE = 50.0  # requests a second of one client, where it is not on this machine
GRACE = 10  # seconds that requests under way have when the server is stopped


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; a taken port is said in a line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise RunError(f"port {port} of {host} is in use; choose another --port") from None
        raise BadRequest(f"cannot listen on {host} port {port}: {error.strerror or error}") from None
    # Connections take it over. asyncio sets it only on sockets that name their protocol, which these do not; without
    # it, the body of an answer waits 40 ms until the client has acknowledged the head.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def make_rules(
    host: str, key: str | None, hosts: Sequence[str], origins: Sequence[str], settings: ServeSettings
) -> Rules:
    """The rules of a server at an address; one that others can reach needs a key."""
    local = is_loopback(host)
    if not local and key is None:
        raise BadRequest(f"other machines can reach {host}; set a key with --key-file FILE or $KNOWWHEN_KEY")
    rate = settings.rate if settings.rate is not None or local else ELSEWHERE
    named = tuple(name.lower() for name in (host, *hosts))
    return Rules(key, named, tuple(origin.rstrip("/") for origin in origins), rate, settings)


def address(listening: socket.socket) -> str:
    """'http://127.0.0.1:8020/'."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


class Server(uvicorn.Server):
    """A server for which Ctrl-C and SIGTERM are how it ends, and no error."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def configured(app: ASGIApp, settings: ServeSettings) -> uvicorn.Config:
    """How an application is served: quietly, and without telling what serves it."""
    return uvicorn.Config(
        app,
        log_level="error",  # not for every request that is none
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=4 * settings.max_waiting + 100,  # connections, most of them idle
        timeout_graceful_shutdown=GRACE,
    )


def serve_on(app: ASGIApp, listening: socket.socket, settings: ServeSettings) -> None:
    """Answers requests until a signal says stop."""
    Server(configured(app, settings)).run(sockets=[listening])
