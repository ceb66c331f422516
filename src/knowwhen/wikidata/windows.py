"""A dump cut into windows that can be worked on anywhere in any order.

Window k holds the lines that begin in bytes [k·size, (k+1)·size) of the decompressed dump. So a line belongs to one
window, whoever reads it, and a plain file is entered at any window without reading what is before.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from knowwhen.wikidata.stream import Dump

SLACK = 32 << 20  # for the end of a window's last line; the longest lines of Wikidata have about 5 MB
STEP = 1 << 16  # in which that end is looked for


@dataclass(frozen=True)
class Window:
    number: int
    start: int  # of its lines in the buffer
    stop: int


def windows(dump: Dump, size: int, wanted: Iterator[int], buffer: Callable[[], mmap.mmap]) -> Iterator[Window]:
    """The wanted windows (numbers in rising order), each in the buffer of `size + SLACK` bytes that was lent for it."""
    ahead, ahead_at = b"", 0  # what was read beyond the last window, and where it lies in the dump
    for number in wanted:
        lent = buffer()
        with memoryview(lent) as view:
            # The byte before a window says whether a line begins with it; before the first there is a line's end.
            first = number * size - 1
            if first < 0:
                view[:1], filled = b"\n", 1
            elif ahead_at <= first <= ahead_at + len(ahead):
                filled = len(ahead) - (first - ahead_at)
                view[:filled] = ahead[first - ahead_at :]
            else:
                dump.skip_to(first)
                filled = 0
            filled += dump.readinto(view[filled : size + 1])
            if filled <= 1:
                return
            while filled > size and lent.find(b"\n", size, filled) < 0 and filled < size + SLACK:
                more = dump.readinto(view[filled : min(filled + STEP, size + SLACK)])
                if not more:
                    break
                filled += more
            ahead, ahead_at = bytes(view[size:filled]), first + size
        yield Window(number, *_lines(lent, size, filled))
        if filled <= size:  # the dump has ended in this window
            return


def _lines(buffer: mmap.mmap, size: int, filled: int) -> tuple[int, int]:
    """Where the lines that begin in a window start and stop in its buffer, in which byte 0 is the one before it."""
    start = buffer.find(b"\n", 0, filled) + 1
    if not 0 < start <= size:
        return 0, 0
    stop = buffer.find(b"\n", size, filled) + 1 if filled > size else 0
    return start, stop or filled
