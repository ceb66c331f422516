"""What is computed, by area, as numbers that are raised by hand: a result of an older number is not today's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Raise an area's number in the commit that changes what it computes, beyond rounding, for the same settings and seed.
# `tests/reproduction/test_numbers.py` fails where that was forgotten.
NUMBERS = {
    "training": 1,  # losses, penalties, samplers, optimizers, initial values of decompositions
    "evidence": 1,  # evidence terms and the correction
    "dating": 1,  # the time head and the answers to time questions
    "validation": 1,  # the filter and the metrics of valid: what settings and epochs are chosen by
    "evaluation": 1,  # the ranks and the metrics of test; counting
}
FIRST = dict.fromkeys(NUMBERS, 1)  # of results that were written before there were numbers


def numbers_of(
    settings: Mapping[str, Any], of: Mapping[str, int] = NUMBERS, *, asks_times: bool = False
) -> dict[str, int]:
    """The numbers of the areas that a result with these settings depends on."""
    uses = {
        "training": "training.epochs" in settings,
        "evidence": bool(settings.get("model.evidence")),
        "dating": asks_times,
    }
    return {area: number for area, number in of.items() if uses.get(area, True)}


def older(numbers: Mapping[str, int]) -> dict[str, int]:
    """The areas in which a result is of an earlier number than today's."""
    return {area: number for area, number in numbers.items() if number < NUMBERS[area]}
