"""Spans of time by key: the one index that everything which finds facts by key and time is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from knowwhen.facts.index.marks import Marks
from knowwhen.facts.index.ranges import numbered, ordered, ranges
from knowwhen.facts.table import OPEN, Ints

FAR = 1 << 40  # beyond every time: an open begin lies at -FAR, an open end at FAR
LARGE_TABLE = 1 << 24  # numbers in a table of all keys; where there would be more, keys are searched for
Key = Sequence[Ints]  # columns of ids from 0, all of one length: (s, p)


class SpanIndex:
    """Spans sorted by key, then by begin; their place in that order is what questions are answered with. Immutable.

    By `anchor` the spans of a key are in the order of their begins, or ends where the begin is unknown, and those
    without time come last. Begins and ends are ids of timestamps; with `positions` (T,), where these lie on the time
    axis, questions are asked in its units.
    """

    order: Ints  # (n,) the row given, by place
    begin: Ints  # (n,) by place, -FAR where open
    end: Ints  # (n,) FAR where open
    time: Ints  # (n,) what the spans of a key are sorted by

    def __init__(
        self,
        key: Key,
        begin: Ints,
        end: Ints,
        *,
        positions: Ints | None = None,
        by: Literal["begin", "anchor"] = "begin",
    ) -> None:
        if positions is None:
            positions = np.arange(int(max(begin.max(initial=OPEN), end.max(initial=OPEN))) + 1)
        self.positions = _frozen(positions.copy())
        # A key and a time are one number, key * width + slot: 0 before all times, 1 … width - 2 in them, then behind.
        self.low = int(positions[0]) if len(positions) else 0
        self.width = int(positions[-1]) - self.low + 3 if len(positions) else 2
        self._sizes = [int(column.max(initial=0)) + 1 for column in key]
        keys = math.prod(self._sizes)
        assert keys < 1 << 63, "a key fits one number"
        packed, self._keys = self._packed(key), None
        if keys * self.width >= 1 << 62:  # then the different keys are numbered
            self._keys, packed = numbered(packed)
        begin = np.append(positions, -FAR)[begin]  # OPEN = -1 takes the last
        end = np.append(positions, FAR)[end]
        time = begin if by == "begin" else np.where(begin > -FAR, begin, end)
        self._at, self.order = ordered(packed * self.width + self._slot(time))
        self.begin, self.end = begin[self.order], end[self.order]
        self.time = self.begin if by == "begin" else time[self.order]
        for array in (self._at, self.order, self.begin, self.end, self.time):
            _frozen(array)

    def __len__(self) -> int:
        return len(self.order)

    def places(self, key: Key) -> tuple[Ints, Ints]:  # (b,), (b,)
        """The places of all spans of keys: from, and up to."""
        code = self._code(key)
        number = np.searchsorted(self._codes[:-1], code)
        known = self._codes[number] == code
        return self.starts[number], self.starts[number + known]

    def rows_of(self, *key: int) -> Ints:
        """The rows of one key, in the order they were given: `places` without its arrays, for single questions."""
        packed = 0
        for column, size in zip(key, self._sizes, strict=True):
            if column >= size:
                return self.order[:0]
            packed = packed * size + column
        if self._keys is not None:
            place = int(np.searchsorted(self._keys, packed))
            packed = place if place < len(self._keys) and self._keys[place] == packed else -1
        number = int(np.searchsorted(self._codes[:-1], packed * self.width))
        if self._codes[number] != packed * self.width:
            return self.order[:0]
        return np.sort(self.order[self.starts[number] : self.starts[number + 1]])

    def between(self, key: Key, first: Ints, last: Ints) -> tuple[Ints, Ints]:  # (b,), (b,)
        """The places of those spans whose `time` is in [first, last]: from, and up to."""
        code = self._code(key)
        start = np.searchsorted(self._at, code + np.maximum(self._slot(first), 1))
        stop = np.searchsorted(self._at, code + np.minimum(self._slot(last), self.width - 2), side="right")
        return start, stop

    def of(self, key: Key) -> tuple[Ints, Ints]:
        """Pairs (row of the batch, place) of all spans of keys."""
        return ranges(*self.places(key))

    def holding(self, key: Key, t: Ints) -> tuple[Ints, Ints]:
        """Pairs (row of the batch, place) of the spans of keys that hold at times."""
        asked = self._code(key) + self._slot(t)
        start = np.searchsorted(self._latest_end, asked)
        stop = np.searchsorted(self._earliest_begin, asked, side="right")
        rows, places = ranges(start, np.maximum(start, stop))
        if self._latest_end is self._earliest_begin:  # events in order: what lies in between begins and ends at t
            return rows, places
        at = t[rows]
        holds = (self.begin[places] <= at) & (at <= self.end[places])
        return rows[holds], places[holds]

    def count(self, key: Key) -> Ints:  # (b,)
        """How many spans keys have."""
        return self.counts[self.number(key)]

    @cached_property
    def counts(self) -> Ints:  # (different keys + 1,)
        """How many spans each different key has, and 0 for no key."""
        return _frozen(np.append(np.diff(self.starts), 0))

    def count_holding(self, key: Key, first: Ints, last: Ints) -> Ints:  # (b,)
        """How many spans of keys hold at some time from first to last: those begun by then, less those over before."""
        code = self._code(key)
        begun = np.searchsorted(self._begins, code + self._slot(last), side="right")
        over = np.searchsorted(self._ends, code + self._slot(first))
        return np.asarray(begun - over)  # those of the keys before are in both

    def near(self, key: Key, t: Ints, reach: int, number: Ints | None = None) -> Ints:  # (b,)
        """How many spans of keys hold within a reach of timestamps; T asks without time, when what has no begin holds.

        Where it is not too large, a table of all keys and timestamps answers, several times as fast; `number` are those
        of the keys, where they are known.
        """
        keys = len(self.starts)
        if keys * (len(self.positions) + 1) <= LARGE_TABLE:
            if reach not in self._near:
                self._near[reach] = self._near_table(reach)
            return np.asarray(self._near[reach][t * keys + (self.number(key) if number is None else number)])
        at = np.append(self.positions, -FAR)[t]
        return self.count_holding(key, at - reach, at + reach)

    @cached_property
    def _near(self) -> dict[int, Ints]:
        return {}

    def _near_table(self, reach: int) -> Ints:  # ((T + 1) * (different keys + 1),)
        """`near` at all timestamps of all keys, the last of which is none: those of one time lie side by side."""
        T, keys = len(self.positions), len(self.starts)
        first = np.searchsorted(self.positions, self.begin - reach)
        behind = np.searchsorted(self.positions, self.end + reach, side="right")
        key = np.repeat(np.arange(keys - 1), np.diff(self.starts))
        changes = np.bincount(first * keys + key, minlength=(T + 1) * keys)
        changes -= np.bincount(behind * keys + key, minlength=(T + 1) * keys)
        found = changes.reshape(T + 1, keys).cumsum(axis=0, out=changes.reshape(T + 1, keys))
        found[T] = np.bincount(key[self.begin == -FAR], minlength=keys)
        found = found.reshape(-1).astype(np.int32)  # type: ignore[assignment]  # half of the memory
        return _frozen(found)

    def number(self, key: Key) -> Ints:  # (b,)
        """Which of the different keys each is; their number where it is none."""
        none = len(self.starts) - 1
        if self._numbers is not None:
            return self._numbers[self._packed(key)]
        packed = self._packed(key)
        found = np.full(len(packed), none)
        some = self._marks.perhaps(packed)
        packed = packed[some]
        number = np.searchsorted(self._different, packed)
        known = np.append(self._different, -2)[number] == packed
        found[some[known]] = number[known]
        return found

    @cached_property
    def _numbers(self) -> Ints | None:
        """The number of every possible key, if there are not too many; the last is that of no key."""
        possible = math.prod(self._sizes)
        if possible > LARGE_TABLE:
            return None
        found = np.full(possible + 1, len(self._different), np.int32)
        found[self._different] = np.arange(len(self._different))
        return _frozen(found)  # type: ignore[arg-type]

    @cached_property
    def _different(self) -> Ints:  # (different keys,)
        """The different keys, packed, in order."""
        different = self._at[self.starts[:-1]] // self.width
        return _frozen(different if self._keys is None else self._keys[different])

    @cached_property
    def _marks(self) -> Marks:
        return Marks(self._different)

    @cached_property
    def starts(self) -> Ints:  # (different keys + 1,)
        """Where the spans of each different key start, and where all end."""
        return _frozen(np.append(np.flatnonzero(np.diff(self._at // self.width, prepend=-1)), len(self)))

    @cached_property
    def _codes(self) -> Ints:  # (different keys + 1,)
        """The codes of the different keys, and one that no key has."""
        return _frozen(np.append(self._at[self.starts[:-1]] // self.width * self.width, -1))

    def _packed(self, key: Key) -> Ints:  # (b,)
        """The columns of keys as one number, -1 where it is none of a span."""
        packed = key[0]
        for column, size in zip(key[1:], self._sizes[1:], strict=True):
            packed = packed * size + column
        for column, size in zip(key, self._sizes, strict=True):
            if column.max(initial=0) >= size:
                packed = np.where(column < size, packed, -1)
        return packed

    def _code(self, key: Key) -> Ints:  # (b,)
        """Where the slots of keys begin; before all for a key that is unknown."""
        packed = self._packed(key)
        if self._keys is not None:
            place = np.searchsorted(self._keys, packed)
            found = np.append(self._keys, -2)[place] == packed
            packed = np.where(found, place, -1)
        return packed * self.width

    def _slot(self, time: Ints) -> Ints:
        slot = np.asarray(time - (self.low - 1))
        return np.clip(slot, 0, self.width - 1, out=slot)

    def _codes_with(self, time: Ints) -> Ints:  # (n,)
        """Key and another time of each place as one number."""
        return self._at - self._slot(self.time) + self._slot(time)

    # By place the latest end so far and the earliest begin from there on: what holds at a time lies from where the
    # one has reached it up to where the other has passed it. As codes they only grow from key to key.
    @cached_property
    def _latest_end(self) -> Ints:  # (n,)
        return self._or_at(np.maximum.accumulate(self._codes_with(self.end)))

    @cached_property
    def _earliest_begin(self) -> Ints:  # (n,)
        return self._or_at(np.minimum.accumulate(self._codes_with(self.begin)[::-1])[::-1])

    def _or_at(self, codes: Ints) -> Ints:
        """The same codes; where they are those of the order itself, that array, for which nothing more is kept."""
        return self._at if np.array_equal(codes, self._at) else _frozen(codes)

    @cached_property
    def _begins(self) -> Ints:  # (n,)
        return self._at if self.time is self.begin else _frozen(np.sort(self._codes_with(self.begin)))

    @cached_property
    def _ends(self) -> Ints:  # (n,)
        return _frozen(np.sort(self._codes_with(self.end)))


def _frozen(array: Ints) -> Ints:
    array.setflags(write=False)
    return array
