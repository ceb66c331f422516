"""A server on a socket: bound before anything else, stopped with what is under way answered."""

from __future__ import annotations

import errno
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from knowwhen.errors import BadRequest, RunError
from knowwhen.serve.settings import ServeSettings

GRACE = 10  # seconds that requests under way have when the server is stopped


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; a taken port is said in a line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise RunError(
                f"port {port} of {host} is taken, perhaps by another server; choose another --port"
            ) from None
        raise BadRequest(f"cannot listen at {host} port {port}: {error.strerror or error}") from None


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


def configured(app: FastAPI, settings: ServeSettings) -> uvicorn.Config:
    """How an application is served: quietly, and without telling what serves it."""
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=settings.max_waiting,
        timeout_graceful_shutdown=GRACE,
    )


def serve(app: FastAPI, listening: socket.socket, settings: ServeSettings) -> None:
    """Answers requests until a signal says stop."""
    Server(configured(app, settings)).run(sockets=[listening])
