"""How many of everything there is: all that a model knows of a dataset."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """How many of everything; a model knows sizes, not datasets."""

    entities: int  # E
    predicates: int  # P, without reciprocals: p + P is the inverse of p
    timestamps: int  # T
    undated_row: bool = False  # facts without time own the extra timestamp T, outside the time axis
