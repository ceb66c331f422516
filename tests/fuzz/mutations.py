"""Seeded damage to bytes: bits, pieces, and what readers are known to stumble over."""

from __future__ import annotations

import random

TOKENS = [
    b"\r", b"\r\n", b"\n\n", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b'"', b'""', b"'", b",", b"\t", b"\\",
    b"\\u0000", b"\\ud800", b"\x1b[2J", b"#", b"=", b"[", b"]", b"{", b"}", b"null", b"NaN", b"Infinity", b"-1",
    b"1e999", b"..", b"-0001", b"9" * 25, b"+" + b"9" * 5000, b"0x10", b"true", b"?", b"*", b"%s", b"$HOME",
    b"\xe2\x80\xae", b"x" * 140_000, b"[" * 5_000, b'{"a":' * 3_000, b"-" + b"9" * 30, b"1" * 400, b"\xed\xa0\x80",
]  # fmt: skip


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes after one to four changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(CHANGES)(data, rng)
    return data


def _flip(data: bytes, rng: random.Random) -> bytes:
    if not data:
        return data
    found = bytearray(data)
    found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(TOKENS) + data[at:]


def _replace(data: bytes, rng: random.Random) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(TOKENS) + data[at + rng.randint(1, 12) :]


def _delete(data: bytes, rng: random.Random) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + data[at + rng.randint(1, 40) :]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    at = rng.randint(0, len(data))
    piece = data[at : at + rng.randint(1, 60)]
    return data[:at] + piece * rng.choice((2, 3, 50)) + data[at:]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randint(0, len(data))]


def _swap(data: bytes, rng: random.Random) -> bytes:
    a, b = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    return data[b:] + data[a:b] + data[:a]


CHANGES = (_flip, _flip, _insert, _insert, _replace, _delete, _repeat, _cut, _swap)


def flipped(data: bytes, rng: random.Random) -> bytes:
    """The bytes with one other bit."""
    return _flip(data, rng)
