"""Requests that are none: real ones with bytes changed, cut off or closed with a reset; for tests and benchmarks."""

from __future__ import annotations

import random
import socket
import struct

QUESTION = b"GET /api/ask?subject=office+0&predicate=held+by&time=2000 HTTP/1.1\r\nHost: localhost\r\n\r\n"
BODY = b'{"questions": [{"subject": "office 0", "predicate": "held by", "time": "2000"}], "top": 3}'
POST = (
    b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    % (
        len(BODY),
        BODY,
    )
)


def mutated(rng: random.Random, request: bytes) -> bytes:
    """A request with bytes changed, cut, doubled or put in."""
    changed = bytearray(request)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(changed) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(changed):
            changed[at] = rng.randrange(256)
        elif kind == 1:
            del changed[at : at + rng.randint(1, 20)]
        elif kind == 2:
            changed[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
        elif kind == 3:
            changed[at:at] = changed[at : at + 30] * rng.randint(1, 3)
        else:
            changed[at:at] = rng.choice([b"\r\n", b"\0", b"%", b"%ff", b"{" * 50, b"[" * 3000, b"1e999", b"\\ud800"])
    return bytes(changed)


def send_malformed(host: str, port: int, count: int, seed: int = 0) -> set[int]:
    """Sends requests that are none, some in pieces, some cut off; gives the statuses that came back."""
    rng, statuses = random.Random(seed), set()
    for _ in range(count):
        request = mutated(rng, rng.choice([QUESTION, POST]))
        with socket.create_connection((host, port), timeout=60) as connection:
            if rng.random() < 0.2:  # closed with a reset, in the middle or with the answer under way
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.sendall(request[: rng.randrange(len(request) + 1)])
                continue
            try:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(1 << 16)
            except (ConnectionError, OSError):
                continue
            if answer.startswith(b"HTTP/1.1 "):
                statuses.add(int(answer[9:12]))
    return statuses
