"""The time axis: the timestamps of a dataset in order, and what a date means on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from knowwhen.errors import TimeOutside
from knowwhen.facts.dates import Granularity, Period, civil, parse_period
from knowwhen.facts.table import Bools, Facts
from knowwhen.text import brief, plural

Ints = NDArray[np.int64]

MOST = 5_000  # timestamps of an axis that is filled up: thirteen years by day


@dataclass(frozen=True)
class Moment:
    """A time that was asked for: its place on the calendar, and the timestamps that stand for it."""

    ids: range  # never empty
    first: int  # positions, whether or not the axis has them
    last: int
    as_of: str | None = None  # the timestamp that stands for it, where the axis has none of its own
    beyond: bool = False  # it lies after the last timestamp

    def note(self, text: str) -> str | None:
        """Says that the answer is for another timestamp, if it is."""
        if self.as_of is None:
            return None
        why = "is after the last date in the data" if self.beyond else "is not on the time axis"
        return f"answered as of {self.as_of}: {text} {why}"


@dataclass(frozen=True, eq=False)
class Timeline:
    """The time axis: timestamps 0 … T-1 at increasing positions, in minutes, hours, days, months or years.

    Benchmarks have only the timestamps at which a fact begins or ends, as in the paper. Tables also have those in
    between at which some fact holds. Neighbours may be more than one unit apart: see `gaps`.
    """

    granularity: Granularity
    positions: Ints  # (T,), increasing

    def __post_init__(self) -> None:
        assert (np.diff(self.positions) > 0).all(), "positions increase"
        self.positions.setflags(write=False)

    def __repr__(self) -> str:
        return brief(self, f"{self.span()}, {plural(len(self), 'timestamp')}")

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def gaps(self) -> Ints:  # (T - 1,)
        """Units between neighbouring timestamps, at least 1."""
        return np.diff(self.positions)

    @cached_property
    def calendar(self) -> Ints:  # (T, 3)
        """Year, month and day of the first day of each timestamp."""
        days = (civil(self.granularity.period(position).first) for position in self.positions.tolist())
        return np.array(list(days), np.int64).reshape(-1, 3)

    def label(self, timestamp: int) -> str:
        """The date of a timestamp id, at the axis' granularity."""
        return str(self.granularity.period(int(self.positions[timestamp])))

    def labels(self) -> list[str]:
        return self._labels.copy()

    @cached_property
    def _labels(self) -> list[str]:
        return [self.label(i) for i in range(len(self))]

    def covered(self, period: Period) -> range:
        """The ids of the timestamps inside a period; empty if there are none."""
        first, last = self.granularity.positions(period)
        return range(
            int(np.searchsorted(self.positions, first, side="left")),
            int(np.searchsorted(self.positions, last, side="right")),
        )

    def ids(self, text: str) -> range:
        """The ids that a date covers: up to 31 for `2014-03` on a daily axis, four for `2009..2012` on a yearly one."""
        return self.moment(text).ids

    def moment(self, text: str) -> Moment:
        """The timestamps that stand for a date.

        A date that is not on the axis, or after its end, is represented by the last timestamp before it. A date before
        the first timestamp raises `TimeOutside`.
        """
        period = parse_period(text, clock=self.granularity.has_clock)
        if period is None:
            return Moment(range(len(self)), int(self.positions[0]), int(self.positions[-1]))
        first, last = self.granularity.positions(period)
        covered = self.covered(period)
        if covered:
            return Moment(covered, first, last)
        if not covered.start:
            message = f"{text!r} is before the first date in the data ({self.span()})"
            raise TimeOutside(message, name=text)
        ids = range(covered.start - 1, covered.start)
        return Moment(ids, first, last, self.label(ids[0]), beyond=covered.start == len(self))

    def holding(self, facts: Facts, moment: Moment | None) -> Facts:
        """The facts that hold at some time of a moment, which need not be on the axis; all facts without a moment."""
        if moment is None:
            return facts
        begin, end = (np.append(self.positions, 0)[column] for column in (facts.begin, facts.end))  # OPEN = -1
        return facts[((facts.begin < 0) | (begin <= moment.last)) & ((facts.end < 0) | (end >= moment.first))]

    def span(self) -> str:
        """'1945 to 2025 by year', for messages."""
        if not len(self):
            return "no times"
        return f"{self.label(0)} to {self.label(-1)} by {self.granularity}"


def filled(begin: Ints, end: Ints, is_begin_known: Bools, is_end_known: Bools) -> Ints:
    """The positions of facts' begins and ends, and those in between at which some fact holds; (n,) each.

    A time at which no fact holds would have nothing to learn from. Where there would be too many, there are only those
    of begins and ends.
    """
    occurring = np.unique(np.concatenate([begin[is_begin_known], end[is_end_known]]))
    if not len(occurring) or occurring[-1] - occurring[0] >= max(MOST, 2 * len(occurring)):
        return occurring
    low, high = int(occurring[0]), int(occurring[-1])
    dated = is_begin_known | is_end_known
    first, last = np.where(is_begin_known, begin, low)[dated], np.where(is_end_known, end, high)[dated]
    changes = np.bincount(first - low, minlength=high - low + 2) - np.bincount(last - low + 1, minlength=high - low + 2)
    return np.flatnonzero(np.cumsum(changes)[:-1] > 0) + low
