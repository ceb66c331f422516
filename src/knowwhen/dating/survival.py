"""How long facts last: the share of those under a predicate that still hold some time after they began."""

from __future__ import annotations

import numpy as np

from knowwhen.evaluation.questions import Floats
from knowwhen.facts.table import OPEN, Facts, Ints
from knowwhen.facts.timeline import Timeline

PRIOR = 10.0  # facts of all predicates that stand beside those of one
HIGHEST = 0.999  # hazard: no age is certain death


class Survival:
    """S_p(a), the probability that a fact of predicate p still holds a units after its begin (Kaplan and Meier 1958).

        S_p(a) = Π_{d < a} (1 − h_p(d))    h_p(d) = (ended_p(d) + PRIOR h(d)) / (lasted_p(d) + PRIOR)

    ended(d) facts lasted d units exactly, lasted(d) at least d; a fact without an end is taken to hold at the last
    timestamp, and says nothing of later. h is the hazard of all predicates together, and beyond the longest duration
    seen the mean of it.
    """

    def __init__(self, facts: Facts, timeline: Timeline) -> None:
        begun = facts[facts.begin != OPEN]
        at, last = timeline.positions, int(timeline.positions[-1]) if len(timeline) else 0
        ends = np.append(at, last)[begun.end]  # OPEN is -1
        self._predicate, self._duration = begun.predicate, np.maximum(ends - at[begun.begin], 0)
        self._ended = begun.end != OPEN
        self.durations = np.unique(self._duration[self._ended])
        ended, lasted = self._counts(np.ones(len(begun), np.bool_))
        self._hazard = ended / np.maximum(lasted, 1)
        self._tail = float(np.log1p(-min(HIGHEST, ended.sum() / max(1, int(self._duration.sum()) + len(begun)))))
        self._curves: dict[int, Floats] = {}

    def lasting(self, predicate: int, age: int, more: int) -> float:
        """The probability that a fact which holds at an age still holds `more` units later."""
        curve = self._curves.setdefault(predicate, self._curve(predicate))
        start, stop = np.searchsorted(self.durations, [age, age + more])
        unseen = max(0, age + more - max(age, int(self.durations.max(initial=-1)) + 1))
        return float(np.exp(curve[stop] - curve[start] + unseen * self._tail))

    def _curve(self, predicate: int) -> Floats:  # (different durations + 1,), the logarithm of S at each
        ended, lasted = self._counts(self._predicate == predicate)
        hazard = (ended + PRIOR * self._hazard) / (lasted + PRIOR)
        return np.concatenate([[0.0], np.cumsum(np.log1p(-np.minimum(hazard, HIGHEST)))])

    def _counts(self, rows: np.ndarray) -> tuple[Ints, Ints]:
        """How many facts ended after each duration, and how many lasted at least as long."""
        duration, ended = self._duration[rows], self._ended[rows]
        ends = np.bincount(np.searchsorted(self.durations, duration[ended]), minlength=len(self.durations))
        return ends, len(duration) - np.searchsorted(np.sort(duration), self.durations)
