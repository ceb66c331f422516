"""How many facts there are about an answer: of it alone, with the subject, under the predicate; at a time or ever."""

from __future__ import annotations

import numpy as np

from knowwhen.facts.table import OPEN, Facts, Ints

REACHES = (0, 7)  # in units of the time axis
COUNTED = (
    *(f"{about} within {reach}" for reach in REACHES for about in ("o", "p o", "s o", "s p o")),
    *("o ever", "p o ever", "s o ever", "s p o ever", "o p s ever", "s ever", "s p ever"),
)
"""What the columns of `Counts.of` count, for a question (s, p, ?, t) and its answer o."""


class Counts:
    """Facts counted by what they hold and when, from both sides; immutable.

    A fact of the asked subject with the asked predicate that holds at the asked time is never counted: it may be what
    is asked for. So a training fact does not count itself. Of an entity with itself nothing is counted.
    """

    def __init__(self, facts: Facts, entities: int, predicates: int, positions: Ints) -> None:
        """`positions` (T,) are where the timestamps lie on the time axis."""
        self.entities, self.predicates = entities, predicates
        # Where time begins is 1: a begin that is unknown lies before, at 0, and an end that is unknown behind all.
        self._at = positions - positions[0] + 1 if len(positions) else np.empty(0, np.int64)
        self._last = int(self._at[-1]) + 1 if len(positions) else 1
        apart = facts[facts.subject != facts.object]
        both = Facts.concatenate(apart, apart.reciprocal(predicates))
        begin = self._position(both.begin, 0)
        end = self._position(both.end, self._last)
        s, p, o = both.subject, both.predicate, both.object
        keys = (s, self._with(s, p), self._pair(s, o), self._with(self._pair(s, o), p))
        self._entity, self._role, self._meeting, self._fact = (_Spans(key, begin, end, self._last + 1) for key in keys)

    def _position(self, column: Ints, unknown: int) -> Ints:
        if not len(self._at):
            return np.full(len(column), unknown)
        return np.where(column == OPEN, unknown, self._at[np.maximum(column, 0)])

    def _with(self, key: Ints, p: Ints) -> Ints:
        return key * (2 * self.predicates) + p

    def _pair(self, s: Ints, o: Ints) -> Ints:
        return s * self.entities + o

    def of(self, s: Ints, p: Ints, o: Ints, t: Ints) -> Ints:  # (n, COUNTED)
        """The counts for answers o to questions (s, p, ?, t); t = T asks without time."""
        inverse = (p + self.predicates) % (2 * self.predicates)
        at = self._position(np.where(t < len(self._at), t, OPEN), 0)  # without time, what has no begin holds
        pair = self._pair(s, o)
        about = [  # o itself and what it does, the pair and the very fact
            self._entity.find(o),
            self._role.find(self._with(o, inverse)),
            self._meeting.find(pair),
            self._fact.find(self._with(pair, p)),
        ]
        of_subject = [self._entity.find(s), self._role.find(self._with(s, p))]
        asked, asked_of_subject = about[3].near(at, at), of_subject[1].near(at, at)
        columns = []
        for reach in REACHES:
            first = np.where(at > 0, np.maximum(at - reach, 1), 0)
            last = np.where(at > 0, np.minimum(at + reach, self._last - 1), 0)
            columns += [found.near(first, last) - asked for found in about]
        columns += [found.ever() - asked for found in about]
        columns.append(self._fact.find(self._with(pair, inverse)).ever())
        columns += [found.ever() - asked_of_subject for found in of_subject]
        return np.asarray(np.stack(columns, axis=-1) * (s != o)[:, None])


class _Spans:
    """The begins and ends of facts by key, each in order."""

    def __init__(self, keys: Ints, begin: Ints, end: Ints, width: int) -> None:
        self.keys, number = np.unique(keys, return_inverse=True)
        self.width = width
        self.total = np.append(np.bincount(number, minlength=len(self.keys)), 0)  # the last is that of unknown keys
        self.begins, self.ends = (np.sort(number * width + column) for column in (begin, end))

    def find(self, keys: Ints) -> _Found:
        place = np.searchsorted(self.keys, keys)
        known = place < len(self.keys)
        known[known] = self.keys[place[known]] == keys[known]
        return _Found(self, np.where(known, place, len(self.keys)))


class _Found:
    """Keys that were looked up once, to be counted several times."""

    def __init__(self, spans: _Spans, number: Ints) -> None:
        self.spans, self.number = spans, number
        self.some = np.flatnonzero(number < len(spans.keys))  # often few: the rest is not looked for again

    def ever(self) -> Ints:
        return np.asarray(self.spans.total[self.number])

    def near(self, first: Ints, last: Ints) -> Ints:
        """How many hold at some time from first to last: all that have begun by then, less those that ended before."""
        spans, base = self.spans, self.number[self.some] * self.spans.width
        found = np.zeros(len(self.number), np.int64)
        found[self.some] = np.searchsorted(spans.begins, base + last[self.some], side="right")
        found[self.some] -= np.searchsorted(spans.ends, base + first[self.some], side="left")
        return found
