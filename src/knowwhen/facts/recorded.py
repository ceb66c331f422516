"""When facts were written down, beside when they hold: what was known at a date."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knowwhen.facts.table import Bools, Facts, Ints
from knowwhen.facts.timeline import Timeline

LONG_AGO = -(1 << 62)  # the day of facts of which nobody says when they were recorded
OPEN_POSITION = 1 << 62


class Recorded:
    """The first day on which each fact was recorded.

    Facts are kept by ids of their names and positions of their ends, so that a longer time axis changes nothing.
    """

    def __init__(self, keys: NDArray[np.void], days: Ints) -> None:
        order = np.argsort(days, kind="stable")
        order = order[np.argsort(keys[order], kind="stable")]
        keys, days = keys[order], days[order]
        first = np.ones(len(keys), np.bool_)
        first[1:] = keys[1:] != keys[:-1]
        self.keys, self.days = keys[first], days[first]

    @classmethod
    def of(cls, facts: Facts, timeline: Timeline, days: Ints) -> Recorded:
        """`days` (n,) are LONG_AGO where it is not said."""
        said = days > LONG_AGO
        return cls(_keys(facts[said], timeline), days[said])

    def __len__(self) -> int:
        return len(self.keys)

    def days_of(self, facts: Facts, timeline: Timeline) -> Ints:  # (n,)
        """The first day on which each fact was recorded; LONG_AGO where that is not said."""
        if not len(self):
            return np.full(len(facts), LONG_AGO)
        asked = _keys(facts, timeline)
        place = np.minimum(np.searchsorted(self.keys, asked), len(self) - 1)
        return np.where(self.keys[place] == asked, self.days[place], LONG_AGO)

    def by(self, facts: Facts, timeline: Timeline, day: int) -> Bools:  # (n,)
        """Which facts were recorded on a day or before."""
        return np.asarray(self.days_of(facts, timeline) <= day)

    def joined(self, other: Recorded) -> Recorded:
        """Both; of a fact that both have, the earlier day."""
        return Recorded(np.concatenate([self.keys, other.keys]), np.concatenate([self.days, other.days]))


def _keys(facts: Facts, timeline: Timeline) -> NDArray[np.void]:
    at = np.append(timeline.positions, OPEN_POSITION)  # OPEN is -1
    rows = np.stack([facts.subject, facts.predicate, facts.object, at[facts.begin], at[facts.end]], axis=-1)
    return np.ascontiguousarray(rows).view([("", np.int64)] * 5).ravel()
