"""Spans of time read off a curve of probabilities."""

from __future__ import annotations

import numpy as np

from knowwhen.evaluation.intervals import coalesce
from knowwhen.evaluation.questions import Floats
from knowwhen.facts.table import Ints

SPAN_SHARE = 0.5  # of the peak, where valid did not tell a better one


def grow_spans(probability: Floats, share: float) -> tuple[Ints, Ints]:  # (n, T) -> (n,), (n,)
    """First and last timestamp of the best span of each curve.

    It grows from the peak by greedy coalescing, until it holds as much probability as all timestamps that reach `share`
    of the peak. A fixed mass would not do: a curve that is sure of 15 years and one that is sure of 2 hold as much.
    """
    high = probability >= share * probability.max(-1, keepdims=True)
    mass = np.where(high, probability, 0).sum(-1)
    first, last = coalesce(probability, probability.argmax(-1)[:, None], mass)
    return first[:, 0], last[:, 0]


def best_spans(probability: Floats, share: float, top: int) -> list[tuple[int, int, float]]:  # (T,)
    """First and last timestamp and probability of the best spans, which do not meet; at most `top`.

    The first is that of the whole curve. A further one is grown from a peak that is left, if it reaches `share` of the
    first: a curve with one hill has one span.
    """
    rest, found = probability.copy(), list[tuple[int, int, float]]()
    while len(found) < top and rest.max() >= share * probability.max():
        start = int(rest.argmax())
        first, last = (int(end[0]) for end in grow_spans(rest[None], share))
        for begin, end, _ in found:  # spans do not overlap
            first = max(first, end + 1) if end < start else first
            last = min(last, begin - 1) if begin > start else last
        found.append((first, last, float(probability[first : last + 1].sum())))
        rest[first : last + 1] = 0
    return sorted(found, key=lambda span: -span[2])
