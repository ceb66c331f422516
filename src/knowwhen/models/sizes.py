"""All that a model knows of a dataset: how many of everything there is, and the facts it may draw on."""

from __future__ import annotations

from dataclasses import dataclass

from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Facts, Ints


@dataclass(frozen=True)
class Sizes:
    """How many of everything; it fixes the shapes of all parameters."""

    entities: int  # E
    predicates: int  # P, without reciprocals: p + P is the inverse of p
    timestamps: int  # T
    undated_row: bool = False  # facts without time own the extra timestamp T, outside the time axis

    @classmethod
    def of(cls, dataset: Dataset, undated_row: bool = False) -> Sizes:
        # Facts that are all static still need one timestamp.
        return cls(len(dataset.entities), len(dataset.predicates), max(1, len(dataset.timeline)), undated_row)


@dataclass(frozen=True, eq=False)
class Background:
    """The facts a model may draw on (evidence, encoders), and where its timestamps lie; never valid or test."""

    facts: Facts
    positions: Ints  # (T,), in units of the time axis
    calendar: Ints  # (T, 3): year, month and day

    @classmethod
    def of(cls, dataset: Dataset) -> Background:
        """The facts of train, and those added since."""
        timeline = dataset.timeline
        return cls(Facts.concatenate(dataset.train, dataset.added), timeline.positions, timeline.calendar)
