"""Who shares neighbours with whom: facts by subject and predicate, in windows of bounded size."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from knowwhen.facts.index.history import Lags
from knowwhen.facts.index.marks import Marks
from knowwhen.facts.index.ranges import numbered, ranges
from knowwhen.facts.index.spans import FAR, SpanIndex
from knowwhen.facts.table import Bools, Facts, Ints

GAPS = (1, 3, 6, 12)  # between two spans, in units of the time axis: up to each
OVERLAPS = len(GAPS) + 3  # classes: they overlap, apart by up to each gap or more, one has no time
COUNTS = 12  # classes of counts: 1, 2 to 3, 4 to 7, …, 2,048 and more
LARGE_TABLE = 1 << 25  # (subject, predicate) pairs of which all have a place in a table; beyond, they are searched for


def count_class(counts: Ints) -> Ints:
    """⌊log₂ n⌋, from 0 up to COUNTS − 1; of nothing, 0."""
    table = np.minimum(np.log2(np.maximum(np.arange(1 << COUNTS), 1)).astype(np.int64), COUNTS - 1)
    return np.take(table, counts, mode="clip")


class Links:
    """All facts from both sides by (subject, predicate), each group in order of time; immutable.

    The facts of a group or a subject are taken from a window of bounded size around a time, so that no question costs
    more than these bounds, however busy an entity is. Facts without time come last in their group; a question without
    time looks at the end of it.
    """

    def __init__(self, facts: Facts, entities: int, predicates: int, positions: Ints, lags: Lags) -> None:
        self.entities, self.predicates, self.positions, self.lags = entities, predicates, positions, lags
        both = Facts.concatenate(facts, facts.reciprocal(predicates))
        self._groups = SpanIndex((both.subject, both.predicate), both.begin, both.end, positions=positions, by="anchor")
        order = self._groups.order
        self.subject, self.predicate, self.object = (
            column[order].astype(np.int32) for column in (both.subject, both.predicate, both.object)
        )
        self.fact = order % max(1, len(facts))  # its row in the facts given
        self.begin, self.end, self.anchor = self._groups.begin, self._groups.end, self._groups.time
        self.static = self.anchor == FAR
        self._any_static = bool(self.static.any())
        own = SpanIndex((both.subject,), both.begin, both.end, positions=positions, by="anchor")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        self._own = place[own.order]  # places by subject, then time
        self._own_time = own.time
        self._own_start, self._own_stop = own.places((np.arange(entities),))
        self._own_dated = own.between((np.arange(entities),), *(np.full(entities, x) for x in (-FAR, FAR)))[1]

    def __len__(self) -> int:
        return len(self.fact)

    def inverse(self, p: Ints) -> Ints:
        return np.asarray((p + self.predicates) % (2 * self.predicates))

    @cached_property
    def siblings(self) -> tuple[Ints, Ints]:  # (n,), (n,)
        """For each place s –r– a, where the facts of a under the inverse of r lie: from, and up to."""
        return self.group(self.object.astype(np.int64), self.inverse(self.predicate.astype(np.int64)))

    @cached_property
    def places_of(self) -> tuple[Ints, Ints]:  # (facts,), (facts,)
        """Where each fact is, from its own side and from the other."""
        order, count = self._groups.order, len(self) // 2
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return place[:count], place[count:]

    def own_range(self, s: Ints) -> tuple[Ints, Ints]:
        """The places of all facts of subjects: from, and up to."""
        return self._own_start[s], self._own_stop[s]  # groups of a subject lie together, in either order

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints]:
        """The different (subject, predicate, object) as numbers in order, and how often each is a fact."""
        columns = (column.astype(np.int64) for column in (self.subject, self.predicate, self.object))
        triples, number = numbered(self._triple(*columns))
        return triples, np.bincount(number, minlength=len(triples))

    def _triple(self, s: Ints, p: Ints, o: Ints) -> Ints:
        return np.asarray((s * (2 * self.predicates) + p) * self.entities + o)

    def between(self, s: Ints, p: Ints, o: Ints) -> Ints:
        """How many facts (s, p, o) there are, at any time."""
        (triples, counts), wanted = self._pairs, self._triple(s, p, o)
        some = self._marks.perhaps(wanted)
        wanted = wanted[some]
        place = np.searchsorted(triples[:-1], wanted)
        found = np.zeros_like(s)
        found[some] = np.where(triples[place] == wanted, counts[place], 0)
        return found

    @cached_property
    def _marks(self) -> Marks:
        return Marks(self._pairs[0])

    @cached_property
    def _table(self) -> tuple[Ints, Ints] | None:
        """Where the group of every subject and predicate lies, if there are not too many."""
        keys = self.entities * 2 * self.predicates
        if keys > LARGE_TABLE:
            return None
        edges = np.searchsorted(self.subject * np.int64(2 * self.predicates) + self.predicate, np.arange(keys + 1))
        return edges[:-1], edges[1:]

    def group(self, s: Ints, p: Ints) -> tuple[Ints, Ints]:
        """The places of all facts of subjects under predicates: from, and up to."""
        if self._table is None:
            return self._groups.places((s, p))
        key = s * (2 * self.predicates) + p
        return self._table[0][key], self._table[1][key]

    def window(self, start: Ints, stop: Ints, where: Ints, undated: Bools, most: int) -> tuple[Ints, Ints]:
        """Of groups with more than `most` facts, those nearest to times: from, and up to."""
        some = np.flatnonzero(stop - start > most)
        if not most or not len(some):
            return start, stop
        first, last = start[some], stop[some]
        place = _search(self.anchor, first, last, np.where(undated[some], FAR, where[some]))
        start, stop = start.copy(), stop.copy()
        start[some] = np.clip(place - most // 2, first, last - most)
        stop[some] = start[some] + most
        return start, stop

    def near(self, s: Ints, where: Ints, undated: Bools, most: int) -> tuple[Ints, Ints]:
        """Pairs (row of the batch, place) of subjects' facts: the nearest `most` with a time, and as many without."""
        start, dated, stop = self._own_start[s], self._own_dated[s], self._own_stop[s]
        many = np.flatnonzero(dated - start > most) if most else np.empty(0, np.int64)
        first, last = start, dated
        if len(many):
            first, last = start.copy(), dated.copy()
            place = _search(self._own_time, start[many], dated[many], np.where(undated[many], FAR, where[many]))
            first[many] = np.clip(place - most // 2, start[many], dated[many] - most)
            last[many] = first[many] + most
        rows, places = ranges(first, last)
        more = ranges(dated, np.minimum(stop, dated + most) if most else stop)
        if len(more[0]):
            rows, places = (np.concatenate(both) for both in zip((rows, places), more, strict=True))
            order = np.argsort(rows, kind="stable")
            rows, places = rows[order], places[order]
        return rows, self._own[places]

    def at(self, t: Ints) -> tuple[Ints, Bools]:
        """Where timestamps lie, and which are none: T."""
        undated = t >= len(self.positions)
        if not len(self.positions):
            return np.zeros_like(t), undated
        return self.positions[np.where(undated, 0, t)], undated

    def lag(self, places: Ints, rows: Ints, where: Ints, undated: Bools) -> Ints:
        """The class of the distance from the times of rows, one for each fact, to facts."""
        at = where[rows]
        found, before = self.begin[places], self.end[places]
        found -= at
        before -= at
        np.maximum(found, 0, out=found)
        found += np.minimum(before, 0, out=before)
        found = self.lags.classes(found)
        if undated.any():
            found[undated[rows]] = self.lags.undated_question
        if self._any_static:
            found[self.static[places]] = self.lags.undated_fact
        return found

    def step(self, one: Ints, other: Ints, rows: Ints | None = None) -> Ints:
        """The class of how much later one fact begins than the other, which ends there where it has no begin.

        `rows` are those of the first for each of the other, where they are not one for each.
        """
        begin, static = self.anchor[one], self.static[one]
        found = self.anchor[other]
        found -= begin if rows is None else begin[rows]
        found = self.lags.classes(found)
        if self._any_static:
            found[(static if rows is None else static[rows]) | self.static[other]] = self.lags.undated_fact
        return found

    def overlap(self, one: Ints, other: Ints) -> Ints:
        """The class of the time between the spans of two facts."""
        gap = np.maximum(self.begin[one], self.begin[other]) - np.minimum(self.end[one], self.end[other])
        found = np.searchsorted(GAPS, gap) + 1
        found[gap <= 0] = 0
        if self._any_static:
            found[self.static[one] | self.static[other]] = OVERLAPS - 1
        return found


def _search(values: Ints, first: Ints, last: Ints, wanted: Ints) -> Ints:
    """np.searchsorted within first … last of each, all at once: halving."""
    first, last = first.copy(), last.copy()
    while (open_ := first < last).any():
        middle = (first + last) // 2
        below = open_ & (values[np.minimum(middle, len(values) - 1)] < wanted)
        first = np.where(below, middle + 1, first)
        last = np.where(open_ & ~below, middle, last)
    return first
