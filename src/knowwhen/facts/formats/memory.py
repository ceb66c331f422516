"""Tables that are no files: frames of polars, pandas and pyarrow, and lists of tuples or dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from knowwhen.errors import BadRequest
from knowwhen.facts.formats.headers import BY_PLACE
from knowwhen.facts.frames import FOREIGN

NESTED = (Mapping, list, tuple, set)  # no cells
DEEPEST = 3  # levels of objects in objects


def is_frame(source: object) -> bool:
    """Whether a value is a frame of polars, pandas, pyarrow or another library that speaks Arrow."""
    return isinstance(source, (pl.DataFrame, pl.LazyFrame)) or any(
        hasattr(source, name) for name in ("__arrow_c_stream__", "__dataframe__")
    )


def frame_from(source: Any, columns: Mapping[int, Sequence[str]] = BY_PLACE) -> pl.DataFrame:
    """The frame of a table in memory; `columns` names those of tuples by their length."""
    try:
        if isinstance(source, pl.LazyFrame):
            return source.collect()
        if isinstance(source, pl.DataFrame):
            return source
        if is_frame(source):
            return _from_foreign(source)
        if isinstance(source, Iterable) and not isinstance(source, (str, bytes, Mapping)):
            return _from_rows(list(source), columns)
    except FOREIGN as error:
        reason = (str(error).splitlines() or [""])[0]
        raise BadRequest(f"cannot read this {type(source).__name__} as a table: {reason}") from error
    raise BadRequest(
        f"cannot read a {type(source).__name__} as a table; expected a path, a file object, a polars, pandas or "
        "pyarrow table, or a list of tuples or dictionaries"
    )


def _from_foreign(source: Any) -> pl.DataFrame:
    """pandas gives its columns as Arrow only where pyarrow is installed and each has one type; else they are texts."""
    columns = getattr(source, "columns", ())
    names = [str(name) for name in getattr(source, "column_names", columns)]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise BadRequest(f"the {type(source).__name__} has two columns {repeated!r}; rename one of them")
    try:
        return pl.DataFrame(source)
    except (ImportError, *FOREIGN):
        texts = {str(name): [_text(value) for value in source[name]] for name in columns}
        return pl.DataFrame(texts, schema=_texts(texts))


def _from_rows(rows: list[Any], columns: Mapping[int, Sequence[str]]) -> pl.DataFrame:
    if not rows:
        raise BadRequest("the list of rows is empty; expected at least one")
    if all(isinstance(row, Mapping) for row in rows):
        flat = [flatten(row) for row in rows]
        keys = dict.fromkeys(name for row in flat for name in row)
        return pl.DataFrame({name: [_text(row.get(name)) for row in flat] for name in keys}, schema=_texts(keys))
    widths = [len(row) if isinstance(row, Sequence) and not isinstance(row, str) else 0 for row in rows]
    bad = next((row for row, width in zip(rows, widths, strict=True) if width not in columns), None)
    if bad is not None:
        expected = " or ".join(", ".join(names) for names in columns.values())
        raise BadRequest(f"cannot read the row {bad!r}; expected a dictionary, or a tuple of {expected}")
    names = columns[max(widths)]
    cells = [[_text(value) for value in row] + [None] * (len(names) - len(row)) for row in rows]
    if {4, 5} <= set(widths):
        raise BadRequest("some rows have one time and others have two; give each row a begin and an end")
    return pl.DataFrame(cells, schema=_texts(names), orient="row")


def _texts(names: Iterable[str]) -> dict[str, Any]:
    return dict.fromkeys(names, pl.String)


def flatten(record: Mapping[Any, Any], prefix: str = "") -> dict[str, Any]:
    """The values of an object, those of objects in it under names with dots; lists are left out."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping) and prefix.count(".") < DEEPEST:
            found |= flatten(value, f"{prefix}{key}.")
        elif not isinstance(value, NESTED):
            found[f"{prefix}{key}"] = value
    return found


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, NESTED):
        raise BadRequest(f"cannot read {value!r} as a cell; expected a text, a number or a date")
    # What is missing is not equal to itself, and of pandas' NA that is not even known.
    is_missing = value is None or repr(value) == "<NA>" or value != value
    return None if is_missing else str(value)
