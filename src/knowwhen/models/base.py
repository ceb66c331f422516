"""The contract of all models: what loss, ranking, questions and regularizers need to know of a decomposition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from knowwhen.models.algebra import as_complex, lookup

INITIAL_SCALE = 1e-2


@dataclass(frozen=True)
class Sizes:
    """How many of everything; a model knows sizes, not datasets."""

    entities: int  # E
    predicates: int  # P, without reciprocals: p + P is the inverse of p
    timestamps: int  # T
    undated_row: bool = False  # facts without time own the extra timestamp T, outside the time axis


class Factor(NamedTuple):
    """A vector that a regularizer penalises, and how often the formula counts it."""

    weight: int
    rows: Tensor  # (b, r)


class TemporalModel(nn.Module, ABC):
    """A tensor X[s, p, o, t] of low rank, s and o entities, p a predicate or its inverse p + P.

    The object score is query(s, p, t) · candidates()[o]; a subclass gives both, and time and predicate scores of the
    same tensor. Tables are real parameters (n, d), d = 2r where they are viewed complex.
    """

    name: ClassVar[str]  # in MODELS and configurations
    temporal: ClassVar[bool]  # whether scores depend on t
    formula: ClassVar[str]  # as `knowwhen models` prints it

    def __init__(self, sizes: Sizes, rank: int) -> None:
        super().__init__()
        self.sizes, self.rank = sizes, rank
        self._shared: dict[tuple[str, int], Tensor] | None = None
        for table, (rows, columns) in self.table_shapes(sizes, rank).items():
            self.register_parameter(table, nn.Parameter(torch.empty(rows, columns)))

    def initialise(self, generator: torch.Generator) -> TemporalModel:
        """Draws all tables from N(0, 1) times 1e-2, as the paper's experiments do; returns the model."""
        with torch.no_grad():
            for table in self.parameters():
                table.copy_(torch.randn(table.shape, generator=generator) * INITIAL_SCALE)
        return self

    @classmethod
    @abstractmethod
    def table_shapes(cls, sizes: Sizes, rank: int) -> dict[str, tuple[int, int]]:
        """Name and shape of each table of parameters."""

    @abstractmethod
    def query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (b, d)
        """What the object's row is multiplied with."""

    @abstractmethod
    def candidates(self) -> Tensor:  # (E, d)
        """The rows of all objects."""

    @abstractmethod
    def score_predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b, 2P)
        """X[s, :, o, t], inverse predicates behind."""

    @abstractmethod
    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """The factors of the order-3 tensor in which predicate and time are one mode: those of Ω³."""

    @abstractmethod
    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """The factors of the order-4 tensor, each for itself: those of Δ^p."""

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b,)
        """X[s, p, o, t]."""
        return (self.query(s, p, t) * lookup(self.candidates(), o)).sum(-1)

    def score_objects(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (b, E)
        """X[s, p, :, t]."""
        return self.query(s, p, t) @ self.candidates().mT

    def score_timestamps(self, s: Tensor, p: Tensor, o: Tensor) -> Tensor:  # (b, T)
        """X[s, p, o, :] along the time axis."""
        varying, constant = self.time_query(s, p, o)
        return varying @ self.time_axis().mT + constant[:, None]

    def time_query(self, s: Tensor, p: Tensor, o: Tensor) -> tuple[Tensor, Tensor]:  # (b, d), (b,)
        """What a timestamp's row is multiplied with, and what is added whatever the time."""
        # A static model: nothing varies, all is constant.
        return self.candidates().new_zeros(len(s), 0), self.score(s, p, o, torch.zeros_like(s))

    def time_axis(self) -> Tensor:  # (T, d)
        """The rows of the timestamps in order, without that of undated facts."""
        return self.candidates().new_zeros(self.sizes.timestamps, 0)

    def parameter_count(self) -> int:
        """Real numbers that are stored."""
        return sum(table.numel() for table in self.parameters())

    def complex_rows(self, table: str, ids: Tensor | None = None) -> Tensor:  # (n, r) or (b, r), complex
        """The rows of a table, all or those of some ids."""
        rows: Tensor = getattr(self, table)
        if ids is None:
            return as_complex(rows)
        if self._shared is None:
            return as_complex(lookup(rows, ids))
        key = (table, id(ids))
        if key not in self._shared:
            self._shared[key] = as_complex(lookup(rows, ids))
        return self._shared[key]

    @contextmanager
    def shared_lookups(self) -> Iterator[None]:
        """Inside, the rows of one table for one tensor of ids are looked up once: loss and penalties use the same."""
        self._shared = {}
        try:
            yield
        finally:
            self._shared = None
