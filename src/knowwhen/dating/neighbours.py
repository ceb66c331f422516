"""The dated facts around a question: those of its subject and of its object, in the order of what they tell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from knowwhen.facts.index.ranges import ranges
from knowwhen.facts.table import Bools, Facts, Ints
from knowwhen.facts.timeline import Timeline

CAP = 24  # facts of the subject, and as many of the object
FAR = 1 << 30  # the position of an end that is not known
ROLES = 4  # of the subject, of the object; twice more where it is about both
SERIES = (0, 1, 3, 7)  # units to the next fact of a series, in classes: up to each of these, more, or none at all
CONTEXTS = len(SERIES) + 2
ROWS = 2000  # questions whose facts are compared with each other at once


@dataclass(frozen=True, eq=False)
class Asked:
    """Facts whose time is asked for; `itself` is the row of each among the facts that are known, or -1."""

    subject: Ints
    predicate: Ints
    object: Ints
    itself: Ints

    @classmethod
    def of(cls, facts: Facts, itself: Ints | None = None) -> Asked:
        none = np.full(len(facts), -1)
        return cls(facts.subject, facts.predicate, facts.object, none if itself is None else itself)

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: slice | Ints | Bools) -> Asked:
        return Asked(self.subject[rows], self.predicate[rows], self.object[rows], self.itself[rows])


@dataclass(frozen=True, eq=False)
class Around:
    """The facts around n questions, (n, 2 CAP) each: first those of the subjects, then those of the objects."""

    kind: Ints  # role · 2P + predicate, inverse where the entity is its object; -1: no fact
    begin: Ints  # positions on the time axis, FAR where unknown
    end: Ints
    before: Ints  # class of the gap between its begin and the end of the one before it in the same series
    after: Ints  # the same from its end to the begin of the next
    row: Ints  # of the known facts


class Neighbourhood:
    """Known facts by entity. A fact that is asked for is never among its own neighbours."""

    def __init__(self, facts: Facts, predicates: int, timeline: Timeline) -> None:
        self.predicates, self.kinds = predicates, ROLES * 2 * predicates
        dated = np.flatnonzero(~facts.is_static)
        sides = Facts.concatenate(facts[dated], facts[dated].reciprocal(predicates))
        # Where an entity has more facts than fit, which of them are taken is left to chance.
        order = np.random.default_rng(0).permutation(len(sides))
        order = order[np.argsort(sides.subject[order], kind="stable")]
        self.entity, self.directed, self.other = (c[order] for c in (sides.subject, sides.predicate, sides.object))
        at = np.append(timeline.positions, FAR)  # OPEN is -1
        self.begin, self.end = at[sides.begin[order]], at[sides.end[order]]
        self.row = np.tile(dated, 2)[order]

    def around(self, asked: Asked) -> Around:
        sides = [self._side(asked, role) for role in (0, 1)]
        return Around(*(np.concatenate(columns, axis=1) for columns in zip(*sides, strict=True)))

    def _side(self, asked: Asked, role: int) -> tuple[Ints, ...]:  # (n, CAP) each
        """Facts of the subjects (role 0) or the objects (1): those about both first, then those of the predicate."""
        entity, partner = (asked.subject, asked.object) if role == 0 else (asked.object, asked.subject)
        first, last = (np.searchsorted(self.entity, entity, side=side) for side in ("left", "right"))
        question, place = ranges(first, last)
        others = self.row[place] != asked.itself[question]
        question, place = question[others], place[others]
        about_both = self.other[place] == partner[question]
        alike = self.directed[place] == (asked.predicate + role * self.predicates)[question]
        order = np.lexsort((~alike, ~about_both, question))
        question, place, about_both = question[order], place[order], about_both[order]
        slot = np.arange(len(question)) - np.searchsorted(question, np.arange(len(asked)))[question]
        fits = slot < CAP
        cells, place = (question[fits], slot[fits]), place[fits]
        kind = self.directed[place] + 2 * self.predicates * (role + 2 * about_both[fits])
        values = ((kind, -1), (self.begin[place], FAR), (self.end[place], FAR), (self.row[place], -1))
        kinds, begins, ends, rows = (_filled(len(asked), cells, *value) for value in values)
        return kinds, begins, ends, *self._series(kinds, begins, ends), rows

    def _series(self, kind: Ints, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Classes of the gaps before and after each fact to those of the same entity and predicate."""
        before, after = np.empty_like(kind), np.empty_like(kind)
        for start in range(0, len(kind), ROWS):
            part = slice(start, start + ROWS)
            k, b, e = np.where(kind[part] < 0, -1, kind[part] % (2 * self.predicates)), begin[part], end[part]
            alike = (k[:, :, None] == k[:, None, :]) & (k[:, :, None] >= 0) & ~np.eye(kind.shape[1], dtype=np.bool_)
            one, other = np.s_[:, :, None], np.s_[:, None, :]
            known = alike & (b[one] < FAR) & (e[one] < FAR)
            follows = known & (b[other] < FAR) & (b[other] >= np.maximum(b[one], e[one] - 1))
            precedes = known & (e[other] < FAR) & (e[other] <= np.minimum(e[one], b[one] + 1))
            after[part] = series_class(np.where(follows, b[other] - e[one], FAR).min(2))
            before[part] = series_class(np.where(precedes, b[one] - e[other], FAR).min(2))
        return before, after


def series_class(gap: Ints) -> Ints:
    """0 where the next one joins on, larger the longer the gap; the last where there is none."""
    return np.where(gap >= FAR, CONTEXTS - 1, np.searchsorted(SERIES, gap))


def _filled(n: int, cells: tuple[Ints, Ints], values: Ints, empty: int) -> Ints:  # (n, CAP)
    found = np.full((n, CAP), empty)
    found[cells] = values
    return found


class Rows:
    """Where facts stand among those that are known; sorted when it is first asked for."""

    def __init__(self, known: Facts) -> None:
        self.known = known

    def of(self, facts: Facts) -> Ints:  # (n,)
        """The row of each fact, -1 where it is not known: of several that are the same, one of them."""
        if not len(self.known):
            return np.full(len(facts), -1)
        order, keys = self._sorted
        asked = _keys(facts)
        place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        return np.where(keys[place] == asked, order[place], -1)

    @cached_property
    def _sorted(self) -> tuple[Ints, np.ndarray]:
        keys = _keys(self.known)
        order = np.argsort(keys)
        return order, keys[order]


def _keys(facts: Facts) -> np.ndarray:
    """Each fact as one sortable value."""
    return np.ascontiguousarray(facts.rows()).view([("", np.int64)] * 5).ravel()
