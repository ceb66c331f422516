"""How much a fact weighs for a query, learned: by its predicate, the asked one, and the time between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from knowwhen.facts.index.history import History
from knowwhen.facts.index.ranges import spread
from knowwhen.facts.table import Bools, Ints
from knowwhen.models.sizes import Sizes

INITIAL_SCALE = 0.1
TABLE = 32 << 20  # weights that are made at once, of all pairs of what occurs and what is asked


class Entries(NamedTuple):
    """Facts that are looked at for the queries of a batch, in order of these: fact `place` for query `row`."""

    row: Ints
    place: Ints
    lag: Ints
    left_out: Bools  # the fact may be what is asked for, so it says nothing; (n,), or (n, 2P) for every predicate


class Kernel(nn.Module, ABC):
    """Weights of facts, 0 where they may be what is asked for."""

    @abstractmethod
    def initialise(self, generator: torch.Generator) -> None:
        """Every fact weighs about 1 at first."""

    @abstractmethod
    def weights(self, history: History, entries: Entries, p: Tensor) -> Tensor:  # (n,)
        """The weight of each entry for the predicate p of its row."""


class CrossKernel(Kernel):
    """weight of a fact under p' for a query under p = exp⟨U[lag, p'], V[p]⟩"""

    def __init__(self, sizes: Sizes, lags: int, width: int) -> None:
        super().__init__()
        self.R = 2 * sizes.predicates
        self.lagged = nn.Parameter(torch.empty(lags * self.R, width))  # U
        self.asked = nn.Parameter(torch.empty(self.R, width))  # V

    def initialise(self, generator: torch.Generator) -> None:
        with torch.no_grad():
            for table in (self.lagged, self.asked):
                table.copy_(torch.randn(table.shape, generator=generator) * INITIAL_SCALE)

    def weights(self, history: History, entries: Entries, p: Tensor) -> Tensor:
        known, device = self._known(history, entries), p.device
        different, which = torch.unique(p, return_inverse=True)
        occurs = np.bincount(known, minlength=len(self.lagged)) > 0
        some = np.flatnonzero(occurs)
        width = len(some) + 1  # the last is 0
        if len(different) * width <= TABLE:
            lagged = self.lagged.index_select(0, torch.from_numpy(some).to(device))
            table = (self.asked.index_select(0, different) @ lagged.mT).exp()  # (different, some)
            table = nn.functional.pad(table, (0, 1)).flatten()
            column = np.cumsum(occurs, dtype=np.int32) - 1
            first = (which.cpu().numpy() * width).astype(np.int32)
            cell = np.where(entries.left_out, np.int32(width - 1), column[known]) + spread(first, entries.row)
            return table.index_select(0, torch.from_numpy(cell).to(device))
        row = torch.from_numpy(entries.row).to(device)
        rows = self.lagged.index_select(0, torch.from_numpy(known).to(device)), self.asked.index_select(0, p[row])
        weights: Tensor = (rows[0] * rows[1]).sum(-1).exp()
        return weights.masked_fill(torch.from_numpy(entries.left_out).to(device), 0)

    def weights_of_all(self, history: History, entries: Entries) -> Tensor:  # (n, 2P)
        """The weight of each entry for every predicate."""
        known = torch.from_numpy(self._known(history, entries)).to(self.asked.device)
        weights = (self.lagged.index_select(0, known) @ self.asked.mT).exp()
        return weights.masked_fill(torch.from_numpy(entries.left_out).to(weights.device), 0)

    def _known(self, history: History, entries: Entries) -> Ints:
        """The rows of U."""
        return entries.lag * self.R + history.predicate[entries.place]


class LagKernel(Kernel):
    """weight of a fact for a query under the same predicate = exp K[p, lag]"""

    def __init__(self, sizes: Sizes, lags: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(2 * sizes.predicates, lags))  # K

    def initialise(self, generator: torch.Generator) -> None:
        with torch.no_grad():
            self.table.zero_()

    def weights(self, history: History, entries: Entries, p: Tensor) -> Tensor:
        cell = history.predicate[entries.place] * self.table.shape[1] + entries.lag
        weights = self.table.exp().flatten().index_select(0, torch.from_numpy(cell).to(p.device))
        return weights.masked_fill(torch.from_numpy(entries.left_out).to(p.device), 0)
