"""Learned numbers by class, for each predicate that may be asked: its own, plus one shared by all."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from knowwhen.facts.table import Ints

YEARS = (1, 2, 3, 5, 10, 20)  # lags of knowledge bases, where time is mostly by year


class ByClass(nn.Module):
    """K[p, c] = own[p, c] + shared[c]: where a predicate has few facts, it is what all predicates have learned."""

    def __init__(self, predicates: int, classes: int) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.zeros(predicates, classes))
        self.shared = nn.Parameter(torch.zeros(classes))

    def initialise(self, shared: Tensor | float = 0.0) -> None:
        with torch.no_grad():
            self.own.zero_()
            self.shared.copy_(torch.as_tensor(shared).expand_as(self.shared))

    def table(self) -> Tensor:  # (R, classes)
        return self.own + self.shared


def looked_up(table: Tensor, p: Ints, c: Ints) -> Tensor:  # (R, classes), (n,), (n,) -> (n,)
    """table[p, c]."""
    return taken(table, p * table.shape[1] + c)


def taken(table: Tensor, cells: Ints) -> Tensor:  # (R, classes), (n,) -> (n,)
    """Numbers of a table by their place in it, row after row."""
    return table.flatten().index_select(0, torch.from_numpy(cells).to(table.device))
