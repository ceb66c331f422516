"""Average precision: the area under the steps of a precision-recall curve."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from knowwhen.evaluation.baselines import TimeCurves
from knowwhen.facts.table import Bools

BLOCK = 64_000_000  # scores that are held at once


def average_precision(truth: Bools, scores: TimeCurves) -> float:  # (n,), (n,), at least one true
    """The mean, over the true ones, of the precision among all that score at least as much.

    Naive equivalent: `np.mean([truth[scores >= x].mean() for x in scores[truth]])`. A tie is never decided: all that
    share a score come together, so that a constant score has the base rate.
    """
    ordered, true = np.sort(scores), np.sort(scores[truth])
    retrieved = len(ordered) - np.searchsorted(ordered, true, side="left")
    correct = len(true) - np.searchsorted(true, true, side="left")
    return float((correct / retrieved).mean())


def macro_average_precision(
    columns: Callable[[slice], tuple[Bools, TimeCurves]], rows: int, width: int
) -> float:  # over a matrix (rows, width)
    """The mean of the average precisions of the columns that hold anything true; NaN where none does.

    `columns` gives truth and scores of a slice of columns: the whole matrix may not fit into memory.
    """
    step = max(1, BLOCK // max(1, rows))
    found: list[float] = []
    for start in range(0, width, step):
        truth, scores = (np.ascontiguousarray(part.T) for part in columns(slice(start, start + step)))
        found += [average_precision(t, s) for t, s in zip(truth, scores, strict=True) if t.any()]
    return float(np.mean(found)) if found else float("nan")
