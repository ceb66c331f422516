"""What facts say about the object itself: the form that pair and predicate history share."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from knowwhen.models.evidence.base import EvidenceTerm, Reason, add_up, arrays
from knowwhen.models.evidence.kernels import Entries
from knowwhen.models.scores import Cells
from knowwhen.models.sizes import Sizes

INITIAL_SHARE = -3.0


class HistoryTerm(EvidenceTerm):
    """H[s, p, o, t] = a_p log(1 + W_o / (e_p + c_p Σ_x W_x))    W_o: the weight of all facts with object o

    So a fact counts less where there are many, and those who are in none are left a chance.
    """

    is_sparse: ClassVar[bool] = True

    def __init__(self, sizes: Sizes, dimension: int, is_complex: bool, options: Any = None) -> None:
        super().__init__(sizes, dimension, is_complex, options)
        self.strength, self.scale, self.share = (  # a, log e, log c
            nn.Parameter(torch.empty(2 * sizes.predicates)) for _ in range(3)
        )

    def initialise(self, generator: torch.Generator) -> None:
        """A score begins as the logarithm of a count, or of a share where the counts are high."""
        super().initialise(generator)
        with torch.no_grad():
            self.strength.fill_(1)
            self.scale.fill_(0)
            self.share.fill_(INITIAL_SHARE)

    def objects(self, s: Tensor, p: Tensor, t: Tensor, rows: Tensor, asked: Tensor | None = None) -> Cells:
        """H[s, p, :, t] where it is not zero."""
        found = []
        for part in self._parts(s, p, t):
            cells = self._part_cells(s[part], p[part], t[part], None if asked is None else asked[part])
            found.append((cells.rows + part.start, cells.columns, cells.values))
        return Cells(*(torch.cat(columns) for columns in zip(*found, strict=True)))

    def _part_cells(self, s: Tensor, p: Tensor, t: Tensor, asked: Tensor | None) -> Cells:
        s_, p_, t_ = arrays(s, p, t)
        entries = self._entries(s_, p_, t_, asked)
        cell, cell_row, cell_object = self._cells(entries, self._owner(s_, p_))
        weights = self._weights(entries, p)
        rows, objects = (torch.from_numpy(ids).to(p.device) for ids in (cell_row, cell_object))
        sums = add_up(weights, cell, len(cell_row))
        total = sums.new_zeros(len(s)).index_add(0, rows, sums).index_select(0, rows)
        return Cells(rows, objects, self._value(sums, total, p.index_select(0, rows)))

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor, rows: Tensor) -> Tensor:
        return torch.cat([self._part_score(*(ids[part] for ids in (s, p, o, t))) for part in self._parts(s, p, t)])

    def _part_score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        entries, weights, own = self._weighted(s, p, o, t)
        return self._value(add_up(weights * own, entries.row, len(s)), add_up(weights, entries.row, len(s)), p)

    @torch.no_grad()
    def reasons(self, s: int, p: int, o: int, t: int, rows: Tensor) -> list[Reason]:
        query = [torch.tensor([i], device=self.strength.device) for i in (s, p, o, t)]
        entries, weights, own = self._weighted(query[0], query[1], query[2], query[3])
        total, weights = weights.double().sum(), weights.double() * own
        if not weights.sum() > 0:  # nothing but what is asked for
            return []
        score = self._value(weights.sum()[None], total[None], query[1])
        return self._reasons(entries, weights / weights.sum() * score)

    def _weighted(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> tuple[Entries, Tensor, Tensor]:
        """All facts near times, their weights, and which are about the objects."""
        s_, p_, o_, t_ = arrays(s, p, o, t)
        entries = self._entries(s_, p_, t_)
        own = torch.from_numpy(self.history.object[entries.place] == o_[entries.row])
        return entries, self._weights(entries, p), own.to(p.device)

    def _value(self, sums: Tensor, total: Tensor, p: Tensor) -> Tensor:
        """a_p log(1 + sums / (e_p + c_p total))."""
        scale, share, strength = (x.index_select(0, p) for x in (self.scale.exp(), self.share.exp(), self.strength))
        return strength * torch.log1p(sums / (scale + share * total))
