"""Facts as questions: which timestamps inside its span a fact is asked at, and from which sides."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray

from knowwhen.evaluation.protocol import Protocol
from knowwhen.facts.table import OPEN, Bools, Facts, Ints
from knowwhen.models import Sizes
from knowwhen.training.sampling import sample_timestamps

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Queries:
    """Columns of questions (s, p, ?, t) with their answer o; p + P asks for the subject of a fact."""

    fact: Ints  # row of the facts
    s: Ints
    p: Ints
    o: Ints
    t: Ints
    asks_subject: Bools
    weight: Floats  # sums to 1 over the timestamps at which a fact is asked from one side

    def __len__(self) -> int:
        return len(self.fact)

    def __getitem__(self, rows: slice | Bools | Ints) -> Queries:
        return Queries(*(getattr(self, field.name)[rows] for field in fields(self)))


def ask(facts: Facts, sizes: Sizes, protocol: Protocol) -> Queries:
    """The questions of all facts: objects first, then, in both directions, subjects at the same timestamps."""
    fact, t, weight = query_times(facts, sizes, protocol)
    sides = [facts] if protocol.directions == "objects" else [facts, facts.reciprocal(sizes.predicates)]
    return Queries(
        fact=np.tile(fact, len(sides)),
        s=np.concatenate([side.subject[fact] for side in sides]),
        p=np.concatenate([side.predicate[fact] for side in sides]),
        o=np.concatenate([side.object[fact] for side in sides]),
        t=np.tile(t, len(sides)),
        asks_subject=np.repeat(np.arange(len(sides)) == 1, len(fact)),
        weight=np.tile(weight, len(sides)),
    )


def count_queries(facts: Facts, sizes: Sizes, protocol: Protocol) -> int:
    """`len(ask(facts, sizes, protocol))`, before anything is asked."""
    sides = 1 if protocol.directions == "objects" else 2
    if protocol.times == "all":
        first, last = span_ids(facts, sizes)
        return sides * int((last - first + 1).sum())
    return sides * len(facts) * (1 if protocol.times == "sample" else protocol.times)


def query_times(facts: Facts, sizes: Sizes, protocol: Protocol) -> tuple[Ints, Ints, Floats]:
    """Row of the fact, timestamp and weight of each question; all of one length, facts in order."""
    if protocol.times == "all":
        first, last = span_ids(facts, sizes)
        counts = last - first + 1
        fact = np.repeat(np.arange(len(facts)), counts)
        within = np.arange(len(fact)) - np.repeat(np.cumsum(counts) - counts, counts)
        return fact, first[fact] + within, 1 / counts[fact]
    draws = 1 if protocol.times == "sample" else protocol.times
    fact = np.repeat(np.arange(len(facts)), draws)
    generator = torch.Generator().manual_seed(protocol.seed)
    t = sample_timestamps(facts[fact], sizes.timestamps, generator, sizes.undated_row).numpy()
    return fact, t, np.full(len(fact), 1 / draws)


def span_ids(facts: Facts, sizes: Sizes) -> tuple[Ints, Ints]:
    """First and last timestamp of each fact, both inclusive; an open end reaches to that of the axis.

    A static fact holds on the whole axis, or, where undated facts have a row of their own, is asked there: at T.
    """
    first = np.where(facts.begin == OPEN, 0, facts.begin)
    last = np.where(facts.end == OPEN, max(sizes.timestamps - 1, 0), facts.end)
    if sizes.undated_row:
        first, last = (np.where(facts.is_static, sizes.timestamps, ids) for ids in (first, last))
    return first, last
