"""The contract of a decomposition: a model must give `score`; all else follows from it, slowly and correctly."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from knowwhen.distributed.shard import current
from knowwhen.errors import BadRequest
from knowwhen.models.scores import Computed, Scores
from knowwhen.models.sizes import Background, Sizes
from knowwhen.models.tables import Axis, Table, shared_lookups, tables_of


class Options(BaseModel):
    """The settings of a model or an evidence term; a subclass adds fields with defaults, ranges and meanings."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RankOptions(Options):
    rank: int = Field(64, ge=1, description="Size of an embedding; counted in complex numbers if the model is complex.")


class Factor(NamedTuple):
    """A vector that a regularizer penalises, and how often the formula counts it."""

    weight: int
    rows: Tensor  # (b, …), complex or real


class Decomposition(nn.Module, ABC):
    """A tensor X[s, p, o, t] of low rank: s and o entities, p a predicate or its inverse p + P, t a timestamp."""

    name: ClassVar[str]
    formula: ClassVar[str] = ""  # as `knowwhen info` prints it
    temporal: ClassVar[bool] = True  # whether scores depend on t
    Options: ClassVar[type[Options]] = RankOptions

    def __init__(self, sizes: Sizes, options: Any = None) -> None:
        super().__init__()
        self.sizes, self.shard = sizes, current()
        self.options: Any = options or type(self).Options()
        for name, table in self.tables(self.options).items():
            self.add_module(name, table.allocate(sizes))

    @classmethod
    @abstractmethod
    def tables(cls, o: Any) -> dict[str, Table]:
        """The tables of parameters by name, for some options."""

    @abstractmethod
    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        """X[s, p, o, t], with ids that broadcast."""

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:  # (b, E)
        """X[s, p, :, t]."""
        return self._computed(s, self.sizes.entities, lambda i, o: self.score(s[i], p[i], o, t[i]))

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:  # (b, T)
        """X[s, p, o, :] along the time axis."""
        return self._computed(s, self.sizes.timestamps, lambda i, t: self.score(s[i], p[i], o[i], t))

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:  # (b, 2P)
        """X[s, :, o, t], inverse predicates last."""
        return self._computed(s, 2 * self.sizes.predicates, lambda i, p: self.score(s[i], p, o[i], t[i]))

    def _computed(self, s: Tensor, columns: int, score: Any) -> Scores:
        tables = [table for table in tables_of(self).values() if table.axis is not Axis.NONE]
        depth = max((math.prod(table.shape) for table in tables), default=1)
        return Computed(len(s), columns, score, s.device, depth)

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """What Ω³ penalises: the factors of the tensor in which predicate and time are one mode."""
        return self.separate_factors(s, p, o, t)

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """What Δ^p penalises: each factor for itself. By default all rows that belong to the facts."""
        ids = {Axis.ENTITY: (s, o), Axis.PREDICATE: (p,), Axis.TIME: (t,), Axis.NONE: ()}
        return [Factor(1, table(of)) for table in tables_of(self).values() for of in ids[table.axis]]

    def time_axes(self) -> list[Tensor]:  # (T, …) each
        """What Λ smooths: every table of timestamps, without the undated row."""
        return [table.along() for table in tables_of(self).values() if table.axis is Axis.TIME]

    def entity_rows(self) -> Tensor:  # (E, d), real
        """The rows that stand for entities as objects: for neighbours, exports and context evidence."""
        return self._entity_table().weight.flatten(1)

    @property
    def has_complex_rows(self) -> bool:
        """Whether `entity_rows` are views of complex numbers."""
        return self._entity_table().is_complex

    def _entity_table(self) -> Table:
        found = next((table for table in tables_of(self).values() if table.axis is Axis.ENTITY), None)
        if found is None:
            raise BadRequest(f"{self.name} has no table of entities; give it an entity_rows of its own")
        return found

    def recall(self, background: Background) -> None:
        """Takes the facts and the calendar a model may draw on; most need neither."""

    @contextmanager
    def step(self, s: Tensor, p: Tensor, o: Tensor) -> Iterator[None]:
        """Surrounds a training step on facts (s, p, o), in which rows are looked up once."""
        with shared_lookups():
            yield

    def initialise(self, generator: torch.Generator) -> None:
        """Draws all tables, then the weights of other modules, from the generator alone."""
        for table in tables_of(self).values():
            table.initialise(generator)
        others: list[Any] = [module for module in self.modules() if hasattr(module, "reset_parameters")]
        if others:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(int(torch.randint(1 << 62, (), generator=generator)))
                for module in others:
                    module.reset_parameters()
