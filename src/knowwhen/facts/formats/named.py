"""Facts by name: what every format reads into, and the checks that all of them share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from knowwhen.errors import BadDate
from knowwhen.facts.dates import MINUTES, MISFIT, Granularity, Period, has_clock, parse_period
from knowwhen.facts.formats.headers import NAMES
from knowwhen.facts.formats.problems import Problem, Problems

TIMES = ("begin", "end")
RECORDED = "recorded"  # where a source says when its facts were written down
SPLITS = ("train", "valid", "test")
NOT_A_DATE = "{} is not a date"
BACKWARDS = "{} ends before it begins"

Written = Mapping[str, Mapping[str, str]]  # for begin and end: the text of the source that an ISO text stands for


@dataclass(frozen=True)
class ReadOptions:
    """How to read a source."""

    columns: dict[str, str] = field(default_factory=dict)  # ours -> the file's, for tables
    granularity: Granularity | None = None  # None: the format's own, or the one most dates have
    fractions: tuple[float, float] = (0.1, 0.1)  # valid and test, where one file holds all facts
    seed: int = 0  # of that split
    verify: bool = True  # compare the files of a dataset folder with their SHA-256
    predicate: str | None = None  # of every fact, for tables without such a column
    date_format: str | None = None  # None: told from the dates
    separator: str | None = None  # None: told from the first lines
    encoding: str | None = None  # None: UTF-8, or what a mark at the beginning says

    @property
    def has_clock(self) -> bool:
        return self.granularity is not None and self.granularity.has_clock


@dataclass(frozen=True)
class NamedFacts:
    """Facts of one file: subject, predicate, object as text; begin, end as minutes since 1970, null where unknown.

    Where the file says it, `recorded` is the day on which each was written down.
    """

    frame: pl.DataFrame
    granularities: Counter[Granularity]  # how many dates are given to the day, the month, the year
    clocks: int = 0  # dates with a time of day, which was read over
    labels: pl.DataFrame | None = None  # key, label of entities, where the table has them


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


def check_names_and_times(
    rows: pl.DataFrame,
    file: str,
    problems: Problems,
    *,
    theirs: Mapping[str, str] | None = None,
    written: Written | None = None,
    clock: bool = False,
) -> NamedFacts:
    """Facts of the rows that are facts; the others go to the problems.

    `rows` has the columns subject, predicate, object, begin and end as text, and `line`, the line in the file. Without
    `end`, begin is the time of an event. `theirs` maps our columns to those of the file, and `written` dates to what
    stands there; `clock` keeps times of day.
    """
    written = written or {}
    called = {name: (theirs or {}).get(name, name) for name in (*NAMES, *TIMES, RECORDED)}
    for name in _names_to_check(rows):
        blank = pl.col(name).is_null() | (pl.col(name).str.strip_chars() == "")
        rows = _report(rows, blank, file, name, called, written, ("empty", "a name"), problems)
    if RECORDED in rows.columns:
        rows = _with_days(rows, file, called, problems)
    times = [name for name in TIMES if name in rows.columns]
    periods: dict[str, Period | None] = {}
    for name in times:
        for text in rows[name].unique().drop_nulls().sort():
            try:
                periods[text] = parse_period(text, clock=clock)
            except BadDate as error:
                pattern = text.partition(MISFIT)[2]
                expected = pattern or str(error).rpartition("; ")[2].removeprefix("expected ")
                rows = _report(
                    rows, pl.col(name) == text, file, name, called, written, (NOT_A_DATE, expected), problems
                )
    texts = pl.Series(list(periods), dtype=pl.String)
    first = pl.Series([p.first * MINUTES + p.start if p else None for p in periods.values()], dtype=pl.Int64)
    last = pl.Series([p.last * MINUTES + p.stop if p else None for p in periods.values()], dtype=pl.Int64)
    finest = [period.granularity if period else None for period in periods.values()]
    codes = {name: rows[name].cast(pl.Enum(texts)).to_physical() for name in times}  # places in texts
    granularities: Counter[Granularity] = Counter()
    clocks, with_clock = 0, [not clock and has_clock(text) for text in periods]
    for name in times:
        for code, count in enumerate(np.bincount(codes[name].drop_nulls(), minlength=len(texts)).tolist()):
            if granularity := finest[code]:
                granularities[granularity] += count
                clocks += count * with_clock[code]
    rows = rows.with_columns(first=first.gather(codes["begin"]), last=last.gather(codes[times[-1]]))
    backwards = pl.col("first") > pl.col("last")
    if rows.select(backwards.any()).item():
        rows = _report(rows, backwards, file, "end", called, written, (BACKWARDS, "the begin before the end"), problems)
    # rows.select(*NAMES, begin="first", end="last"), which would first copy all columns into chunks of one size
    columns = {**{name: name for name in NAMES}, "begin": "first", "end": "last"}
    columns |= {RECORDED: RECORDED} if RECORDED in rows.columns else {}
    frame = pl.DataFrame([rows[name].alias(ours) for ours, name in columns.items()])
    return NamedFacts(frame, granularities, clocks)


def _with_days(rows: pl.DataFrame, file: str, called: Mapping[str, str], problems: Problems) -> pl.DataFrame:
    """The rows with the last day that each date of recording may mean, null where there is none."""
    days: dict[str, int | None] = {}
    for text in rows[RECORDED].unique().drop_nulls().sort():
        try:
            period = parse_period(text)
            days[text] = period.last if period else None
        except BadDate:
            wrong = NOT_A_DATE, "the day it was recorded as YYYY-MM-DD"
            rows = _report(rows, pl.col(RECORDED) == text, file, RECORDED, called, {}, wrong, problems)
    texts = pl.Series(list(days), dtype=pl.String)
    found = rows[RECORDED].replace_strict(texts, pl.Series(list(days.values()), dtype=pl.Int64), default=None)
    return rows.with_columns(found.cast(pl.Int64).alias(RECORDED))


def _names_to_check(rows: pl.DataFrame) -> list[str]:
    """The columns of names where some row may be blank: those not all of which begin with a visible ASCII character.

    Comparing with two texts takes a quarter of the time of stripping all names; blanks are below "!" or beyond ASCII.
    """
    visible = {name: ((pl.col(name) >= "!") & (pl.col(name) < "\x80")).fill_null(value=False).all() for name in NAMES}
    return [name for name, every in rows.select(**visible).row(0, named=True).items() if not every]


def _report(
    rows: pl.DataFrame,
    bad: pl.Expr,
    file: str,
    column: str,
    called: Mapping[str, str],
    written: Written,
    wrong: tuple[str, str],
    problems: Problems,
) -> pl.DataFrame:
    """The rows that are not bad; the bad ones become problems, with what is `wrong` and what was expected."""
    bad = bad.fill_null(value=False)
    for row in rows.filter(bad).iter_rows(named=True):
        cells = {name: _written(written, name, row[name]) for name in (*NAMES, *TIMES, column) if name in row}
        found = repr(cells[column]) if cells[column].strip() else ""
        if wrong[0] == BACKWARDS and cells["begin"] != cells[column]:
            found = f"{cells['begin']!r} to {found}"
        texts = tuple(cells[name] for name in (*NAMES, *TIMES) if name in cells)
        problems.add(Problem(file, row["line"], called[column], found, *wrong, texts))
    return rows.filter(~bad)


def _written(written: Written, column: str, text: str | None) -> str:
    """What the source has in a cell."""
    return written.get(column, {}).get(text, text).partition(MISFIT)[0] if text is not None else ""
