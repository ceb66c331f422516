"""Readers of plain, gzip, bzip2 and zstd bytes that lose nothing before a damaged place."""

from __future__ import annotations

import bz2
import io
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol, cast

import rapidgzip  # type: ignore[import-not-found]
import zstandard
from isal import igzip_lib

BLOCK = 1 << 20
MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zst"}
# What readers raise for a file that ends early or is damaged, or that the disk cannot read.
DAMAGE: tuple[Any, ...] = (EOFError, OSError, ValueError, RuntimeError, igzip_lib.error, zstandard.ZstdError)


class Reader(Protocol):
    """Decompressed bytes in order; `tell` counts the bytes of the file as it lies there."""

    def readinto(self, view: memoryview, /) -> int: ...

    def tell(self) -> int: ...


def reader_of(file: io.FileIO, head: bytes, path: Path | None, threads: int) -> tuple[Reader, str]:
    """The reader of a file of which the head was read already, and its compression, seen from the head."""
    compression = next((name for magic, name in MAGIC.items() if head.startswith(magic)), "")
    plain = Plain(file, head)
    if compression == "gz":
        return Members(plain, lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)), compression
    if compression == "bz2":
        return (Bzip2(path, threads) if path else Members(plain, bz2.BZ2Decompressor)), compression
    return (Zstd(plain) if compression == "zst" else plain), compression


class Plain(io.RawIOBase):
    """A file as it lies there; its head comes again, so that a pipe can be looked at before it is read."""

    def __init__(self, file: io.FileIO, head: bytes) -> None:
        self._file, self._head, self._at = file, head, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer)
        count = min(len(view), len(self._head) - self._at)
        if count > 0:
            view[:count] = self._head[self._at : self._at + count]
        else:
            count = self._file.readinto(view) or 0
        self._at += count
        return count

    def tell(self) -> int:
        return self._at

    def jump(self, position: int) -> None:
        """Goes on at a position, in a file that can do so."""
        self._at, self._head = self._file.seek(position), b""


class Members:
    """The content of compressed members that follow each other (gzip, or bzip2 from a pipe)."""

    def __init__(self, raw: Plain, decompressor: Callable[[], Any]) -> None:
        self._raw, self._new, self._member = raw, decompressor, decompressor()
        self.tell = raw.tell

    def readinto(self, view: memoryview, /) -> int:
        while True:
            compressed = b""
            if self._member.eof:
                compressed = self._member.unused_data.lstrip(b"\0") or self._raw.read(BLOCK)
                if not compressed:
                    return 0
                self._member = self._new()
            elif self._member.needs_input:
                compressed = self._raw.read(BLOCK)
                if not compressed:
                    raise EOFError("the compressed file ends early")
            content = self._member.decompress(compressed, max_length=len(view))
            if content:
                view[: len(content)] = content
                return len(content)


class Zstd:
    """The content of zstd frames; a file that ends within one gives what there is, without a word."""

    def __init__(self, raw: Plain) -> None:
        self._stream = zstandard.ZstdDecompressor().stream_reader(cast(IO[bytes], raw), read_across_frames=True)
        self.tell = raw.tell

    def readinto(self, view: memoryview, /) -> int:
        return int(self._stream.readinto(view))


class Bzip2:
    """The content of a bzip2 file, decompressed by several threads."""

    def __init__(self, path: Path, threads: int) -> None:
        self._file = rapidgzip.IndexedBzip2File(str(path), threads)
        self._at, self._step = 0, BLOCK

    def readinto(self, view: memoryview, /) -> int:
        try:
            count = int(self._file.raw.readinto(view[: self._step]))
        except (RuntimeError, ValueError):
            if self._step < BLOCK:
                raise
            # A read that meets a damaged place gives nothing of what is before it: go there in small steps.
            self._step = 1 << 12
            self._file.raw.seek(self._at)
            return self.readinto(view)
        self._at += count
        return count

    def tell(self) -> int:
        return int(self._file.tell_compressed()) // 8
