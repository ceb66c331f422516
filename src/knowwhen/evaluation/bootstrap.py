"""Intervals of differences between models on the same facts, by a paired bootstrap (Efron 1979).

A fact is drawn with all its questions: those from both sides, and at several times, are not independent of each other.
All models keep the same facts in each resample, so that what makes a fact hard for all of them cancels out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from knowwhen import chunks
from knowwhen.evaluation.questions import Floats

RESAMPLES = 2_000
LEVEL = 0.95
ENOUGH = 30  # facts: fewer give no interval, which would be too short


@dataclass(frozen=True)
class Difference:
    """By how much a model is above the first, and the interval of it; None where there are too few facts."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def means(sums: Floats, weights: Floats) -> Floats:  # (…, M, K), (…, M) -> (…, M, K)
    return np.asarray(sums / weights[..., None])


def paired_differences(
    sums: Floats, weights: Floats, *, resamples: int = RESAMPLES, seed: int = 0
) -> list[list[Difference]]:  # (M - 1) by K
    """The differences of M models to the first in K metrics, with intervals.

    `sums` (n, M, K) has the values of each fact's questions added up, `weights` (n, M) their weights. Naively, a
    resample is `facts = rng.integers(n, size=n)`, its means `sums[facts].sum(0) / weights[facts].sum(0)`.
    """
    found = _to_first(means(sums.sum(0), weights.sum(0)))
    if len(sums) < ENOUGH or not resamples:
        return [[Difference(float(value)) for value in row] for row in found]
    drawn = np.concatenate(
        [_to_first(means(*totals)) for totals in _resampled(sums, weights, resamples, np.random.default_rng(seed))]
    )  # (resamples, M - 1, K)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return [
        [Difference(*map(float, one)) for one in zip(*row, strict=True)] for row in zip(found, low, high, strict=True)
    ]


def _to_first(values: Floats) -> Floats:  # (…, M, K) -> (…, M - 1, K)
    return np.asarray(values[..., 1:, :] - values[..., :1, :])


def _resampled(
    sums: Floats, weights: Floats, resamples: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Totals of sums and weights in each resample, some at a time.  # (b, M, K), (b, M)"""
    n, M, K = sums.shape
    columns = np.concatenate([sums.reshape(n, M * K), weights], axis=1)
    for rows in chunks.slices(resamples, chunks.rows_at_once(n, each=24)):
        b = rows.stop - rows.start
        facts = rng.integers(n, size=(b, n)) + n * np.arange(b)[:, None]
        times = np.bincount(facts.ravel(), minlength=b * n).reshape(b, n)  # that each fact was drawn
        totals = times.astype(np.float64) @ columns
        yield totals[:, : M * K].reshape(b, M, K), totals[:, M * K :]
