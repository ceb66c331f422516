"""Typed tables: a parameter that knows its axis, its shape, its initial values and how it grows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from knowwhen import chunks
from knowwhen.distributed import collectives
from knowwhen.distributed.shard import Shard, current
from knowwhen.models.algebra import as_complex, lookup
from knowwhen.models.sizes import Sizes

DRAWN = 1 << 16  # numbers, sixteen times: initial values that are drawn at once where rows are split


class Axis(StrEnum):
    """What a table has one row for."""

    ENTITY = "entity"
    PREDICATE = "predicate"  # and one for each inverse predicate
    TIME = "time"  # and one for facts without time, where they own one
    NONE = "none"  # nothing: the table is one value, such as a core tensor


Initial = Callable[[Tensor, torch.Generator], object]
"""Fills a tensor in place."""


def normal(scale: float = 1e-2) -> Initial:
    """N(0, 1) times `scale`; 1e-2 is what the paper's experiments use."""
    return lambda table, generator: table.copy_(torch.randn(table.shape, generator=generator) * scale)


def uniform(bound: float) -> Initial:
    return lambda table, generator: table.copy_((torch.rand(table.shape, generator=generator) * 2 - 1) * bound)


@dataclass(frozen=True)
class Xavier:
    """Uniform, with the variance 2 / (rows + columns) of the table as a matrix."""

    rows: int = 0  # of the whole table, where a part of it is drawn

    def __call__(self, table: Tensor, generator: torch.Generator) -> None:
        uniform(math.sqrt(6 / ((self.rows or table.shape[0]) + table.shape[-1])))(table, generator)


def xavier() -> Initial:
    """Glorot and Bengio 2010."""
    return Xavier()


def around(value: float, scale: float = 1e-2) -> Initial:
    """N(value, scale²)."""
    return lambda table, generator: table.copy_(value + torch.randn(table.shape, generator=generator) * scale)


def constant(value: float) -> Initial:
    return lambda table, generator: table.fill_(value)


class Table(nn.Module):
    """Rows for everything on an axis; `table(ids)` looks rows up, complex ones as complex numbers.

    Parameters are stored real, (n, 2r) for r complex numbers, so that every optimizer works. When entities are added,
    the rows of `placed` tables are inferred from facts (see `growing.py`), those of others are zero. A new timestamp
    takes the row of the one before.
    """

    weight: nn.Parameter
    if TYPE_CHECKING:

        def __call__(self, ids: Tensor | None = None) -> Tensor: ...

    def __init__(
        self,
        axis: Axis,
        *shape: int,  # of a row; of the whole where the axis is none
        is_complex: bool = False,
        initial: Initial | None = None,
        placed: bool = True,
    ) -> None:
        super().__init__()
        self.axis, self.is_complex, self.placed = axis, is_complex, placed
        self.shape = (*shape[:-1], 2 * shape[-1]) if is_complex else shape
        self.initial = initial or normal()
        self.on_axis = 0  # rows of the axis itself, without that of undated facts
        self.rows = 0  # of all processes
        self.shard: Shard | None = None  # where other processes hold the other rows

    def allocate(self, sizes: Sizes) -> Table:
        """Makes room for everything there is; returns the table."""
        self.on_axis, self.rows = {
            Axis.ENTITY: (sizes.entities,) * 2,
            Axis.PREDICATE: (sizes.predicates, 2 * sizes.predicates),
            Axis.TIME: (sizes.timestamps, sizes.timestamps + sizes.undated_row),
            Axis.NONE: (0, 0),
        }[self.axis]
        rows = self.rows
        if self.axis is Axis.ENTITY and (shard := current()) is not None:
            shard.check(rows)
            self.shard, rows = shard, shard.count(rows)
        shape = self.shape if self.axis is Axis.NONE else (rows, *self.shape)
        self.weight = nn.Parameter(torch.empty(shape))
        return self

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draws all rows; where others hold some, these are drawn as well and dropped, so that ours are the same."""
        if self.shard is None:
            self.initial(self.weight, generator)
            return
        initial = replace(self.initial, rows=self.rows) if isinstance(self.initial, Xavier) else self.initial
        # A multiple of 16 numbers, which is what torch draws at once.
        for part in chunks.slices(self.rows, max(1, DRAWN // max(1, math.prod(self.shape))) * 16):
            drawn = torch.empty(part.stop - part.start, *self.shape)
            initial(drawn, generator)
            ids = torch.arange(part.start, part.stop)
            own = self.shard.own(ids)
            self.weight[self.shard.places(ids[own])] = drawn[own].to(self.weight)

    def forward(self, ids: Tensor | None = None) -> Tensor:  # (…) -> (…, *shape)
        """The rows of ids, or all of them."""
        if ids is None:
            return self._view(self.weight)
        shared = _shared.get()
        if shared is None:
            return self._view(self._rows(ids))
        found = shared.get((self, id(ids)))
        if found is None:
            # The ids are kept beside the rows: no other tensor can take their place in memory, and so their id.
            found = shared[self, id(ids)] = (ids, self._view(self._rows(ids)))
        return found[1]

    def _rows(self, ids: Tensor) -> Tensor:
        flat = rows_of(self.weight, ids.reshape(-1), self.shard)
        return flat if ids.dim() == 1 else flat.view(*ids.shape, *self.shape)

    def _view(self, rows: Tensor) -> Tensor:
        return as_complex(rows) if self.is_complex else rows

    def along(self) -> Tensor:  # (n, *shape)
        """The rows of the axis in order: without the undated row, and without inverse predicates."""
        return self._view(self.weight[: self.on_axis])

    def looked_up(self, ids: Tensor) -> Tensor | None:
        """The rows that were looked up for ids in this step; None where they were not."""
        found = (_shared.get() or {}).get((self, id(ids)))
        return None if found is None else found[1]


def rows_of(table: Tensor, ids: Tensor, shard: Shard | None) -> Tensor:  # (n, d), (b,) -> (b, d)
    """`lookup`, also of rows that other processes hold."""
    if shard is None:
        return lookup(table, ids)
    own = ids.index_select(0, shard.own(ids))
    return collectives.common(lookup(table, shard.places(own)), ids, shard)


def complex_rows(axis: Axis, rank: int) -> Table:
    """A table of `rank` complex numbers a row."""
    return Table(axis, rank, is_complex=True)


def real_rows(axis: Axis, *shape: int, initial: Initial | None = None) -> Table:
    return Table(axis, *shape, initial=initial)


def tables_of(module: nn.Module) -> dict[str, Table]:
    """All tables of a model, by name."""
    return {name: table for name, table in module.named_modules() if isinstance(table, Table)}


_shared: ContextVar[dict[tuple[Table, int], tuple[Tensor, Tensor]] | None] = ContextVar("_shared", default=None)


@contextmanager
def shared_lookups() -> Iterator[None]:
    """Inside, each table looks the rows of one tensor of ids up once: loss and penalties of a step use the same.

    What is inside another shares nothing with it, so that it can be made again when the other is over.
    """
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)
