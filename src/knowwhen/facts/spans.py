"""When facts are known to hold: the spans of all facts about an entity, from either side."""

from __future__ import annotations

import numpy as np

from knowwhen.facts.table import Facts, Ints


class KnownSpans:
    """Facts found by subject and predicate, by object and predicate, or by subject and object; immutable.

    Facts are sorted by (subject, predicate) and numbered so; a second order has them by (object, predicate).
    """

    def __init__(self, facts: Facts, predicates: int) -> None:
        self._predicates = predicates
        key = facts.subject * predicates + facts.predicate
        self.facts = facts[np.argsort(key, kind="stable")]
        self._by_subject = np.sort(key)
        key = self.facts.object * predicates + self.facts.predicate
        self._object_order = np.argsort(key, kind="stable")
        self._by_object = key[self._object_order]

    def with_subject(self, s: int, p: int) -> Facts:
        """The facts (s, p, ?)."""
        key = s * self._predicates + p
        start, stop = np.searchsorted(self._by_subject, [key, key + 1])
        return self.facts[start:stop]

    def with_object(self, p: int, o: int) -> Facts:
        """The facts (?, p, o)."""
        key = o * self._predicates + p
        start, stop = np.searchsorted(self._by_object, [key, key + 1])
        return self.facts[self._object_order[start:stop]]

    def between(self, s: int, o: int) -> Facts:
        """The facts (s, ?, o)."""
        start, stop = np.searchsorted(self._by_subject, [s * self._predicates, (s + 1) * self._predicates])
        about = self.facts[start:stop]
        return about[about.object == o]

    def of(self, s: int, p: int, o: int) -> Facts:
        """The facts (s, p, o), one for each of their spans."""
        about: Facts = self.with_subject(s, p)
        return about[about.object == o]


def holding(facts: Facts, ids: Ints | range | None) -> Facts:
    """Those facts that hold at one of the timestamps at least, which are neighbours; all where ids is None."""
    if ids is None:
        return facts
    first, last = ids[0], ids[-1]
    # OPEN is -1: an open begin lies before every timestamp by itself, an open end has to be asked for.
    return facts[(facts.begin <= last) & ((facts.end >= first) | (facts.end < 0))]


def span_labels(facts: Facts, labels: list[str]) -> list[tuple[str | None, str | None]]:
    """Begin and end of each fact as dates, None where they are open, in order of time."""
    dates = [*labels, None]  # OPEN = -1 takes the last
    order = np.lexsort((facts.end, facts.begin))
    return [(dates[b], dates[e]) for b, e in zip(facts.begin[order], facts.end[order], strict=True)]
