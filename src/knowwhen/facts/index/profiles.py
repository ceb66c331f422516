"""How the facts of each object under each predicate lie in time: since the last, until the next, how many hold."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from knowwhen.facts.index.history import Lags
from knowwhen.facts.index.ranges import numbered, ranges
from knowwhen.facts.index.spans import FAR, LARGE_TABLE, SpanIndex
from knowwhen.facts.table import OPEN, Bools, Facts, Ints

HOLDING = 4  # classes of how many hold: 0, 1, 2, 3 and more
TABLE = 1 << 26  # classes (time, pair) that are kept, two bytes each; beyond, they are found when asked for
NEAREST = 8  # facts on either side of a time that are looked through for one that is not of the subject


class Profile(NamedTuple):
    """A few numbers about facts around times; distances are FAR where there is no such fact."""

    since: Ints  # the last end before
    until: Ints  # the next begin after
    holding: Ints
    static: Ints  # how many have no time


class Profiles:
    """The facts (x, p, o) by pair (p, o), for p and its inverse, where the pair occurs; immutable.

    `classes` puts a profile into one of `count` classes: by the steps of `lags` since the last end and until the next
    begin (0: none), how many hold, and whether there are facts without time. For a question without time, distances are
    none, and what has no time holds.
    """

    def __init__(self, facts: Facts, entities: int, predicates: int, positions: Ints, lags: Lags) -> None:
        self.entities, self.predicates, self.positions, self.lags = entities, predicates, positions, lags
        self.steps = lags.steps + 1  # none, then the steps
        both = Facts.concatenate(facts, facts.reciprocal(predicates))
        self.pairs, pair = numbered(both.predicate * entities + both.object)
        self.object = np.asarray(self.pairs % entities)
        self.first = np.searchsorted(self.pairs, np.arange(2 * predicates + 1) * entities)  # the pairs of a predicate
        self.fact = np.arange(len(both)) % max(1, len(facts))  # the row in the facts given
        self._subject, self._static = both.subject, both.is_static
        self.total, self.static = (np.bincount(pair[w], minlength=len(self.pairs)) for w in (slice(None), self._static))
        self._begun, self._over, self._dated = (
            np.flatnonzero(w) for w in (both.begin != OPEN, both.end != OPEN, ~self._static)
        )
        self._begins = SpanIndex((pair[self._begun],), *[both.begin[self._begun]] * 2, positions=positions)
        self._ends = SpanIndex((pair[self._over],), *[both.end[self._over]] * 2, positions=positions)
        spans = both.begin[self._dated], both.end[self._dated]
        self._spans = SpanIndex((pair[self._dated],), *spans, positions=positions)
        self._pair, self._by_role = pair, SpanIndex((both.subject, both.predicate), both.begin, both.end)
        self._times = np.append(positions, -FAR)[facts.begin], np.append(positions, FAR)[facts.end]
        self._own = SpanIndex((pair, both.subject), both.begin, both.end, positions=positions)
        self._table: Ints | None = None

    @property
    def count(self) -> int:
        return self.steps * self.steps * HOLDING * 2

    def __len__(self) -> int:
        return len(self.pairs)

    def find(self, p: Ints, o: Ints) -> tuple[Ints, Bools]:
        """The pair of each predicate and object, and whether there is one."""
        if not len(self.pairs):
            return np.zeros_like(p), np.zeros(len(p), np.bool_)
        wanted = p * self.entities + o
        if self._numbers is not None:
            found = self._numbers[wanted]
            return found, found < len(self.pairs)
        place = np.minimum(np.searchsorted(self.pairs, wanted), len(self.pairs) - 1)
        return place, self.pairs[place] == wanted

    @cached_property
    def _numbers(self) -> Ints | None:  # (2P * E,)
        """The place of every possible pair, if there are not too many; their number where it does not occur."""
        possible = 2 * self.predicates * self.entities
        if possible > LARGE_TABLE:
            return None
        found = np.full(possible, len(self.pairs))
        found[self.pairs] = np.arange(len(self.pairs))
        return found

    def at(self, t: Ints) -> tuple[Ints, Bools]:
        """Where timestamps lie, and which are none: T."""
        undated = t >= len(self.positions)
        if not len(self.positions):
            return np.zeros_like(t), undated
        return self.positions[np.where(undated, 0, t)], undated

    def classes_at(self, pair: Ints, t: Ints) -> Ints:
        """The class of all facts of pairs at times."""
        T = len(self.positions)
        if len(self) * (T + 1) > TABLE:
            return self.classes(self.around(pair, t))
        if self._table is None:
            every = np.arange(len(self))
            rows = [self.classes(self.around(every, np.full_like(every, t))).astype(np.int16) for t in range(T + 1)]
            self._table = np.stack(rows)  # (T + 1, pairs)
        return self._table.reshape(-1)[np.minimum(t, T) * len(self) + pair]

    def classes(self, profile: Profile) -> Ints:
        since, until = (np.where(far >= FAR // 2, 0, np.searchsorted(self.lags.edges, far) + 1) for far in profile[:2])
        holding = np.minimum(profile.holding, HOLDING - 1)
        return np.asarray(((since * self.steps + until) * HOLDING + holding) * 2 + (profile.static > 0))

    def around(self, pair: Ints, t: Ints) -> Profile:
        """All facts of pairs around times."""
        where, undated = self.at(t)
        (start, stop), (first, last) = self._sides(pair, where)
        since, until = np.full(len(pair), FAR), np.full(len(pair), FAR)
        some = np.flatnonzero(stop > start)
        since[some] = where[some] - self._ends.time[stop[some] - 1]
        some = np.flatnonzero(last > first)
        until[some] = self._begins.time[first[some]] - where[some]
        holding = self._spans.count_holding((pair,), where, where)
        return _asked(Profile(since, until, holding, self.static[pair]), undated)

    def around_but(self, pair: Ints, s: Ints, t: Ints) -> tuple[Profile, Ints]:
        """The facts of pairs around times but those of subjects, and how many there are at any time.

        On each side of a time the nearest NEAREST facts are looked at.
        """
        where, undated = self.at(t)
        (start, stop), (first, last) = self._sides(pair, where)
        since, until = np.full(len(pair), FAR), np.full(len(pair), FAR)
        row, place = ranges(np.maximum(start, stop - NEAREST), np.maximum(start, stop))
        other = self._subject[self._over[self._ends.order[place]]] != s[row]
        row, place = row[other], place[other]
        np.minimum.at(since, row, where[row] - self._ends.time[place])
        row, place = ranges(first, np.maximum(first, np.minimum(last, first + NEAREST)))
        other = self._subject[self._begun[self._begins.order[place]]] != s[row]
        row, place = row[other], place[other]
        np.minimum.at(until, row, self._begins.time[place] - where[row])
        row, place = self._own.of((pair, s))
        begin, end = self._own.begin[place], self._own.end[place]
        static = (begin == -FAR) & (end == FAR)
        holds = (begin <= where[row]) & (where[row] <= end) & ~static
        own, holding, undated_own = (
            np.bincount(row[which], minlength=len(pair)) for which in (slice(None), holds, static)
        )
        holding = self._spans.count_holding((pair,), where, where) - holding
        return _asked(Profile(since, until, holding, self.static[pair] - undated_own), undated), self.total[pair] - own

    def of_subjects(self, s: Ints, p: Ints) -> tuple[Ints, Ints]:
        """Row of the batch and pair for each fact of subjects under predicates."""
        rows, places = self._by_role.of((s, p))
        return rows, self._pair[self._by_role.order[places]]

    def lag(self, facts: Ints, t: int) -> list[int]:
        """The class of the distance from a time to facts, by row."""
        (where,), (undated,) = self.at(np.array([t]))
        begin, end = (column[facts] for column in self._times)
        found = self.lags.classes(np.maximum(begin - where, 0) + np.minimum(end - where, 0))
        found = np.where(undated, self.lags.undated_question, found)
        return [int(lag) for lag in np.where((begin == -FAR) & (end == FAR), self.lags.undated_fact, found)]

    def behind(self, pair: int, s: int, t: int) -> Ints:
        """The rows of the facts behind a profile without s: the last before, the next after, and what holds."""
        found, _ = self.around_but(*(np.array([i]) for i in (pair, s, t)))
        (where,), (undated,) = self.at(np.array([t]))
        place = np.flatnonzero(self._pair[self._own.order] == pair)
        place = place[self._subject[self._own.order[place]] != s]
        begin, end = self._own.begin[place], self._own.end[place]
        static = (begin == -FAR) & (end == FAR)
        told = (end == where - found.since[0]) | (begin == where + found.until[0]) | ((begin <= where) & (where <= end))
        told = static if undated else told & ~static
        return np.asarray(self.fact[self._own.order[place[told if told.any() else slice(None)]]])

    def _sides(self, pair: Ints, where: Ints) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """The places of what ended before times, and of what begins after: from, and up to."""
        far = np.full(len(pair), FAR)
        return self._ends.between((pair,), -far, where - 1), self._begins.between((pair,), where + 1, far)


def _asked(found: Profile, undated: Bools) -> Profile:
    """The same, but for questions without time what has no time holds, and nothing lies before or after."""
    if not undated.any():
        return found
    since, until = (np.where(undated, FAR, far) for far in found[:2])
    return Profile(since, until, np.where(undated, found.static, found.holding), found.static)
