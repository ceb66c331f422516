"""What a study tries: points, and grids of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from knowwhen.training.config import Config

Point = Mapping[str, Any]
"""Settings by their full names, `section.key`."""


def grid(axes: Mapping[str, Sequence[object]]) -> list[Point]:
    """Every combination of the values of some settings; the last setting changes first."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def point_of(config: Config) -> Point:
    """All settings of a run, in JSON's types."""
    return config.flat()
