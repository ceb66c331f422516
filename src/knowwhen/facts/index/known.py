"""What is known to be true: the answers of questions at a time, and the spans of facts."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from knowwhen.facts.index.spans import SpanIndex
from knowwhen.facts.table import Facts, Ints
from knowwhen.text import brief, plural


class KnownFacts:
    """An index of facts by any two or three of subject, predicate and object; immutable.

    Each index is built when it is first used.
    """

    def __init__(self, facts: Facts, predicates: int, timestamps: int | None = None) -> None:
        """`timestamps` is the length T of the time axis; by default it ends at the last begin or end."""
        self.facts, self._predicates = facts, predicates
        occurring = int(max(facts.begin.max(initial=-1), facts.end.max(initial=-1))) + 1
        self._timestamps = occurring if timestamps is None else timestamps

    def __repr__(self) -> str:
        return brief(self, f"of {plural(len(self.facts), 'fact')}")

    def objects(self, s: Ints, p: Ints, t: Ints | None = None) -> tuple[Ints, Ints]:
        """Pairs (row of the batch, true object) at times t, or at any time if t is None; p + P asks for subjects.

        Pairs may repeat if spans overlap, which does not matter for `scores[rows, objects] = -inf`.
        """
        rows, places = _found(self._by_side, (s, p), t)
        return rows, self._objects[places]

    def predicates(self, s: Ints, o: Ints, t: Ints | None = None) -> tuple[Ints, Ints]:
        """Pairs (row of the batch, true predicate) at times t, or at any time if t is None; pairs may repeat."""
        rows, places = _found(self._by_pair, (s, o), t)
        return rows, self.facts.predicate[self._by_pair.order[places]]

    def times(self, s: Ints, p: Ints, o: Ints) -> tuple[Ints, Ints, Ints]:
        """Row of the batch, first and last timestamp of each span of (s, p, o).

        An open end extends to the end of the axis. Static facts are left out, because they have no time.
        """
        index = self._by_fact
        rows, places = index.of((s, p, o))
        return rows, np.maximum(index.begin[places], 0), np.minimum(index.end[places], self._timestamps - 1)

    def with_subject(self, s: int, p: int) -> Facts:
        """The facts (s, p, ?)."""
        return self.facts[self._by_side.rows_of(s, p)]

    def with_object(self, p: int, o: int) -> Facts:
        """The facts (?, p, o)."""
        return self.facts[self._by_side.rows_of(o, p + self._predicates) - len(self.facts)]

    def between(self, s: int, o: int) -> Facts:
        """The facts (s, ?, o)."""
        return self.facts[self._by_pair.rows_of(s, o)]

    def of(self, s: int, p: int, o: int) -> Facts:
        """The facts (s, p, o), one for each of their spans."""
        about = self.with_subject(s, p)
        return about[about.object == o]

    def about(self, e: int) -> tuple[Facts, Facts]:
        """The facts (e, ?, ?), and the facts (?, ?, e)."""
        rows, n = self._by_entity.rows_of(e), len(self.facts)
        return self.facts[rows[rows < n]], self.facts[rows[rows >= n] - n]

    @cached_property
    def _by_entity(self) -> SpanIndex:
        """Every fact twice: by subject, and behind all of these, by object."""
        facts = self.facts
        begin, end = (np.concatenate([column, column]) for column in (facts.begin, facts.end))
        return SpanIndex((np.concatenate([facts.subject, facts.object]),), begin, end)

    @cached_property
    def _by_side(self) -> SpanIndex:
        """Every fact twice: by (s, p), and behind all of these, by (o, p + P)."""
        facts = self.facts  # Facts.concatenate(facts, facts.reciprocal(P)) without the objects
        subject = np.concatenate([facts.subject, facts.object])
        predicate = np.concatenate([facts.predicate, facts.predicate + self._predicates])
        begin, end = (np.concatenate([column, column]) for column in (facts.begin, facts.end))
        return SpanIndex((subject, predicate), begin, end)

    @cached_property
    def _objects(self) -> Ints:
        """The answers at the places of `_by_side`."""
        objects = np.concatenate([self.facts.object, self.facts.subject])[self._by_side.order]
        objects.setflags(write=False)
        return objects

    @cached_property
    def _by_pair(self) -> SpanIndex:
        return SpanIndex((self.facts.subject, self.facts.object), self.facts.begin, self.facts.end)

    @cached_property
    def _by_fact(self) -> SpanIndex:
        dated = self.facts[~self.facts.is_static]
        return SpanIndex((dated.subject, dated.predicate, dated.object), dated.begin, dated.end)


def _found(index: SpanIndex, key: tuple[Ints, Ints], t: Ints | None) -> tuple[Ints, Ints]:
    return index.of(key) if t is None else index.holding(key, t)
