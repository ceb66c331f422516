"""Rows of delimited text with the line each stands on: polars where the file is regular, `csv` to say what is not."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import zstandard

from knowwhen.errors import BadInput
from knowwhen.facts.formats.problems import Problem, Problems
from knowwhen.facts.frames import FOREIGN, check_regular
from knowwhen.limits import check_unpacked

COMPRESSED = (".gz", ".zst")
BLOCK = 1 << 18  # bytes
READ = 8 << 20  # bytes unpacked at once


def read_bytes(path: Path) -> bytes:
    """The content of a file, decompressed when it ends in .gz or .zst; an empty file is an error."""
    check_regular(path)
    try:
        data = _unpacked(path)
    except (OSError, EOFError, MemoryError, zlib.error, zstandard.ZstdError) as error:
        raise BadInput(f"cannot read {path}: {getattr(error, 'strerror', None) or error or 'no memory'}") from error
    if not data or data.isspace():  # not data.strip(), without a copy
        raise BadInput(f"{path} is empty, expected a fact on each line")
    return data.removeprefix(b"\xef\xbb\xbf")


def _unpacked(path: Path) -> bytes:
    """The content of a file, unpacked, if it is not too much."""
    if path.suffix not in COMPRESSED:
        return path.read_bytes()
    blocks, size = [], 0
    with gzip.open(path) if path.suffix == ".gz" else zstandard.open(path) as file:
        while block := file.read(READ):
            size += len(block)
            check_unpacked(path, size)
            blocks.append(block)
    return b"".join(blocks)


def read_delimited(
    path: Path,
    columns: list[str] | None,
    problems: Problems,
    *,
    separator: str = "\t",
    quote: str | None = None,
    widths: Collection[int] = (),
) -> pl.DataFrame:
    """The rows of a file as text columns and `line`; `columns` names them, or None when the first line does.

    `widths` are the numbers of fields a row may have (all columns when left out); missing ones become null.
    """
    data = read_bytes(path)
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")  # lines as they ended long ago
    if columns is None:
        columns, data = _split_header(data, path, separator, quote)
        first_line = 2
    else:
        first_line = 1
    widths = widths or {len(columns)}
    rows = _read_regular(data, columns, separator, quote, widths, first_line)
    if rows is None:
        rows = _read_irregular(data, columns, separator, quote, widths, first_line, path, problems)
    return rows


def _split_header(data: bytes, path: Path, separator: str, quote: str | None) -> tuple[list[str], bytes]:
    header, _, rest = data.partition(b"\n")
    try:
        line = header.decode().rstrip("\r")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}:1: the header is not UTF-8 text") from error
    columns = next(_named(_csv_rows([line], separator, quote), path, 0), [])
    twice = next((name for i, name in enumerate(columns) if name in columns[:i]), None)
    if twice is not None:
        raise BadInput(f"{path}:1: two columns are called {twice!r}; rename one of them")
    return columns, rest


def _read_regular(
    data: bytes, columns: list[str], separator: str, quote: str | None, widths: Collection[int], first_line: int
) -> pl.DataFrame | None:
    """The rows when every line is one of them and has a width that is allowed; None otherwise."""
    ragged = len(widths) > 1
    try:
        rows = pl.read_csv(
            data,
            has_header=False,
            separator=separator,
            quote_char=quote,
            schema=dict.fromkeys(columns, pl.String),
            empty_string_is_null=ragged,
        )
    except FOREIGN:  # too many fields, or bytes that are not UTF-8
        return None
    if count(data, "\n") + (not data.endswith(b"\n")) != len(rows):  # blank lines, or newlines inside quotes
        return None
    found = (
        rows.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()
        if ragged
        else pl.Series([len(columns)]).new_from_index(0, len(rows))
    )
    # polars fills up short lines in silence: only the separators tell. Where quotes may hide some of them,
    # a line that ends in an empty field is not trusted.
    quoted = quote is not None and quote.encode() in data
    whole = not (rows[:, -1] == "").any() if quoted else count(data, separator) == int(found.sum()) - len(rows)
    if not whole or not set(found.unique()) <= set(widths):
        return None
    return rows.with_columns(line=pl.int_range(first_line, first_line + len(rows)))


def _read_irregular(
    data: bytes,
    columns: list[str],
    separator: str,
    quote: str | None,
    widths: Collection[int],
    first_line: int,
    path: Path,
    problems: Problems,
) -> pl.DataFrame:
    """The same rows one by one, at the pace of Python; blank lines are passed over, bad ones become problems."""
    fields: list[list[str | None]] = []
    lines: list[int] = []
    # Undecodable bytes come through as lone surrogates, so that the row they are in can be named.
    reader = _csv_rows(io.StringIO(data.decode(errors="surrogateescape"), newline=""), separator, quote)
    line = first_line
    for row in _named(reader, path, first_line):
        here, line = line, first_line + reader.line_num
        if not row:
            continue
        text = separator.join(row)
        if any("\udc80" <= character <= "\udcff" for character in text):
            shown = text.encode(errors="surrogateescape").decode(errors="backslashreplace")
            problems.add(Problem(str(path), here, "line", f"bytes in {shown!r}", "UTF-8 text", (shown,)))
        elif len(row) not in widths:
            expected = f"{' or '.join(str(w) for w in sorted(widths))} ({', '.join(columns)})"
            problems.add(Problem(str(path), here, "line", f"{len(row)} columns in {text!r}", expected, tuple(row)))
        else:
            fields.append(row + [None] * (len(columns) - len(row)))
            lines.append(here)
    frame = pl.DataFrame(fields, schema=dict.fromkeys(columns, pl.String), orient="row")
    return frame.with_columns(line=pl.Series(lines, dtype=pl.Int64))


def _named(reader: Any, path: Path, first_line: int) -> Iterator[list[str]]:
    """The rows, and the line where `csv` can read no more."""
    try:
        yield from reader
    except csv.Error as error:
        raise BadInput(f"{path}:{first_line + reader.line_num}: cannot read on: {error}") from error


def count(data: bytes, character: str) -> int:
    """data.count(…) of one ASCII character, many times faster where it is frequent: by blocks that fit the cache."""
    codes = np.frombuffer(data, np.uint8)
    return sum(
        int(np.count_nonzero(codes[start : start + BLOCK] == ord(character))) for start in range(0, len(codes), BLOCK)
    )


def _csv_rows(file: Iterable[str], separator: str, quote: str | None) -> Any:
    quoting: Any = csv.QUOTE_NONE if quote is None else csv.QUOTE_MINIMAL
    return csv.reader(file, delimiter=separator, quotechar=quote, quoting=quoting)
