"""The time axis: which timestamps a dataset has, in order, and what a date text means on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from knowwhen.errors import TimeOutside
from knowwhen.facts.dates import Granularity, Period, civil, parse_period

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Timeline:
    """Timestamps 0 … T-1 at increasing positions, counted in days, months or years.

    Only timestamps that occur in the facts are on it (as in the paper), so neighbours may lie further apart than
    one unit: `gaps` says how far.
    """

    granularity: Granularity
    positions: Ints  # (T,), increasing

    def __post_init__(self) -> None:
        assert (np.diff(self.positions) > 0).all(), "positions increase"
        self.positions.setflags(write=False)

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
        """The ids of the timestamps inside a period; empty between two timestamps and off the axis."""
        first, last = (self.granularity.position(day) for day in (period.first, period.last))
        return range(
            int(np.searchsorted(self.positions, first, side="left")),
            int(np.searchsorted(self.positions, last, side="right")),
        )

    def ids(self, text: str) -> range:
        """The ids a date text covers: `2014-03` has up to 31 on a daily axis, `2009..2012` four on a yearly one.

        A time between two timestamps, where no fact begins or ends, stands for the last timestamp before it.
        """
        period = parse_period(text)
        if period is None:
            return range(len(self))
        covered = self.covered(period)
        if covered:
            return covered
        if not 0 < covered.start < len(self):
            raise TimeOutside(f"{text!r} is outside the timeline, which covers {self.span()}")
        return range(covered.start - 1, covered.start)

    def span(self) -> str:
        """'1945 to 2025 by year', for messages."""
        if not len(self):
            return "no time"
        return f"{self.label(0)} to {self.label(-1)} by {self.granularity}"
