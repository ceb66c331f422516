"""Spans of time: how well a predicted one fits, and how one is read off a distribution over timestamps.

Begins and ends are real positions on the axis, in its unit, both inclusive: a span from 2009 to 2012 is 4 years long.
"""

from __future__ import annotations

import numpy as np

from knowwhen.evaluation.questions import Floats
from knowwhen.facts.table import Ints

ROUNDING = 1e-9  # a sum of probabilities may miss a threshold that it reaches in mathematics


def aeiou(begin: Ints, end: Ints, gold_begin: Ints, gold_end: Ints) -> Floats:
    """max(1, I) / H: overlap over hull, where no overlap counts as one unit (Jain et al. 2020, TIMEPLEX)."""
    return np.maximum(1, _overlap(begin, end, gold_begin, gold_end)) / _hull(begin, end, gold_begin, gold_end)


def gaeiou(begin: Ints, end: Ints, gold_begin: Ints, gold_end: Ints) -> Floats:
    """I / H where the spans overlap, else 1 / (gap + 1) / H (Cai et al. 2021, TIME2BOX)."""
    overlap = _overlap(begin, end, gold_begin, gold_end)
    gap = np.maximum(0, np.maximum(begin, gold_begin) - np.minimum(end, gold_end))
    return np.where(overlap >= 1, overlap, 1 / (gap + 1)) / _hull(begin, end, gold_begin, gold_end)


def tac(begin: Ints, end: Ints, gold_begin: Ints, gold_end: Ints) -> Floats:
    """½ (1 / (1 + |Δ begin|) + 1 / (1 + |Δ end|)): how near both ends are (Surdeanu 2013)."""
    return (1 / (1 + abs(begin - gold_begin)) + 1 / (1 + abs(end - gold_end))) / 2


INTERVAL_METRICS = {"aeIOU": aeiou, "gaeIOU": gaeiou, "TAC": tac}


def coalesce(probability: Floats, start: Ints, threshold: Floats) -> tuple[Ints, Ints]:  # (n, T), (n, k), (n,)
    """First and last timestamp, (n, k) each, of the spans grown from each start: greedy coalescing.

    A span takes in its more probable neighbour, the later one on a tie, until it holds `threshold` of the probability.
    """
    T = probability.shape[1]
    rows = np.arange(len(start))[:, None]
    edged = np.pad(probability, ((0, 0), (1, 1)), constant_values=-1)  # nothing lies beyond the axis
    first, last = start.copy(), start.copy()
    mass = probability[rows, start]
    while True:
        growing = (mass < threshold[:, None] - ROUNDING) & (last - first + 1 < T)
        if not growing.any():
            return first, last
        before, after = edged[rows, first], edged[rows, last + 2]
        later = after >= before
        first -= growing & ~later
        last += growing & later
        mass += np.where(growing, np.where(later, after, before), 0)


def _overlap(begin: Ints, end: Ints, gold_begin: Ints, gold_end: Ints) -> Ints:
    """Units in common; at most 0 where there are none."""
    return 1 + np.minimum(end, gold_end) - np.maximum(begin, gold_begin)


def _hull(begin: Ints, end: Ints, gold_begin: Ints, gold_end: Ints) -> Ints:
    """Units from the earlier begin to the later end."""
    return 1 + np.maximum(end, gold_end) - np.minimum(begin, gold_begin)
