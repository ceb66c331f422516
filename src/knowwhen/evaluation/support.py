"""What training says about the pair of a question: how much of a result a benchmark's redundancy can explain."""

from __future__ import annotations

import numpy as np

from knowwhen.evaluation.queries import Queries
from knowwhen.facts.table import OPEN, Bools, Facts, Ints


def supports(train: Facts, facts: Facts, queries: Queries, entities: int, *, itself: bool = False) -> dict[str, Bools]:
    """Which questions are of which group, by what train has about their pair (s, o), in either direction.

    `same_time`: a fact that holds at the asked time, under any predicate; `other_time`: facts, but none of those;
    `none`: no fact. A fact without time holds at no time, and is asked about as such: only facts without time are at
    its time. `itself` says that the facts are rows of train: then each has one fact fewer for itself, its own row.
    """
    pairs = _TrainPairs(train, entities)
    s, o, static = facts.subject[queries.fact], facts.object[queries.fact], facts.is_static[queries.fact]
    number = pairs.number(s, o)
    held = np.where(static, pairs.static(number), pairs.holding(number, queries.t))
    any_time, same_time = pairs.count(number) > itself, held > itself
    return {"same_time": same_time, "other_time": any_time & ~same_time, "none": ~any_time}


class _TrainPairs:
    """Training facts counted by pair, whichever comes first; immutable."""

    def __init__(self, train: Facts, entities: int) -> None:
        self._entities = entities
        self._pairs, number, self._counts = np.unique(
            self._key(train.subject, train.object), return_inverse=True, return_counts=True
        )
        static = train.is_static
        self._static = np.bincount(number[static], minlength=len(self._pairs))
        begin, end = train.begin[~static], train.end[~static]
        self._after = int(max(begin.max(initial=0), end.max(initial=0))) + 1  # a timestamp behind all that occur
        self._begins = np.sort(self._at(number[~static], begin))  # OPEN = -1 already lies before every timestamp
        self._ends = np.sort(self._at(number[~static], np.where(end == OPEN, self._after, end)))

    def number(self, s: Ints, o: Ints) -> Ints:
        """The pair's number, that of no pair where train has none."""
        key = self._key(s, o)
        found = np.searchsorted(self._pairs, key)
        known = found < len(self._pairs)
        known[known] = self._pairs[found[known]] == key[known]
        return np.where(known, found, len(self._pairs))

    def count(self, number: Ints) -> Ints:
        return np.append(self._counts, 0)[number]

    def static(self, number: Ints) -> Ints:
        return np.append(self._static, 0)[number]

    def holding(self, number: Ints, t: Ints) -> Ints:
        """How many dated facts hold at times: those that have begun, less those that are over."""
        at = self._at(number, np.minimum(t, self._after))  # no time is after an open end
        begun, over = np.searchsorted(self._begins, at, side="right"), np.searchsorted(self._ends, at, side="left")
        return begun - over  # those of the pairs before are in both

    def _key(self, s: Ints, o: Ints) -> Ints:
        return np.minimum(s, o) * self._entities + np.maximum(s, o)

    def _at(self, number: Ints, t: Ints) -> Ints:
        return number * (self._after + 2) + t + 1
