"""Two trivial answers to "when?": what a model has to beat. Both score every timestamp, as a model does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from knowwhen.facts.index.spans import SpanIndex
from knowwhen.facts.table import OPEN, Bools, Facts, Ints
from knowwhen.facts.timeline import Timeline

TimeCurves = NDArray[np.float32]
TimeScorer = Callable[[Facts], TimeCurves]
"""Facts in, the score of each timestamp for each of them out.  # (n, T)"""


def median_span(train: Facts, predicates: int, timeline: Timeline) -> TimeScorer:
    """Scores the nearness to the predicate's median span: minus the units between a timestamp and that span.

    The span goes from the lower median of the begins that training knows for the predicate to that of its ends. A
    predicate without any takes those of all facts.
    """
    begins = _medians(train.begin, train.predicate, predicates, default=0)
    ends = _medians(train.end, train.predicate, predicates, default=len(timeline) - 1)
    ends = np.maximum(begins, ends)  # half-open facts may put them the wrong way round
    at = timeline.positions

    def score(facts: Facts) -> TimeCurves:
        begin, end = (at[ids[facts.predicate]][:, None] for ids in (begins, ends))
        return np.asarray(np.minimum(0, np.minimum(at - begin, end - at)), np.float32)

    return score


def _medians(times: Ints, groups: Ints, count: int, default: int) -> Ints:  # (count,)
    """The lower median of the known times of each group; of all where a group has none."""
    groups, times = groups[times != OPEN], times[times != OPEN]
    overall = int(np.sort(times)[(len(times) - 1) // 2]) if len(times) else default
    order = np.lexsort((times, groups))
    first, size = np.searchsorted(groups[order], np.arange(count)), np.bincount(groups, minlength=count)
    if not len(times):
        return np.full(count, overall)
    middle = times[order][np.minimum(first + (size - 1) // 2, len(times) - 1)]
    return np.where(size > 0, middle, overall)


def nearest_known(train: Facts, timeline: Timeline) -> TimeScorer:
    """Scores the number of training facts of the subject or the object that hold at a timestamp, other than itself.

    A timestamp at which none holds scores minus the units to the nearest one at which some do. Static facts say
    nothing, and half-open ones count at the end that is known; a fact between the two counts for both. Where nothing
    is known of either, all timestamps score 0.
    """
    dated = train[~train.is_static]
    sides = Facts.concatenate(dated, dated[dated.subject != dated.object].reciprocal(0))
    index = SpanIndex((sides.subject,), *_known_ends(sides.begin, sides.end))

    def counts_of(entity: Ints) -> Ints:  # (n, T)
        rows, places = index.of((entity,))
        return count_spans(rows, index.begin[places], index.end[places], len(entity), len(timeline))

    def score(facts: Facts) -> TimeCurves:
        counts = counts_of(facts.subject) + counts_of(facts.object)
        counts -= 2 * _itself(facts, _are_in(facts, dated), len(timeline))  # once for each of the two
        return _nearness(counts, timeline.positions)

    return score


def count_spans(rows: Ints, first: Ints, last: Ints, n: int, T: int) -> Ints:  # (n, T)
    """How many of the spans of each row hold at each timestamp."""
    # Naive equivalent: `for row, a, z in zip(rows, first, last): counts[row, a : z + 1] += 1`
    steps = np.bincount(rows * (T + 1) + first, minlength=n * (T + 1))
    steps -= np.bincount(rows * (T + 1) + last + 1, minlength=n * (T + 1))
    return steps.reshape(n, T + 1)[:, :T].cumsum(axis=1)


def _known_ends(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Spans in which an open end is put where the other is."""
    return np.where(begin == OPEN, end, begin), np.where(end == OPEN, begin, end)


def _are_in(facts: Facts, others: Facts) -> Bools:
    """Whether each fact is among the others, as it is."""
    mine, theirs = (np.ascontiguousarray(f.rows()).view([("", np.int64)] * 5).ravel() for f in (facts, others))
    return np.isin(mine, theirs)


def _itself(facts: Facts, known: Bools, T: int) -> Ints:  # (n, T)
    """1 where a fact holds that is known itself."""
    rows = np.flatnonzero(known)
    first, last = _known_ends(facts.begin[rows], facts.end[rows])
    return count_spans(rows, first, last, len(facts), T)


def _nearness(counts: Ints, positions: Ints) -> TimeCurves:  # (n, T), (T,)
    """The counts, and where they are 0, minus the units to the nearest place where they are not."""
    far = np.inf
    before = np.maximum.accumulate(np.where(counts > 0, positions, -far), axis=1)
    after = np.minimum.accumulate(np.where(counts > 0, positions, far)[:, ::-1], axis=1)[:, ::-1]
    distance = np.minimum(positions - before, after - positions)
    return np.where(np.isfinite(distance), counts - distance, 0).astype(np.float32)
