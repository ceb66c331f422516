"""A dump as one stream of bytes, from a file or standard input, compressed or not."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Callable
from pathlib import Path

from knowwhen.errors import BadInput, NotFound
from knowwhen.wikidata.decompression import BLOCK, DAMAGE, Plain, Reader, reader_of

HEAD = 1 << 16


class Dump:
    """The decompressed bytes of a dump, in order; reading ends at the end or where the dump is damaged."""

    def __init__(self, source: str | Path, threads: int) -> None:
        """The dump at a path, or at standard input for `-`."""
        path = None if str(source) == "-" else Path(source)
        if path and not path.is_file():
            raise NotFound(
                f"no dump {str(path)!r}; expected a file such as latest-all.json.gz, or - for standard input"
            )
        self.name = path.name if path else "standard input"
        self.size = path.stat().st_size if path else None  # as it lies there
        # Without buffers, so that a pipe gives what it has instead of waiting for more.
        try:
            self._file = io.FileIO(path if path else sys.stdin.fileno(), closefd=path is not None)
        except OSError as error:
            raise BadInput(f"cannot read the dump {str(path)!r}: {error.strerror}") from error
        head = _read_head(self._file)
        # By this the same dump is known again: reading it whole would take hours.
        self.fingerprint = hashlib.sha256(f"{self.size} ".encode() + head).hexdigest()
        self._reader: Reader
        self._reader, self.compression = reader_of(self._file, head, path, threads)
        self.position = 0  # in the decompressed bytes
        self.damage = ""  # why reading ended before the end
        self.watch: Callable[[], None] = lambda: None  # called now and then while bytes are read over

    @property
    def done(self) -> int:
        """How many bytes of the file as it lies there are read."""
        at = self._reader.tell()
        return at if self.size is None else min(at, self.size)

    def readinto(self, view: memoryview) -> int:
        """Fills the view, or as much of it as the dump still has."""
        filled = 0
        while filled < len(view) and not self.damage:
            try:
                count = self._reader.readinto(view[filled : filled + BLOCK])
            except DAMAGE as error:
                self.damage = f"{type(error).__name__}: {error}"
                break
            if not count:
                break
            filled += count
        self.position += filled
        return filled

    def skip_to(self, position: int) -> None:
        """Moves on to a position of the decompressed bytes: a plain file jumps there, others are read over."""
        if isinstance(self._reader, Plain) and self.size is not None:
            self._reader.jump(position)
            self.position = position
            return
        scratch = memoryview(bytearray(BLOCK))
        while self.position < position and self.readinto(scratch[: min(BLOCK, position - self.position)]):
            self.watch()

    def close(self) -> None:
        self._file.close()


def _read_head(file: io.FileIO) -> bytes:
    """The first bytes; a pipe gives them in pieces."""
    head = b""
    while len(head) < HEAD and (more := file.read(HEAD - len(head))):
        head += more
    return head
