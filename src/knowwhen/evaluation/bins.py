"""Confidence beside accuracy: what a reliability diagram shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from knowwhen.evaluation.questions import Floats
from knowwhen.facts.table import Bools

BINS = 15


@dataclass(frozen=True)
class Bin:
    """Questions that were answered with about the same confidence; both numbers are means over them."""

    confidence: float
    accuracy: float
    count: int


@dataclass(frozen=True)
class Reliability:
    """Confidence beside accuracy, and their mean distance."""

    bins: tuple[Bin, ...]  # in order of confidence, without empty ones
    expected_calibration_error: float


def reliability(confidence: Floats, right: Bools, bins: int = BINS) -> Reliability:
    """Answers in bins of equal width; the error is Σ_bins count / n · |accuracy - confidence|."""
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    found = [
        Bin(float(confidence[place == i].mean()), float(right[place == i].mean()), int((place == i).sum()))
        for i in np.unique(place)
    ]
    error = sum(one.count * abs(one.accuracy - one.confidence) for one in found) / max(1, len(confidence))
    return Reliability(tuple(found), error)


def reliabilities(found: Mapping[str, Reliability]) -> dict[str, Any]:
    """In JSON's types, the error under the short name that people look for."""
    return {name: {"ece": one.expected_calibration_error, **asdict(one)} for name, one in found.items()}
