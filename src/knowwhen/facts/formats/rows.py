"""The rows of one table, whatever kind of file it is: columns under their headers, and the line each row stands on."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import polars as pl

from knowwhen.errors import BadInput, BadRequest, MissingExtra
from knowwhen.facts.formats.content import XLSX, Content, as_utf8, ending, read_content, reading_bytes
from knowwhen.facts.formats.delimited import (
    count,
    first_rows,
    quote_of,
    read_delimited,
    sniff,
    split_header,
    with_newlines,
)
from knowwhen.facts.formats.headers import BY_PLACE, is_header, unique_names
from knowwhen.facts.formats.memory import flatten
from knowwhen.facts.formats.named import ReadOptions
from knowwhen.facts.formats.problems import WHOLE_LINE, Problem, Problems
from knowwhen.facts.formats.report import FileReport
from knowwhen.facts.frames import FOREIGN, read_parquet, reading
from knowwhen.facts.vocabulary import is_text
from knowwhen.limits import check_unpacked

DELIMITED = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".tab": "\t", ".psv": "|"}
JSON = (".jsonl", ".ndjson", ".json")
ENDINGS = (*DELIMITED, *JSON, ".parquet", XLSX)
NAMES_OF_SEPARATORS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}
LOOKED_AT = 20  # rows, to tell whether the first names the columns
_SEP_LINE = re.compile(rb'"?sep=(.)"?\r?\n', re.I)  # Excel's own way to say it
_NESTED = re.compile(rb"[:\[,]\s*[{\[]")

Rows = tuple[pl.DataFrame, FileReport]


def read_rows(source: Path | Content, options: ReadOptions, problems: Problems) -> Rows:
    """The rows of a table with a column `line`, and how it is written."""
    kind = source.kind if isinstance(source, Content) else ending(source)
    name = source.name if isinstance(source, Content) else str(source)
    if kind == ".parquet":
        return _read_parquet(source), FileReport(name, "Parquet")
    content = source if isinstance(source, Content) else read_content(source)
    if kind == XLSX:
        return _read_workbook(content), FileReport(name, "Excel")
    if kind in JSON:
        return _read_json(content, problems), FileReport(name, "JSON")
    return _read_text(content, options, problems)


def _read_text(content: Content, options: ReadOptions, problems: Problems) -> Rows:
    """Text with separators; with numbers for columns, or a first row that looks like data, it has no header."""
    name = content.name
    data, encoding = as_utf8(content.data, options.encoding, name)
    data, separator, first_line = _separated(with_newlines(data), options.separator, DELIMITED.get(content.kind, ","))
    report = FileReport(name, "text", separator=NAMES_OF_SEPARATORS.get(separator, separator), encoding=encoding)
    start = first_rows(data, separator, LOOKED_AT)
    width = max((len(row) for row in start), default=0)
    by_number = bool(options.columns) and all(value.isdigit() for value in options.columns.values())
    if by_number or (not options.columns and start and not is_header(start[0], start[1:], _is_date)):
        report.has_header = by_number
        header = [str(i + 1) for i in range(width)] if by_number else list(BY_PLACE[len(start[0])])
        widths = {width} if by_number else {len(start[0])}
    else:
        cells, data = split_header(data, name, separator)
        first_line += 1
        header, widths = _with_rest(cells, width)
        report.renamed = [one for one, cell in zip(header, cells, strict=False) if one != cell.strip()]
    rows = read_delimited(
        data, name, header, problems, separator=separator, quote=quote_of(separator), widths=widths,
        first_line=first_line,
    )  # fmt: skip
    empty = [one for one in header if one.startswith("column ") and (rows[one].is_null() | (rows[one] == "")).all()]
    return rows.drop(empty), report


def _separated(data: bytes, wanted: str | None, usual: str) -> tuple[bytes, str, int]:
    """The text, its separator and the number of its first line."""
    first_line = 1
    if match := _SEP_LINE.match(data):
        data, first_line, wanted = data[match.end() :], 2, wanted or match[1].decode(errors="replace")
    if wanted is not None:
        wanted = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}.get(wanted, wanted)
        if len(wanted) != 1 or not wanted.isascii() or wanted in '"\r\n':
            raise BadRequest(f"--separator is {wanted!r}; expected one character, or comma, semicolon, tab or bar")
        return data, wanted, first_line
    return data, sniff(data, usual), first_line


def _with_rest(cells: list[str], width: int) -> tuple[list[str], set[int]]:
    """Names for all columns, and how many a row may have: a header may end in separators that rows leave out."""
    named = len(cells)
    while named and not cells[named - 1].strip():
        named -= 1
    return unique_names(cells), set(range(named, len(cells) + 1)) or {width}


def _is_date(text: str) -> bool:
    return bool(re.fullmatch(r"-?\d{3,4}|\d{4}[-/.]\d{1,2}.*|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}.*", text.strip()))


def _read_parquet(source: Path | Content) -> pl.DataFrame:
    if isinstance(source, Content):
        rows = read_parquet(Path(source.name), data=source.data)
    else:
        packed = source.suffix.lower() != ".parquet"
        rows = read_parquet(source, data=read_content(source).data if packed else None)
    return _numbered(rows)


def _numbered(rows: pl.DataFrame, first: int = 1) -> pl.DataFrame:
    rows = rows.drop("line", strict=False)
    return rows.with_columns(line=pl.int_range(first, first + len(rows), dtype=pl.Int64))


def _read_workbook(content: Content) -> pl.DataFrame:
    """The first sheet of an Excel file; its first row names the columns."""
    try:
        import fastexcel  # noqa: F401
    except ImportError as error:
        raise MissingExtra("reading .xlsx", "excel") from error
    with reading_bytes(content.name), zipfile.ZipFile(io.BytesIO(content.data)) as packed:
        check_unpacked(content.name, sum(one.file_size for one in packed.infolist()))
    try:
        rows = pl.read_excel(io.BytesIO(content.data), engine="calamine", infer_schema_length=None)
    except BaseException as error:  # calamine's panics are no Exceptions
        if isinstance(error, KeyboardInterrupt):
            raise
        reason = (str(error).splitlines() or ["damaged"])[0]
        raise BadInput(f"cannot read {content.name} as an Excel file: {reason}") from error
    if not rows.width or not len(rows):
        raise BadInput(f"the first sheet of {content.name} has no rows below its header")
    return _numbered(rows, first=2)


def _read_json(content: Content, problems: Problems) -> pl.DataFrame:
    """One object a line, or a list of objects; polars where no value is nested, else one by one."""
    data, _ = as_utf8(content.data, None, content.name)
    if data.lstrip()[:1] == b"[":
        return _of_records(_listed(data, content.name), content.name, problems)
    if not _NESTED.search(data):
        try:
            rows = pl.read_ndjson(data, infer_schema_length=None)
            if len(rows) == count(data, "\n") + (not data.endswith(b"\n")):
                return _numbered(rows)
        except FOREIGN:
            pass
    lines = [(line, text) for line, text in enumerate(data.split(b"\n"), start=1) if text.strip()]
    return _of_records(lines, content.name, problems)


def _listed(data: bytes, name: str) -> list[tuple[int, bytes]]:
    """The objects of a list, numbered."""
    try:
        found = json.loads(data)
        return [(i, json.dumps(one).encode()) for i, one in enumerate(found, start=1)]
    except (ValueError, RecursionError) as error:
        raise BadInput(f"cannot read {name} as JSON: {error}") from error


def _of_records(lines: list[tuple[int, bytes]], name: str, problems: Problems) -> pl.DataFrame:
    """The rows of objects; those inside them become columns such as subject.name, and lists are no cells."""
    records = []
    for line, text in lines:
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict) and is_text(text.decode(errors="ignore") + json.dumps(record, ensure_ascii=False)):
            records.append({**_flat(record), "line": line})
        else:
            shown = text.decode(errors="backslashreplace")
            wrong = "{} is not a JSON object", "one object on each line"
            problems.add(Problem(name, line, WHOLE_LINE, repr(shown[:80]), *wrong, (shown,)))
    if not records:
        problems.finish()
        raise BadInput(f"{name} has no JSON objects; expected one on each line, or a list of them")
    with reading(Path(name), "JSON"):
        columns = dict.fromkeys(key for record in records for key in record)
        schema: dict[str, Any] = {key: pl.Int64 if key == "line" else pl.String for key in columns}
        return pl.DataFrame(records, schema=schema, infer_schema_length=None)


def _flat(record: dict[str, Any]) -> dict[str, str | None]:
    """The values of an object as text."""
    return {
        name: value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in flatten(record).items()
        if name != "line"
    }
