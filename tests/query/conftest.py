"""A small world with facts of all kinds, and models of it with random scores."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import torch

from knowwhen.facts.dataset import Dataset
from knowwhen.facts.dates import Granularity
from knowwhen.facts.table import OPEN, Facts
from knowwhen.facts.timeline import Timeline
from knowwhen.facts.vocabulary import Vocabulary
from knowwhen.models import Sizes, model_named

ENTITIES = ["Ada", "Bob", "Cy", "Dora", "Eve", "Finn", "Gus"]
PREDICATES = ["knows", "leads", "likes"]
YEARS = [2000, 2001, 2002, 2003, 2004, 2006]
TRAIN = [
    (0, 1, 1, 0, 2),
    (0, 1, 2, 3, OPEN),
    (0, 1, 1, 5, 5),
    (0, 0, 3, OPEN, OPEN),
    (4, 1, 1, 1, 1),
    (5, 2, 6, OPEN, 3),
]
VALID = [(0, 2, 1, 2, 3), (6, 1, 2, 4, 4), (0, 0, 5, OPEN, OPEN)]
TEST = [(3, 2, 0, 0, 5)]


class World:
    @staticmethod
    def dataset(train=TRAIN, valid=VALID, years=YEARS) -> Dataset:
        labels = pl.DataFrame({"key": ["Ada", "Gus"], "label": ["Ada Lovelace", "Gus"]})
        facts = [Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy()) for rows in (train, valid, TEST)]
        return Dataset(
            "small",
            Vocabulary.of("entity", pl.Series(ENTITIES), labels=labels),
            Vocabulary.of("predicate", pl.Series(PREDICATES)),
            Timeline(Granularity.YEAR, np.array(years, np.int64)),
            *facts,
        )

    @staticmethod
    def model(name="tntcomplex", undated_row=False, seed=0, rank=3):
        sizes = Sizes(len(ENTITIES), len(PREDICATES), len(YEARS), undated_row)
        model = model_named(name)(sizes, rank).initialise(torch.Generator().manual_seed(seed))
        with torch.no_grad():
            for table in model.parameters():
                table.mul_(100)  # scores far enough apart that probabilities differ
        return model.double()

    @staticmethod
    def naive(model, s, p, o, t) -> np.ndarray:
        """X at all combinations of the given ids; None means all of that mode, without inverse predicates."""
        sizes = model.sizes
        ranges = zip((s, p, o, t), (sizes.entities, sizes.predicates, sizes.entities, sizes.timestamps), strict=True)
        grids = torch.meshgrid(*(torch.arange(n) if i is None else torch.tensor([i]) for i, n in ranges), indexing="ij")
        with torch.no_grad():
            scores = model.score(*(grid.flatten() for grid in grids))
        return scores.reshape(grids[0].shape).squeeze().numpy()


@pytest.fixture(scope="session")
def world():
    return World
