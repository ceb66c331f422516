"""What a Parquet file says of its own sizes, read before polars believes it: damaged ones have it ask for exabytes.

The footer and each page begin with a struct in Thrift's compact protocol; only the few fields that are sizes are used
(https://github.com/apache/parquet-format, parquet.thrift).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MAGIC = b"PAR1"
DEEPEST = 16  # structs within structs
ROW_GROUPS, COLUMNS, COLUMN_META = 4, 1, 3  # fields of FileMetaData, RowGroup, ColumnChunk
VALUES, FIRST_PAGE, DICTIONARY = 5, 9, 11  # of ColumnMetaData
UNPACKED, PACKED = 2, 3  # of PageHeader, in bytes
DATA_HEADERS, DICTIONARY_HEADER = (5, 8), 7

Struct = dict[int, Any]


class BadSizes(ValueError):
    """A file whose sizes cannot be true."""


def unpacked_size(data: memoryview) -> int:
    """The bytes of all pages once they are unpacked; BadSizes where a page cannot be what it says."""
    try:
        return sum(size for chunk in _chunks(data) for size in _pages(data, chunk))
    except (IndexError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadSizes("it has unreadable sizes") from error


def _chunks(data: memoryview) -> Iterator[Struct]:
    """What the footer says of each column of each group of rows."""
    length = int.from_bytes(data[-8:-4], "little")
    if bytes(data[-4:]) != MAGIC or bytes(data[:4]) != MAGIC or length > len(data) - 12:
        raise BadSizes("it does not begin and end like a Parquet file")
    footer, _ = _Reader(data[len(data) - 8 - length : len(data) - 8]).struct(0)
    for group in footer.get(ROW_GROUPS, ()):
        for column in group[COLUMNS]:
            yield column[COLUMN_META]


def _pages(data: memoryview, chunk: Struct) -> Iterator[int]:
    """The unpacked size of each page of a column, all of which are in the file and have no more values than it."""
    left, at = chunk[VALUES], chunk.get(DICTIONARY) or chunk[FIRST_PAGE]
    while left > 0:
        if not 4 <= at < len(data):
            raise BadSizes("a page lies outside the file")
        header, length = _Reader(data[at:]).struct(0)
        unpacked, packed = header[UNPACKED], header[PACKED]
        at += length + packed
        if unpacked < 0 or packed < 0 or at > len(data):
            raise BadSizes("a page is longer than the file")
        if DICTIONARY_HEADER in header:
            if not 0 <= header[DICTIONARY_HEADER][1] <= unpacked:
                raise BadSizes("a dictionary has more entries than bytes")
        else:
            values = next((header[field][1] for field in DATA_HEADERS if field in header), 0)
            if not 0 <= values <= left:
                raise BadSizes("a page has more values than its column")
            left -= values
        yield unpacked


class _Reader:
    """Thrift's compact protocol: field numbers as differences, integers in seven bits a byte."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def struct(self, depth: int) -> tuple[Struct, int]:
        """The fields of the struct that begins here, and where it ends."""
        if depth > DEEPEST:
            raise BadSizes("its structure is too deep")
        fields, number = {}, 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields, self._at

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (4, 5, 6):
            return self._integer()
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (7, 8):
            self._skip(8 if kind == 7 else self._varint())
            return None
        if kind in (9, 10):
            head = self._byte()
            size = self._varint() if head >> 4 == 15 else head >> 4
            if size > len(self._data):
                raise BadSizes("a list is longer than the file")
            return [self._value(head & 15, depth) for _ in range(size)]
        if kind == 12:
            return self.struct(depth + 1)[0]
        raise BadSizes(f"it has a field of unknown kind {kind}")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _skip(self, count: int) -> None:
        self._at += count
        if self._at > len(self._data):
            raise BadSizes("a text is longer than the file")

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise BadSizes("an integer has more than 64 bits")
        return value | byte << shift

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
