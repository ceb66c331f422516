"""Which rows of the entity tables a process holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from torch import Tensor

from knowwhen.errors import BadRequest


@dataclass(frozen=True)
class Shard:
    """The part of one process among several: every `size`-th row, from row `rank` on.

    Dealt out one by one, frequent entities, which often have neighbouring numbers, do not end up in one process.
    """

    rank: int
    size: int

    def count(self, rows: int) -> int:
        """How many of so many rows are here."""
        return len(range(self.rank, rows, self.size))

    def check(self, entities: int) -> None:
        if entities < self.size:
            raise BadRequest(
                f"{self.size} processes cannot share {entities} entities; "
                "start fewer (--workers, or --nproc-per-node of torchrun)"
            )

    def owners(self, ids: Tensor) -> Tensor:
        """The process that holds each row."""
        return ids % self.size

    def own(self, ids: Tensor) -> Tensor:
        """Where in `ids` the rows are that are here."""
        return (self.owners(ids) == self.rank).nonzero()[:, 0]

    def places(self, ids: Tensor) -> Tensor:
        """Where the rows are in the table of the process that holds them."""
        return ids // self.size

    def ids(self, places: Tensor) -> Tensor:
        """The rows at places of our table."""
        return places * self.size + self.rank

    def here(self, ids: Tensor) -> Tensor:
        """Where rows are in our table; -1 for those that are elsewhere."""
        return torch.where(self.owners(ids) == self.rank, self.places(ids), -1)

    def part(self, count: int) -> slice:
        """Our share of so many questions, all shares of about one length."""
        return slice(self.rank * count // self.size, (self.rank + 1) * count // self.size)


_current: ContextVar[Shard | None] = ContextVar("_current", default=None)


def current() -> Shard | None:
    """The part of this process in the models that it builds; None: it holds all rows."""
    return _current.get()


@contextmanager
def splitting(shard: Shard | None) -> Iterator[None]:
    """Inside, models are built with the rows of a part, or with all of them."""
    token = _current.set(shard)
    try:
        yield
    finally:
        _current.reset(token)


def is_first() -> bool:
    """Whether this process speaks and writes for all: the only one, or the first of several."""
    shard = current()
    return shard is None or shard.rank == 0
