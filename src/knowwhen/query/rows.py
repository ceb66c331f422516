"""Many questions or facts at once: rows of names from a frame, a list or a file, each with an error of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal, Protocol, TypeVar

import polars as pl

from knowwhen.errors import BadInput, BadRequest, KnowwhenError
from knowwhen.evaluation.questions import Slot
from knowwhen.facts.formats.content import read_stream
from knowwhen.facts.formats.headers import choose_columns
from knowwhen.facts.formats.memory import frame_from, is_frame
from knowwhen.facts.formats.named import ReadOptions
from knowwhen.facts.formats.problems import Problems
from knowwhen.facts.formats.rows import read_rows
from knowwhen.facts.frames import check_regular
from knowwhen.text import plural

COLUMNS: tuple[Slot, ...] = ("subject", "predicate", "object", "time")
Errors = Literal["raise", "return"]
Read = TypeVar("Read")


class ArrowStream(Protocol):
    """A frame of pandas, pyarrow or any other library that speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


Rows = str | Path | IO[Any] | pl.DataFrame | pl.LazyFrame | ArrowStream | Iterable[Sequence[Any] | Mapping[str, Any]]
"""Where rows come from: a path, "-" for standard input, an open file, a frame, or tuples or dictionaries."""


@dataclass(frozen=True)
class Row:
    """Subject, predicate, object and time as they were given, or why there are none."""

    number: int  # the line of a file, else counted from 1
    parts: tuple[Any, ...]
    error: KnowwhenError | None = None


def read_all(
    source: Rows, least: int, read: Callable[..., Read], errors: Errors = "raise"
) -> list[Read | KnowwhenError]:
    """What `read` makes of the parts of each row, of which the first `least` must be there, in their order.

    The first bad row is an error that names it, or with `errors="return"` each has its own in its place.
    """
    if errors not in ("raise", "return"):
        raise BadRequest(f"errors is {errors!r}; expected 'raise' or 'return'")
    found: list[Read | KnowwhenError] = []
    for row in rows_of(source):
        try:
            if row.error is not None:
                raise row.error
            if not least <= len(row.parts) <= len(COLUMNS):
                expected = ", ".join(COLUMNS[:least]) + (" and time" if least < len(COLUMNS) else "")
                raise BadRequest(f"{plural(len(row.parts), 'value')} in {row.parts!r}; expected {expected}")
            found.append(read(*row.parts))
        except KnowwhenError as error:
            error.row = row.number
            if errors == "raise":
                error.args = (f"row {row.number}: {error}", *error.args[1:])
                raise
            found.append(error)
    return found


def rows_of(source: Rows) -> list[Row]:
    """The rows of a source, those of a file with their lines; what is wrong with single ones is theirs."""
    if is_frame(source):
        return _of_table(frame_from(source).drop("line", strict=False).with_row_index("line", offset=1), "the frame")
    if isinstance(source, (str, Path)) or hasattr(source, "read"):
        return _of_file(source)
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise BadRequest(
            f"cannot read {_described(source)} as rows; expected a frame, a list of tuples or dictionaries, a path or "
            "an open file"
        )
    rows = list(source)
    if rows and all(isinstance(row, str) for row in rows):
        raise BadRequest(
            f"each row is a text, such as {rows[0]!r}; expected tuples of {', '.join(COLUMNS)} (one question alone is "
            "given by its parts: model.ask(*question))"
        )
    return [_of_one(number, row) for number, row in enumerate(rows, 1)]


def _of_one(number: int, row: Any) -> Row:
    if isinstance(row, Mapping):
        return Row(number, tuple(row.get(name) for name in COLUMNS))
    if isinstance(row, Sequence) and not isinstance(row, (str, bytes)):
        return Row(number, tuple(row))
    expected = f"a tuple of {', '.join(COLUMNS)}, or a dictionary"
    return Row(number, (), BadRequest(f"the row is {_described(row)}; expected {expected}"))


def _of_file(source: Any) -> list[Row]:
    """The rows of a table that `knowwhen.load` could read; lines that are no rows are errors."""
    problems = Problems(skip=True)
    if isinstance(source, Path) or (isinstance(source, str) and source != "-"):
        check_regular(Path(source).expanduser())
        table, report = read_rows(Path(source).expanduser(), ReadOptions(), problems)
    else:
        table, report = read_rows(read_stream(None if source == "-" else source), ReadOptions(), problems)
    bad = [Row(one.line, (), BadInput(one.message)) for one in problems.found]
    return sorted([*_of_table(table, report.name), *bad], key=lambda row: row.number)


def _of_table(table: pl.DataFrame, name: str) -> list[Row]:
    headers = [header for header in table.columns if header != "line"]
    try:
        chosen = choose_columns(headers, {}, name)
    except BadInput:
        raise BadRequest(
            f"cannot find subject, predicate and object in {name}, which has {', '.join(headers) or 'no columns'}; "
            f"call its columns {', '.join(COLUMNS)}"
        ) from None
    if "time" not in chosen and {"begin", "end"} & set(chosen):
        raise BadRequest(f"{name} has a begin or an end for each row; expected one time, in a column of that name")
    columns = [chosen[one] for one in COLUMNS if one in chosen]
    return [Row(line, tuple(parts)) for line, *parts in table.select("line", *columns).iter_rows()]


def name_text(given: Any) -> str:
    """A name as it was given: tables may hold numbers, and nothing where there is none."""
    if given is None or given != given:
        return ""
    return str(int(given)) if isinstance(given, float) and given.is_integer() else str(given)


def time_text(given: Any) -> str:
    """A time as text: a date without the midnight that frames add, a year without the .0; '' where there is none."""
    if isinstance(given, datetime) and given == given and given == datetime(given.year, given.month, given.day):
        given = given.date()
    return re.sub(r"^(-?\d{1,4})\.0+$", r"\1", name_text(given).strip())


def _described(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"
