"""Tables that are no files: frames of polars, pandas and pyarrow, and lists of tuples or dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from knowwhen.errors import BadRequest
from knowwhen.facts.formats.headers import BY_PLACE
from knowwhen.facts.frames import FOREIGN


def is_frame(source: object) -> bool:
    """Whether a value is a frame of polars, pandas, pyarrow or another library that speaks Arrow."""
    return isinstance(source, (pl.DataFrame, pl.LazyFrame)) or any(
        hasattr(source, name) for name in ("__arrow_c_stream__", "__dataframe__")
    )


def frame_from(source: Any, columns: Mapping[int, Sequence[str]] = BY_PLACE) -> pl.DataFrame:
    """The frame of a table in memory; `columns` names those of tuples by their length."""
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    if isinstance(source, pl.DataFrame):
        return source
    try:
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
    """pandas gives its columns as Arrow only where pyarrow is installed; else they are lists."""
    try:
        return pl.DataFrame(source)
    except (ImportError, TypeError):
        # pandas writes a missing value of any type as one that is not equal to itself
        return pl.DataFrame({str(name): [_cell(value) for value in source[name]] for name in source.columns})


def _cell(value: Any) -> Any:
    missing = value is None or value != value
    return None if missing else value if isinstance(value, (int, float, str)) else str(value)


def _from_rows(rows: list[Any], columns: Mapping[int, Sequence[str]]) -> pl.DataFrame:
    if not rows:
        raise BadRequest("the list of rows is empty; expected at least one")
    if all(isinstance(row, Mapping) for row in rows):
        keys = dict.fromkeys(str(name) for row in rows for name in row)
        return pl.DataFrame({name: [_text(row.get(name)) for row in rows] for name in keys}, schema=_texts(keys))
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


def _text(value: Any) -> str | None:
    return None if value is None or value != value else value if isinstance(value, str) else str(value)
