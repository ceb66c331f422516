"""Small worlds with dates, and a head with random tables."""

import numpy as np
import polars as pl
import pytest
import torch

from knowwhen.dating.gaps import GapHead, frequent_pairs
from knowwhen.dating.neighbours import Asked, Neighbourhood
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.dates import Granularity
from knowwhen.facts.table import OPEN, Facts
from knowwhen.facts.timeline import Timeline
from knowwhen.facts.vocabulary import Vocabulary

E, P, T = 6, 3, 12


def random_facts(seed: int, n: int = 40) -> Facts:
    """Events, intervals, half-open and static facts."""
    rng = np.random.default_rng(seed)
    begin = rng.integers(0, T, n)
    end = np.minimum(begin + rng.integers(0, 5, n), T - 1)
    begin, end = np.where(rng.random(n) < 0.15, OPEN, begin), np.where(rng.random(n) < 0.15, OPEN, end)
    return Facts(rng.integers(0, E, n), rng.integers(0, P, n), rng.integers(0, E, n), begin, end)


def dataset_of(train: Facts, valid: Facts | None = None, test: Facts | None = None, entities: int = E) -> Dataset:
    names = [pl.Series([f"{kind}{i}" for i in range(n)]) for kind, n in (("e", entities), ("p", P))]
    timeline = Timeline(Granularity.YEAR, np.arange(T) * 2 + 1990)  # every other year
    parts = [part if part is not None else Facts.empty() for part in (valid, test)]
    return Dataset("small", Vocabulary("entity", names[0]), Vocabulary("predicate", names[1]), timeline, train, *parts)


@pytest.fixture
def world():
    """Facts, their neighbourhood, all of them asked for, and heads in float64 with random tables."""

    def make(seed: int, ends: bool):
        data = dataset_of(random_facts(seed))
        facts = data.train
        asked = Asked.of(facts, np.arange(len(facts)))
        near = Neighbourhood(facts, P, data.timeline)
        pairs = frequent_pairs(near.around(asked), asked, P)
        head = GapHead(P, data.timeline.positions, pairs, ends=ends).double()
        generator = torch.Generator().manual_seed(seed)
        for table in head.parameters():
            table.data.copy_(torch.randn(table.shape, generator=generator, dtype=torch.float64))
        return data, asked, near, head

    return make
