"""Grids that grow: where the best weight is at an edge, the next one beyond it is tried."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

STEPS = (1.0, 3.0)  # of each power of ten
SMALLEST, LARGEST = 1e-6, 1e3


def widened(first: Sequence[float], measured: Mapping[float, float]) -> list[float]:
    """The weights to try, in order: the first ones, and beyond an edge as long as the best of those measured is there.

    Weights and scores are of one penalty. While one is not measured yet, no further is asked for; and a grid of one
    weight does not grow.
    """
    weights = sorted(first)
    while len(weights) > 1 and all(weight in measured for weight in weights):
        best = max(weights, key=lambda weight: measured[weight])
        if best == weights[0] and best > SMALLEST:
            weights.insert(0, neighbour(best, up=False))
        elif best == weights[-1] and best < LARGEST:
            weights.append(neighbour(best, up=True))
        else:
            break
    return weights


def neighbour(weight: float, *, up: bool) -> float:
    """The next of …, 0.01, 0.03, 0.1, 0.3, 1, 3, … above or below a weight."""
    power = math.floor(math.log10(weight) + 1e-9)
    near = (float(f"{step:g}e{power + shift}") for shift in (-1, 0, 1) for step in STEPS)
    beyond = [value for value in near if (value > weight * 1.01 if up else value < weight * 0.99)]
    return min(beyond) if up else max(beyond)
