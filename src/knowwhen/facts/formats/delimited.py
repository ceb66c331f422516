"""Rows of delimited text with the line each stands on: polars where the file is regular, `csv` to say what is not."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl

from knowwhen.errors import BadInput
from knowwhen.facts.formats.problems import WHOLE_LINE, Problem, Problems
from knowwhen.facts.frames import FOREIGN

BLOCK = 1 << 18  # bytes
SEPARATORS = (",", "\t", ";", "|")
NOT_UTF8 = "{} is not UTF-8 text"
SNIFFED = 50  # lines that are looked at to tell the separator


def read_delimited(
    data: bytes,
    name: str,
    columns: list[str],
    problems: Problems,
    *,
    separator: str = "\t",
    quote: str | None = None,
    widths: Collection[int] = (),
    first_line: int = 1,
) -> pl.DataFrame:
    """The rows of UTF-8 text as text columns and `line`; `first_line` is the number of the first.

    `widths` are the numbers of fields a row may have (all columns when left out); missing ones become null.
    """
    widths = widths or {len(columns)}
    rows = _read_regular(data, columns, separator, quote, widths, first_line)
    if rows is None:
        rows = _read_irregular(data, columns, separator, quote, widths, first_line, name, problems)
    return rows


def with_newlines(data: bytes) -> bytes:
    """The text with \\n at its line ends, where they are \\r alone as they were long ago."""
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def quote_of(separator: str) -> str | None:
    """What cells are quoted with: tables with tabs have no need of it."""
    return None if separator == "\t" else '"'


def sniff(data: bytes, usual: str) -> str:
    """The separator that cuts the first lines into most columns, as many in each; the `usual` one where none does."""
    lines = data[: 1 << 16].decode(errors="replace").splitlines()[:SNIFFED]
    best, found = (0.0, 1), usual
    for separator in (usual, *(one for one in SEPARATORS if one != usual)):
        widths = [len(row) for row in _lenient(lines, separator) if row]
        if widths and widths[0] > 1:
            value = (round(widths.count(widths[0]) / len(widths), 1), widths[0])
            if value > best:
                best, found = value, separator
    return found


def first_rows(data: bytes, separator: str, count: int) -> list[list[str]]:
    """The cells of the first lines, as far as they can be read."""
    lines = io.StringIO(data[: 1 << 20].decode(errors="replace"), newline="")
    return [row for _, row in zip(range(count), _lenient(lines, separator), strict=False)]


def _lenient(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    try:
        yield from _csv_rows(lines, separator, quote_of(separator))
    except csv.Error:
        return


def split_header(data: bytes, name: str, separator: str) -> tuple[list[str], bytes]:
    """The cells of the first line, and the rest."""
    header, _, rest = data.partition(b"\n")
    try:
        line = header.decode().rstrip("\r")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{name}:1: the header is not UTF-8 text; name the encoding, such as --encoding cp1252"
        ) from error
    return next(_named(_csv_rows([line], separator, quote_of(separator)), name, 0), []), rest


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
    name: str,
    problems: Problems,
) -> pl.DataFrame:
    """The same rows one by one, at the pace of Python; blank lines are passed over, bad ones become problems."""
    fields: list[list[str | None]] = []
    lines: list[int] = []
    # Undecodable bytes come through as lone surrogates, so that the row they are in can be named.
    reader = _csv_rows(io.StringIO(data.decode(errors="surrogateescape"), newline=""), separator, quote)
    line, most = first_line, max(widths)
    for row in _named(reader, name, first_line):
        here, line = line, first_line + reader.line_num
        if not any(row[most:]):
            del row[most:]  # a row may end in separators
        if not row:
            continue
        text = separator.join(row)
        if any("\udc80" <= character <= "\udcff" for character in text):
            shown = text.encode(errors="surrogateescape").decode(errors="backslashreplace")
            wrong = NOT_UTF8, "UTF-8, or the encoding of the file, such as --encoding cp1252"
            problems.add(Problem(name, here, WHOLE_LINE, repr(shown), *wrong, (shown,)))
        elif len(row) not in widths:
            expected = f"{' or '.join(str(w) for w in sorted(widths))} ({', '.join(columns)})"
            wrong = f"{len(row)} columns in {{}}", expected
            problems.add(Problem(name, here, WHOLE_LINE, repr(text), *wrong, tuple(row)))
        else:
            fields.append(row + [None] * (len(columns) - len(row)))
            lines.append(here)
    frame = pl.DataFrame(fields, schema=dict.fromkeys(columns, pl.String), orient="row")
    return frame.with_columns(line=pl.Series(lines, dtype=pl.Int64))


def _named(reader: Any, name: str, first_line: int) -> Iterator[list[str]]:
    """The rows, and the line where `csv` can read no more."""
    try:
        yield from reader
    except csv.Error as error:
        raise BadInput(f"{name}:{first_line + reader.line_num}: cannot read further: {error}") from error


def count(data: bytes, character: str) -> int:
    """data.count(…) of one ASCII character, many times faster where it is frequent: by blocks that fit the cache."""
    codes = np.frombuffer(data, np.uint8)
    return sum(
        int(np.count_nonzero(codes[start : start + BLOCK] == ord(character))) for start in range(0, len(codes), BLOCK)
    )


def _csv_rows(file: Iterable[str], separator: str, quote: str | None) -> Any:
    quoting: Any = csv.QUOTE_NONE if quote is None else csv.QUOTE_MINIMAL
    return csv.reader(file, delimiter=separator, quotechar=quote, quoting=quoting)
