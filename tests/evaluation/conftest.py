"""A model that is its tensor, and small facts of all kinds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import Sizes
from knowwhen.models.scores import Matrix


class TensorModel:
    """X[s, p, o, t] as given: whatever the scores are to be."""

    name = "tensor"
    device = torch.device("cpu")
    temporal = True

    def __init__(self, X: torch.Tensor, undated_row: bool = False) -> None:  # (E, 2P, E, T + undated row)
        E, P2, _, T = X.shape
        self.sizes, self.X = Sizes(E, P2 // 2, T - undated_row, undated_row), X

    def objects(self, s, p, t):
        return Matrix(self.X[s, p, :, t])

    def times(self, s, p, o):
        return Matrix(self.X[s, p, o, : self.sizes.timestamps])


def table(*rows: tuple[int, int, int, int, int]) -> Facts:
    return Facts(*np.array(rows, dtype=np.int64).reshape(-1, 5).T.copy())


@st.composite
def facts_of(draw, sizes: Sizes, min_size: int = 0, max_size: int = 12) -> Facts:
    """Events, intervals, half-open and static facts over few ids, so that they meet."""
    E, P, T = sizes.entities, sizes.predicates, sizes.timestamps
    times = st.integers(OPEN, T - 1)
    ids = st.tuples(*(st.integers(0, n - 1) for n in (E, P, E)), times, times)
    rows = draw(st.lists(ids, min_size=min_size, max_size=max_size))
    return table(
        *((s, p, o, min(b, e), max(b, e)) if OPEN not in (b, e) else (s, p, o, b, e) for s, p, o, b, e in rows)
    )


class Tools:
    """What tests take from here: a module of tests cannot be imported."""

    TensorModel = TensorModel
    table = staticmethod(table)
    facts_of = staticmethod(facts_of)


@pytest.fixture(scope="session")
def tools():
    return Tools
