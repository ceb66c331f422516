"""How many facts there are about an answer: of it alone, with the subject, under the predicate; at a time or ever."""

from __future__ import annotations

import numpy as np

from knowwhen.facts.index.spans import Key, SpanIndex
from knowwhen.facts.table import Facts, Ints

REACHES = (0, 7)  # in units of the time axis
COUNTED = (
    *(f"{about} within {reach}" for reach in REACHES for about in ("o", "p o", "s o", "s p o")),
    *("o ever", "p o ever", "s o ever", "s p o ever", "o p s ever", "s ever", "s p ever"),
)
"""What the columns of `Counts.of` count, for a question (s, p, ?, t) and its answer o."""
Rows = slice | Ints  # of a batch
ALL = slice(None)


class Counts:
    """Facts counted by what they hold and when, from both sides; immutable.

    What may be asked for is not counted: by the rule "holding", facts of the asked subject with the asked predicate
    that hold at the asked time; by the rule "itself", one such fact with the right answer, where that is given, as it
    is for training facts. Of an entity with itself nothing is counted.
    """

    def __init__(self, facts: Facts, predicates: int, positions: Ints) -> None:
        """`positions` (T,) are where the timestamps lie on the time axis."""
        self.predicates, self._positions = predicates, positions
        apart = facts[facts.subject != facts.object]
        both = Facts.concatenate(apart, apart.reciprocal(predicates))
        s, p, o = both.subject, both.predicate, both.object
        self._entity, self._role, self._meeting, self._fact = (
            SpanIndex(key, both.begin, both.end, positions=positions) for key in ((s,), (s, p), (s, o), (s, o, p))
        )

    def of(  # (n, COUNTED)
        self, s: Ints, p: Ints, o: Ints, t: Ints, *, itself: bool = False, right: Ints | None = None
    ) -> Ints:
        """The counts for answers o to questions (s, p, ?, t); t = T asks without time.

        `itself` is the rule; `right` (n,) are the objects of training facts that are asked for.
        """
        inverse = (p + self.predicates) % (2 * self.predicates)
        t = np.minimum(t, len(self._positions))
        meeting = _Found(self._meeting, (s, o))
        about = [  # o itself and what it does, the pair and the very fact
            _Found(self._entity, (o,)),
            _Found(self._role, (o, inverse)),
            meeting,
            _Found(self._fact, (s, o, p), meeting.some),
        ]
        near = [[found.near(t, reach) for found in about] for reach in REACHES]
        asked: Ints | None = near[0][3]  # within 0: at the very time
        if itself:
            asked = None if right is None else (o == right).astype(np.int64)
        columns = [count for counts in near for count in counts] + [found.ever for found in about]
        if asked is not None:
            columns = [count - asked for count in columns]
        columns.append(_Found(self._fact, (s, o, inverse), meeting.some).ever)
        columns += self._of_subjects(s, p, t, None if not itself else 0 if right is None else 1)
        found = np.empty((len(columns), len(s)), np.int64)
        for row, column in zip(found, columns, strict=True):
            row[:] = column
        found[:, s == o] = 0
        return found.T

    def _of_subjects(self, s: Ints, p: Ints, t: Ints, asked: int | None) -> list[Ints]:  # (n,), (n,)
        """Facts of the subject, and of it under the predicate; counted once for neighbours that ask the same."""
        starts = np.flatnonzero(np.diff(s, prepend=-1) | np.diff(p, prepend=-1) | np.diff(t, prepend=-1))
        lengths = np.diff(starts, append=len(s))
        s, p, t = s[starts], p[starts], t[starts]
        found = [_Found(self._entity, (s,)), _Found(self._role, (s, p))]
        left_out = found[1].near(t, 0) if asked is None else asked
        return [np.repeat(one.ever - left_out, lengths) for one in found]


class _Found:
    """Keys whose facts were counted once, to be counted at several times.

    Only `some` rows have any, of those `among` which alone it is looked for. The rest is not looked for again.
    """

    def __init__(self, index: SpanIndex, key: Key, among: Rows = ALL) -> None:
        self._index, self._rows = index, len(key[0])
        number = index.number([column[among] for column in key])
        counts = index.counts[number]
        known = np.flatnonzero(counts)
        self.some: Rows
        if len(known) == self._rows:  # nothing to gather or to spread
            self.some, self._number, self._key, self.ever = ALL, number, key, counts
            return
        self.some = known if isinstance(among, slice) else among[known]
        self._number, self._key = number[known], [column[self.some] for column in key]
        self.ever = self._spread(counts[known])

    def near(self, t: Ints, reach: int) -> Ints:
        """How many hold within a distance of timestamps."""
        return self._spread(self._index.near(self._key, t[self.some], reach, self._number))

    def _spread(self, counts: Ints) -> Ints:
        if isinstance(self.some, slice):
            return counts
        found = np.zeros(self._rows, np.int64)
        found[self.some] = counts
        return found
