"""What is known to be true: the objects of a query at a time, to be left out of its ranking."""

from __future__ import annotations

import numpy as np

from knowwhen.facts.ranges import ranges
from knowwhen.facts.table import OPEN, Facts, Ints


class KnownFacts:
    """The true objects of (s, p) at time t, also of reciprocal predicates p + P; immutable.

    Events are found by (s, p, t) itself; spans, half-open and static facts by (s, p), then by a look at their ends.
    """

    def __init__(self, facts: Facts, predicates: int) -> None:
        both = Facts.concatenate(facts, facts.reciprocal(predicates))
        self._predicates = 2 * predicates
        self._timestamps = int(max(both.begin.max(initial=0), both.end.max(initial=0))) + 1
        events, spans = both[both.is_event], both[~both.is_event]
        by_event = self._event_key(events.subject, events.predicate, events.begin)
        order = np.argsort(by_event)
        self._event_keys, self._event_objects = by_event[order], events.object[order]
        by_span = self._key(spans.subject, spans.predicate)
        order = np.argsort(by_span)
        self._span_keys, self._span_objects = by_span[order], spans.object[order]
        self._span_begin = spans.begin[order]  # OPEN = -1 already lies before every timestamp
        self._span_end = np.where(spans.end == OPEN, self._timestamps, spans.end)[order]
        for array in vars(self).values():
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    def objects(self, s: Ints, p: Ints, t: Ints | None = None) -> tuple[Ints, Ints]:
        """Pairs (row of the batch, true object) at time t, or at any time where t is None.

        An object whose spans overlap may come twice: the pairs are for `scores[rows, objects] = -inf`.
        """
        first, last = (t, t) if t is not None else (np.zeros_like(s), np.full_like(s, self._timestamps - 1))
        # A time after all that is known must not run into the keys of the next predicate.
        beyond = first >= self._timestamps
        start = np.searchsorted(self._event_keys, self._event_key(s, p, first), side="left")
        stop = np.searchsorted(self._event_keys, self._event_key(s, p, last), side="right")
        event_rows, places = ranges(start, np.where(beyond, start, stop))
        event_objects = self._event_objects[places]

        key = self._key(s, p)
        span_rows, places = ranges(
            np.searchsorted(self._span_keys, key, side="left"), np.searchsorted(self._span_keys, key, side="right")
        )
        if t is not None:
            # The end of an open span is the last timestamp plus one, which no t exceeds once clipped to it.
            at = np.minimum(t, self._timestamps)[span_rows]
            holds = (self._span_begin[places] <= at) & (at <= self._span_end[places])
            span_rows, places = span_rows[holds], places[holds]
        return np.concatenate([event_rows, span_rows]), np.concatenate([event_objects, self._span_objects[places]])

    def _key(self, s: Ints, p: Ints) -> Ints:
        return s * self._predicates + p

    def _event_key(self, s: Ints, p: Ints, t: Ints) -> Ints:
        return self._key(s, p) * self._timestamps + t
