"""Facts by name: what every format reads into, and the checks that all of them share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from knowwhen.errors import BadDate
from knowwhen.facts.dates import Granularity, Period, parse_period
from knowwhen.facts.formats.problems import Problem, Problems

NAMES = ("subject", "predicate", "object")
TIMES = ("begin", "end")
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class ReadOptions:
    """How a source is to be read, where it leaves a choice."""

    columns: dict[str, str] = field(default_factory=dict)  # ours -> the file's, for tables
    granularity: Granularity | None = None  # None: the format's own, or the one most dates have
    fractions: tuple[float, float] = (0.1, 0.1)  # valid and test, where one file holds all facts
    seed: int = 0  # of that split
    verify: bool = True  # compare the files of a dataset folder with their SHA-256


@dataclass(frozen=True)
class NamedFacts:
    """Facts of one file: subject, predicate, object as text; begin, end as day numbers, null where unknown."""

    frame: pl.DataFrame
    granularities: Counter[Granularity]  # how many dates are given to the day, the month, the year


@dataclass(frozen=True)
class NamedDataset:
    """What a format returns: facts by split (all under "" when the source has none) and what it knows of them."""

    splits: dict[str, NamedFacts]
    name: str = ""
    granularity: Granularity | None = None
    is_filled: bool = False  # the time axis also has times between begins and ends, where some fact holds
    entity_labels: pl.DataFrame | None = None  # key, label
    predicate_labels: pl.DataFrame | None = None
    counts: dict[str, int] = field(default_factory=dict)  # what the reader left out or mended, and how often
    about: dict[str, str] = field(default_factory=dict)  # description, licence, sources

    def with_granularity(self, wanted: Granularity | None) -> Granularity:
        """The one asked for, the format's own, or the one that most dates have (of two, the finer)."""
        total: Counter[Granularity] = sum((facts.granularities for facts in self.splits.values()), Counter())
        most_common = max(Granularity, key=lambda g: total[g]) if total else Granularity.YEAR
        return wanted or self.granularity or most_common


def check_names_and_times(rows: pl.DataFrame, file: Path, problems: Problems) -> NamedFacts:
    """Facts of the rows that are facts; the others go to the problems.

    `rows` has the columns subject, predicate, object, begin, end as text and line, the line in the file; where there is
    no end, begin is the time of an event.
    """
    for name in _names_to_check(rows):
        blank = pl.col(name).is_null() | (pl.col(name).str.strip_chars() == "")
        rows = _report(rows, blank, file, name, "a name", problems)
    times = [name for name in TIMES if name in rows.columns]
    periods: dict[str, Period | None] = {}
    for name in times:
        for text in rows[name].unique().drop_nulls().sort():
            try:
                periods[text] = parse_period(text)
            except BadDate as error:
                expected = str(error).rpartition("; ")[2].removeprefix("expected ")
                rows = _report(rows, pl.col(name) == text, file, name, expected, problems)
    texts = pl.Series(list(periods), dtype=pl.String)
    first = pl.Series([period.first if period else None for period in periods.values()], dtype=pl.Int64)
    last = pl.Series([period.last if period else None for period in periods.values()], dtype=pl.Int64)
    finest = [period.granularity if period else None for period in periods.values()]
    codes = {name: rows[name].cast(pl.Enum(texts)).to_physical() for name in times}  # places in texts
    granularities: Counter[Granularity] = Counter()
    for name in times:
        for code, count in enumerate(np.bincount(codes[name].drop_nulls(), minlength=len(texts)).tolist()):
            if granularity := finest[code]:
                granularities[granularity] += count
    rows = rows.with_columns(begin_day=first.gather(codes["begin"]), end_day=last.gather(codes[times[-1]]))
    backwards = pl.col("begin_day") > pl.col("end_day")
    if rows.select(backwards.any()).item():
        rows = _report(rows, backwards, file, "end", "an end not before the begin", problems)
    # rows.select(*NAMES, begin="begin_day", end="end_day"), which would first copy all columns into chunks of one size
    columns = {**{name: name for name in NAMES}, "begin": "begin_day", "end": "end_day"}
    frame = pl.DataFrame([rows[theirs].alias(ours) for ours, theirs in columns.items()])
    return NamedFacts(frame, granularities)


def _names_to_check(rows: pl.DataFrame) -> list[str]:
    """The columns of names where some row may be blank: those not all of which begin with a visible ASCII character.

    Comparing with two texts takes a quarter of the time of stripping all names; blanks are below "!" or beyond ASCII.
    """
    visible = {name: ((pl.col(name) >= "!") & (pl.col(name) < "\x80")).fill_null(value=False).all() for name in NAMES}
    return [name for name, every in rows.select(**visible).row(0, named=True).items() if not every]


def _report(
    rows: pl.DataFrame, bad: pl.Expr, file: Path, column: str, expected: str, problems: Problems
) -> pl.DataFrame:
    """The rows that are not bad; the bad ones become problems."""
    bad = bad.fill_null(value=False)
    for row in rows.filter(bad).iter_rows(named=True):
        found = "nothing" if row[column] is None or not row[column].strip() else repr(row[column])
        if column == "end" and row["begin"] is not None and "begin" in expected:
            found += f" after begin {row['begin']!r}"
        texts = tuple("" if row[c] is None else str(row[c]) for c in (*NAMES, *TIMES) if c in row)
        problems.add(Problem(str(file), row["line"], column, found, expected, texts))
    return rows.filter(~bad)
