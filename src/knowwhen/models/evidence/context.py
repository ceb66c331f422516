"""Evidence from what the subject does with others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from knowwhen.distributed import collectives
from knowwhen.models.algebra import as_complex, as_real, keeps_rows, lookup
from knowwhen.models.evidence.base import EvidenceOptions, EvidenceTerm, Reason, add_up, arrays
from knowwhen.models.registry import register_evidence
from knowwhen.models.scores import Cells, Product
from knowwhen.models.sizes import Sizes
from knowwhen.models.splitting import shared_cells
from knowwhen.models.tables import rows_of

SCALE = 1e-2  # of initial values, as embeddings have it


class ContextOptions(EvidenceOptions):
    width: int = Field(8, ge=1, description="Rank of the kernel over lags and predicates.")
    window: int = Field(7, ge=0, description="Ignore facts further away, in units of the time axis; 0: use all.")


@register_evidence
class Context(EvidenceTerm):
    """What the subject has to do with others near a time: it turns the query towards those who are near them.

    C[s, p, o, t] = ⟨m_p ⊙ c, ū_o⟩    c = Σ weight · u_x / (1 + Σ weight) over the facts (s, p', x, t')

    u are the decomposition's rows of entities; products are complex where these are.
    """

    name = "context"
    is_sparse: ClassVar[bool] = False
    shifts: ClassVar[bool] = True
    Options = ContextOptions

    def __init__(self, sizes: Sizes, dimension: int, is_complex: bool, options: Any = None) -> None:
        super().__init__(sizes, dimension, is_complex, options)
        self.turned = nn.Parameter(torch.empty(2 * sizes.predicates, dimension))  # m

    def initialise(self, generator: torch.Generator) -> None:
        super().initialise(generator)
        with torch.no_grad():
            self.turned.copy_(torch.randn(self.turned.shape, generator=generator) * SCALE)

    def objects(self, s: Tensor, p: Tensor, t: Tensor, rows: Tensor, asked: Tensor | None = None) -> Product:
        """m_p ⊙ c of each question, times the rows of all objects."""
        return Product(self._shift(s, p, t, rows, asked), rows)

    def _shift(self, s: Tensor, p: Tensor, t: Tensor, rows: Tensor, asked: Tensor | None = None) -> Tensor:  # (b, d)
        def shares(part: slice) -> Cells:
            return self._shares(s[part], p[part], t[part], None if asked is None else asked[part])

        if self.shard is None:
            found = [self._contexts(shares(part), len(s[part]), rows) for part in self._parts(s, p, t)]
            return self._turn(p, torch.cat(found))
        shared = shared_cells(shares, len(s), self.shard)
        order = shared.rows.argsort(stable=True)
        here = self._contexts(Cells(*(column[order] for column in shared)), len(s), rows)
        return self._turn(p, collectives.summed(here))

    def _shares(self, s: Tensor, p: Tensor, t: Tensor, asked: Tensor | None) -> Cells:
        """Of each x, its share of c; in order of rows."""
        s_, p_, t_ = arrays(s, p, t)
        entries = self._entries(s_, p_, t_, asked)
        cell, cell_row, cell_object = self._cells(entries, self._owner(s_, p_))
        sums = add_up(self._weights(entries, p), cell, len(cell_row))
        row, objects = (torch.from_numpy(ids).to(p.device) for ids in (cell_row, cell_object))
        some = sums.detach().nonzero()[:, 0]  # most partners are not near
        sums, row, objects = (column.index_select(0, some) for column in (sums, row, objects))
        total = sums.new_zeros(len(s)).index_add(0, row, sums)
        return Cells(row, objects, sums / (1 + total).index_select(0, row))

    def _contexts(self, shares: Cells, count: int, rows: Tensor) -> Tensor:  # (count, d)
        """c of each row."""
        row, objects, values = shares
        # context[i] = Σ shares · rows[objects] over row i, in a fifth of the time of index_add
        first = torch.searchsorted(row, torch.arange(count, device=row.device))
        if keeps_rows(rows):  # its own gradient would be as large as the table
            different, objects = torch.unique(objects, return_inverse=True)
            rows = lookup(rows, different)
        return embedding_bag(objects, rows, first, mode="sum", per_sample_weights=values)

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor, rows: Tensor) -> Tensor:
        return (self._shift(s, p, t, rows) * rows_of(rows, o, self.shard)).sum(-1)

    @torch.no_grad()
    def reasons(self, s: int, p: int, o: int, t: int, rows: Tensor) -> list[Reason]:
        query = [torch.tensor([i], device=self.turned.device) for i in (s, p, t)]
        s_, p_, t_ = arrays(*query)
        entries = self._entries(s_, p_, t_)
        weights = self._weights(entries, query[1])
        met = torch.from_numpy(self.history.object[entries.place]).to(weights.device)
        turned = self._turn(query[1].expand(len(met)), rows[met])  # (n, d)
        return self._reasons(entries, weights / (1 + weights.sum()) * (turned @ rows[o]))

    def factors(self, p: Tensor) -> list[Tensor]:
        rows = lookup(self.turned, p)
        return [as_complex(rows) if self.is_complex else rows]

    def gathering(self) -> Iterator[nn.Parameter]:
        parameters: Iterator[nn.Parameter] = self.kernel.parameters()
        return parameters

    def _turn(self, p: Tensor, rows: Tensor) -> Tensor:  # (b, d)
        """m_p ⊙ rows."""
        turned = lookup(self.turned, p)
        return as_real(as_complex(turned) * as_complex(rows)) if self.is_complex else turned * rows
