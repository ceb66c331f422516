"""Scores of all entities, of which each process has the columns that are its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

import torch
from torch import Tensor

from knowwhen.distributed import collectives
from knowwhen.distributed.shard import Shard
from knowwhen.models.scores import Cells, Distance, Product, Scores, Sparse, Total


class Split(Scores):
    """X, (b, E): `here` has the columns of this process, in the order of its rows.

    Losses, ranks and best answers read `here` and tell each other a few numbers a row; whoever asks for cells or
    columns gets them from all processes, right but slowly.
    """

    def __init__(self, here: Scores, shard: Shard, columns: int) -> None:
        self.here, self.shard = here, shard
        self.rows, self.columns, self.depth = here.rows, columns, here.depth

    def at(self, columns: slice | Tensor) -> Tensor:
        ids = torch.arange(self.columns)[columns] if isinstance(columns, slice) else columns
        own = ids[self.shard.own(ids)]
        everything = len(own) == self.here.columns and isinstance(columns, slice)
        x = self.here.at(slice(0, len(own)) if everything else self.shard.places(own))  # (b, k)
        return collectives.common(x.mT, ids, self.shard).mT.contiguous()

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        own = self.shard.own(columns)
        return collectives.common(self.here.cells(rows[own], self.shard.places(columns[own])), columns, self.shard)


def is_split(scores: Scores, tables: Sequence[Tensor]) -> bool:
    """Whether scores are a product or a distance with one of the tables, so that each process can have its columns."""
    return isinstance(scores, Product | Distance) and any(scores.table is table for table in tables)


def own_columns(scores: Scores) -> Scores:
    """Scores with the rows of this process alone; the gradient of what they are made of is that of all processes."""
    if isinstance(scores, Product | Distance):
        here = copy(scores)  # of whatever kind of distance
        here.query = collectives.used(scores.query)
        if isinstance(here, Product) and here.constant is not None:
            here.constant = collectives.used(here.constant)
        return here
    assert isinstance(scores, Total), type(scores).__name__
    return Total(own_columns(scores.one), own_columns(scores.other))


def shared_cells(gather: Callable[[slice], Cells], count: int, shard: Shard) -> Cells:
    """What `gather` finds for its share of so many questions in each process, each cell delivered to its column."""
    part = shard.part(count)
    found = gather(part)
    pairs = torch.stack([found.rows + part.start, shard.places(found.columns)], dim=1).int()
    values, delivered = collectives.delivered(found.values, pairs, shard.owners(found.columns), shard)
    return Cells(delivered[:, 0].long(), delivered[:, 1].long(), values)


def split_scores(dense: Scores, cells: Cells | None, shard: Shard, entities: int) -> Split:
    """All that is dense, and what is added to cells of our own columns."""
    here = own_columns(dense)
    return Split(here if cells is None else Sparse(here, cells), shard, entities)
