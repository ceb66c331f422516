"""What the facts say about a subject, or under a predicate, and when: the index behind evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from knowwhen.errors import BadRequest
from knowwhen.facts.index.ranges import ordered, ranges, spread
from knowwhen.facts.index.spans import FAR, SpanIndex
from knowwhen.facts.table import Bools, Facts, Ints


@dataclass(frozen=True)
class Lags:
    """How far a fact lies from the time that is asked about, in a few classes.

    0: it holds at that time · 1 … n: it begins later, by at most edges[0], edges[1], … or more · n+1 … 2n: it ended
    before, in the same steps · then one class for facts without time, and one for questions without.
    """

    edges: tuple[int, ...]  # increasing, from 1; in units of the time axis

    def __post_init__(self) -> None:
        if not self.edges or self.edges[0] < 1 or list(self.edges) != sorted(set(self.edges)):
            raise BadRequest(f"lags is {list(self.edges)}; expected increasing numbers from 1, such as [1, 3, 7, 30]")

    @property
    def steps(self) -> int:
        return len(self.edges) + 1

    @property
    def count(self) -> int:
        return 2 * self.steps + 3

    @property
    def undated_fact(self) -> int:
        return 2 * self.steps + 1

    @property
    def undated_question(self) -> int:
        return 2 * self.steps + 2

    def classes(self, difference: Ints) -> Ints:
        """The class of signed distances: positive where the fact lies after the question."""
        reach = self.edges[-1] + 1  # all beyond are of the last step
        table = np.searchsorted(self.edges, np.abs(np.arange(-reach, reach + 1))).astype(np.int32) + 1
        table[:reach] += self.steps
        table[reach] = 0
        return np.take(table, difference + reach, mode="clip")

    def name(self, lag: int, unit: str) -> str:
        """'same day', '2 to 3 days before': for people."""
        if lag == 0:
            return "at that time"
        if lag >= self.undated_fact:
            return "without a date"
        step, side = (lag - 1) % self.steps, "after" if lag <= self.steps else "before"
        low = 1 if step == 0 else self.edges[step - 1] + 1
        if step == len(self.edges):
            return f"more than {low - 1} {unit}s {side}"
        high = self.edges[step]
        text = str(low) if low == high else f"{low} to {high}"
        return f"{text} {unit}{'' if text == '1' else 's'} {side}"


class History:
    """Every entity's facts from both sides, by time, so that those near a time are found at once; immutable.

    A fact (s, p, o) is in the history of s, and as (o, p + P, s) in that of o; or, by predicate, of p and of p + P,
    where facts without time have no place. The facts of such an owner are in the order of their begins (of their ends
    where the begin is unknown), those without time behind. Only facts that begin within `window` units of a time are
    found for it, and `cap` bounds how many these may be: the window of a busier owner is halved until no stretch of
    its history holds more, and of its facts without time the first are kept.
    """

    def __init__(
        self,
        facts: Facts,
        entities: int,
        predicates: int,
        positions: Ints,  # (T,), where the timestamps lie on the time axis
        *,
        lags: Lags,
        window: int | None = None,
        cap: int | None = None,
        by: Literal["subject", "predicate"] = "subject",
    ) -> None:
        self.lags, self.predicates, self.entities, self.positions, self.by = lags, predicates, entities, positions, by
        both = Facts.concatenate(facts, facts.reciprocal(predicates))
        owners, owner = (entities, both.subject) if by == "subject" else (2 * predicates, both.predicate)
        kept = _kept(owner, both.is_static, 0 if by == "predicate" else cap)
        both, owner = both[kept], owner[kept]
        self._index = SpanIndex((owner,), both.begin, both.end, positions=positions, by="anchor")
        order = self._index.order
        # What is looked at for every fact of every question is kept in 32 bits: half the memory to go through.
        self.subject, self.predicate, self.object = (
            column[order].astype(np.int32) for column in (both.subject, both.predicate, both.object)
        )
        # Positions on the time axis, FAR away where unknown; the anchor of facts without time is FAR itself.
        self.begin, self.end, self.anchor = self._index.begin, self._index.end, self._index.time
        self.owner = owner[order]
        self.fact = kept[order] % max(1, len(facts))  # its row in the facts given
        self.static = self.anchor == FAR
        self._any_static = bool(self.static.any())
        self.are_events = bool((self.begin == self.end).all())  # all of them, so ends need not be looked at
        every = np.arange(owners)
        self._start, self._stop = self._index.places((every,))
        self._dated = self._index.between((every,), every * 0 - FAR, every * 0 + FAR)[1]  # where the undated begin
        self._begin, self._end = (self._short(column) for column in (self.begin, self.end))
        self._count_partners(owners)
        self.reach = self._reach(owners, window, cap)  # by owner
        for array in vars(self).values():
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.owner)

    def _count_partners(self, owners: int) -> None:
        """Numbers each owner's objects from 0, so that what is said of one adds up in a place of its own."""
        never = np.zeros(len(self), np.int64)  # all at one time, so that they stay in order
        self._pairs = SpanIndex((self.owner, self.object.astype(np.int64)), never, never)
        order, starts = self._pairs.order, self._pairs.starts
        number, first = np.repeat(np.arange(len(starts) - 1), np.diff(starts)), order[starts[:-1]]
        self.partner = self.object[first]
        self.partner_stop = np.searchsorted(self.owner[first], np.arange(owners), side="right")
        self.partner_start = np.concatenate([[0], self.partner_stop[:-1]])
        self.partner_number = np.empty(len(self), np.int32)
        self.partner_number[order] = number - self.partner_start[self.owner[order]]

    def _reach(self, owners: int, window: int | None, cap: int | None) -> Ints:
        """How far each owner's facts may lie from a time to be found for it."""
        widest = self._index.width if window is None else window
        reach = np.full(owners, widest)
        busy = np.flatnonzero(self._dated - self._start > (cap or FAR))
        while len(busy):
            rows, places = ranges(self._start[busy], self._dated[busy])
            owner = busy[rows]
            # The fullest stretch of 2w + 1 units is one that begins with a fact.
            begin = self.anchor[places]
            held = self._index.between((owner,), begin, begin + 2 * reach[owner])[1] - places
            fullest = np.zeros(owners, np.int64)
            np.maximum.at(fullest, owner, held)
            busy = busy[(fullest[busy] > (cap or FAR)) & (reach[busy] > 0)]
            reach[busy] //= 2
        return reach

    def around(self, owner: Ints, t: Ints) -> tuple[Ints, Ints]:
        """Pairs (row of the batch, place in the history) of what is found for owners at times; T means undated."""
        rows, places = ranges(*self._stretch(owner, t))
        if not self._any_static:
            return rows, places
        more = ranges(self._dated[owner], self._stop[owner])
        rows, places = (np.concatenate(both) for both in zip((rows, places), more, strict=True))
        order = np.argsort(rows, kind="stable")
        return rows[order], places[order]

    def counts(self, owner: Ints, t: Ints) -> Ints:
        """How many facts are found for owners at times."""
        first, last = self._stretch(owner, t)
        return np.asarray(last - first + self._stop[owner] - self._dated[owner])

    def _stretch(self, owner: Ints, t: Ints) -> tuple[Ints, Ints]:
        """The places of owners' facts with a time that are near a time: from, and up to."""
        where, undated = self.at(t)
        reach = self.reach[owner]
        first, last = self._index.between((owner,), where - reach, where + reach)
        # A question without time sees all of an owner's facts, or none where these would be too many.
        first = np.where(undated, self._start[owner], first)
        return first, np.where(undated, np.where(reach < self._index.width, first, self._dated[owner]), last)

    def between(self, owner: Ints, o: Ints) -> tuple[Ints, Ints]:
        """Pairs (row of the batch, place in the history) of all facts of owners with objects, at any time."""
        rows, places = self._pairs.of((owner, o))
        return rows, self._pairs.order[places]

    def at(self, t: Ints) -> tuple[Ints, Bools]:
        """Where timestamps lie, and which are none: the row of undated facts, T."""
        undated = t >= len(self.positions)
        if not len(self.positions):
            return np.zeros_like(t), undated
        return self.positions[np.where(undated, 0, t)], undated

    def lag(self, rows: Ints, places: Ints, t: Ints) -> Ints:
        """The class of the distance from the times of rows, in order, to facts: 0 inside a span, else to its end."""
        where, undated = self.at(t)
        at = spread(self._short(where), rows)
        found = self._begin[places] - at  # how far the begin lies after the time
        if not self.are_events:
            found = np.maximum(found, 0) + np.minimum(self._end[places] - at, 0)
        found = self.lags.classes(found)
        if undated.any():
            found[spread(undated, rows)] = self.lags.undated_question
        if self._any_static:
            found[self.static[places]] = self.lags.undated_fact
        return found

    def sees(self, places: Ints, t: Ints) -> Bools:
        """Whether facts are within their owner's reach of times."""
        where, undated = self.at(t)
        reach = self.reach[self.owner[places]]
        near = np.where(undated, reach >= self._index.width, np.abs(self.anchor[places] - where) <= reach)
        return np.asarray(near | self.static[places])

    def _short(self, column: Ints) -> Ints:
        """Positions from the first, in 32 bits where the axis is that short; FAR is beyond it on either side."""
        low, width = self._index.low, self._index.width
        wide = np.clip(column - low, -2 * width, 2 * width)
        return wide.astype(np.int32) if width < 1 << 28 else wide

    def is_left_out(  # (n,), or (n, 2P) without p
        self, rows: Ints, places: Ints, s: Ints, p: Ints | None, lag: Ints
    ) -> Bools:
        """Whether facts may be what their row asks for, and so are no evidence; without p, for every predicate.

        Of the subject's own facts it is those of the same predicate that are true at that time. A fact is so left out
        of its own history, also as its own reciprocal where subject and object are the same. By predicate it is all
        facts of the subject: only others are looked at.
        """
        if self.by == "predicate":
            return np.asarray(self.subject[places] == spread(s, rows))
        R = 2 * self.predicates
        some = np.flatnonzero((lag == 0) | (lag == self.lags.undated_fact))  # few: the rest is far from the time
        same, row = self.predicate[places[some]], rows[some]
        mirrored = np.where(self.object[places[some]] == s[row], (same + self.predicates) % R, same)
        if p is None:
            every = np.zeros((len(places), R), np.bool_)
            every[some, same] = every[some, mirrored] = True
            return every
        found = np.zeros(len(places), np.bool_)
        found[some] = (same == p[row]) | (mirrored == p[row])
        return found


def _kept(owner: Ints, static: Bools, cap: int | None) -> Ints:
    """The rows of all but the facts without time that are not among the first `cap` of their owner."""
    if cap is None or not static.any():
        return np.arange(len(owner))
    keep, rows = np.ones(len(owner), np.bool_), np.flatnonzero(static)
    owners, place = ordered(owner[rows])
    keep[rows[place[np.arange(len(rows)) - np.searchsorted(owners, owners) >= cap]]] = False
    return np.flatnonzero(keep)
