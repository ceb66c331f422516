"""Tables as files: where polars reads and writes. Its errors become ours, and paths are never patterns."""

from __future__ import annotations

import io
import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from knowwhen.errors import BadInput
from knowwhen.facts.parquet import unpacked_size
from knowwhen.files import write_whole
from knowwhen.limits import check_unpacked

# A panic is no Exception: polars raises it where it meets what it takes to be impossible, as in damaged files.
FOREIGN: tuple[Any, ...] = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    OSError,
    ValueError,
    TypeError,
    MemoryError,
    OverflowError,
)
CELL = 16  # bytes that a text takes in memory, at least


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Turns what polars says of a file into one line."""
    try:
        yield
    except FOREIGN as error:
        raise BadInput(f"cannot read {path} as {what}: {(str(error).splitlines() or ['damaged'])[0]}") from error


def check_regular(path: Path) -> None:
    """An error unless the path is a regular file: reading a pipe would block."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not a regular file" if path.exists() else "does not exist"
        raise BadInput(f"cannot read {path}: it {what}; expected a file")


def read_parquet(path: Path, data: bytes | None = None) -> pl.DataFrame:
    """The table of a Parquet file, or of its content where that is at hand."""
    if data is None:
        check_regular(path)
    with reading(path, "Parquet"):
        check_unpacked(path, _unpacked_size(path, data))
        source = path if data is None else io.BytesIO(data)
        table = pl.scan_parquet(source, glob=False)
        rows, width = table.select(pl.len()).collect().item(), len(table.collect_schema())
        check_unpacked(path, rows * width * CELL)
        return table.collect()


WRITERS: dict[str, Callable[[pl.DataFrame, io.BytesIO], None]] = {
    ".csv": lambda table, file: table.write_csv(file),
    ".jsonl": lambda table, file: table.write_ndjson(file),
    ".parquet": lambda table, file: table.write_parquet(file),
}


def table_bytes(table: pl.DataFrame, ending: str) -> memoryview:
    """The content of a file with such an ending, one of WRITERS."""
    content = io.BytesIO()
    WRITERS[ending](table, content)
    return content.getbuffer()


def without_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """The table with ' before each text that a spreadsheet would take for a formula."""
    text = pl.col(pl.String)
    return table.with_columns(pl.when(text.str.contains(r"^[=+\-@\t\r]")).then("'" + text).otherwise(text).name.keep())


def _unpacked_size(path: Path, data: bytes | None) -> int:
    if data is not None:
        return unpacked_size(memoryview(data))
    with path.open("rb") as file:
        # Not closed by us: where a page is wrong, the frames of the error still look into it.
        return unpacked_size(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))


def write_parquet(frame: pl.DataFrame, path: Path, **options: Any) -> None:
    """Writes a table that is there whole or not at all."""
    content = io.BytesIO()
    frame.write_parquet(content, **options)
    write_whole(path, content.getbuffer())
