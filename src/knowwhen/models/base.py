"""The base class of models: a model must define `score`; slower, correct defaults for the rest follow from it."""

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
    """The options of a model or evidence term; each field has a default, a range and a description."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RankOptions(Options):
    rank: int = Field(64, ge=1, description="Size of an embedding; counted in complex numbers if the model is complex.")


class Factor(NamedTuple):
    """A vector to penalise, and its weight in the penalty."""

    weight: int
    rows: Tensor  # (b, …), complex or real


class Decomposition(nn.Module, ABC):
    """A model of the tensor X[s, p, o, t]: s and o are entities, p a predicate or its inverse p + P, t a timestamp."""

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
        """The tables of parameters by name, for the given options."""

    @abstractmethod
    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        """X[s, p, o, t]; the ids broadcast."""

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
        """What Ω³ penalises: the factors of the order-3 tensor in which predicate and time share a mode."""
        return self.separate_factors(s, p, o, t)

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """What Δ^p penalises: every factor separately. By default all rows that occur in the facts."""
        ids = {Axis.ENTITY: (s, o), Axis.PREDICATE: (p,), Axis.TIME: (t,), Axis.NONE: ()}
        return [Factor(1, table(of)) for table in tables_of(self).values() for of in ids[table.axis]]

    def time_axes(self) -> list[Tensor]:  # (T, …) each
        """What Λ smooths: every table of timestamps, without the row for facts without a time."""
        return [table.along() for table in tables_of(self).values() if table.axis is Axis.TIME]

    def entity_rows(self) -> Tensor:  # (E, d), real
        """The embedding of each entity as an object: used for neighbours, exports and `context` evidence."""
        return self._entity_table().weight.flatten(1)

    @property
    def has_complex_rows(self) -> bool:
        """Whether `entity_rows` are complex."""
        return self._entity_table().is_complex

    def _entity_table(self) -> Table:
        found = next((table for table in tables_of(self).values() if table.axis is Axis.ENTITY), None)
        if found is None:
            raise BadRequest(f"{self.name} has no table of entities; define entity_rows")
        return found

    def recall(self, background: Background) -> None:
        """Receives the training facts and the calendar; most models need neither."""

    @contextmanager
    def step(self, s: Tensor, p: Tensor, o: Tensor) -> Iterator[None]:
        """A context for one training step on facts (s, p, o), in which each row is looked up once."""
        with shared_lookups():
            yield

    def initialise(self, generator: torch.Generator) -> None:
        """Draw initial values of all tables and other modules from the generator."""
        for table in tables_of(self).values():
            table.initialise(generator)
        others: list[Any] = [module for module in self.modules() if hasattr(module, "reset_parameters")]
        if others:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(int(torch.randint(1 << 62, (), generator=generator)))
                for module in others:
                    module.reset_parameters()
