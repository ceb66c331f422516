"""TuckER: a core tensor shared by all facts."""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from knowwhen.models.base import Decomposition, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.sizes import Sizes
from knowwhen.models.tables import Axis, Table, real_rows, uniform, xavier

DROPOUT = "Dropout on "


class TuckEROptions(RankOptions):
    predicate_rank: int = Field(32, ge=1, description="Size of a predicate embedding; rank is for entities.")
    input_dropout: float = Field(0.3, ge=0, lt=1, description=DROPOUT + "subjects.")
    core_dropout: float = Field(0.4, ge=0, lt=1, description=DROPOUT + "the predicate's slice of the core.")
    output_dropout: float = Field(0.5, ge=0, lt=1, description=DROPOUT + "the query vector.")


class Norm(nn.BatchNorm1d):
    """Batch normalisation that takes a batch of one: by the running statistics, as in evaluation."""

    def forward(self, x: Tensor) -> Tensor:  # (b, d)
        if len(x) > 1 or not self.training:
            return super().forward(x)
        return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)

    def in_evaluation(self) -> tuple[Tensor, Tensor]:  # (d,), (d,)
        """Scale and shift."""
        assert self.running_mean is not None and self.running_var is not None
        scale = self.weight / (self.running_var + self.eps).sqrt()
        return scale, self.bias - self.running_mean * scale


@register
class TuckER(Decomposition):
    """The same at all times (Balažević et al. 2019): W ×₁ u_s ×₂ v_p ×₃ u_o, with batch normalisation and dropout.

    X[s, p, o, t] = ⟨N₁(N₀(u_s) W_p), u_o⟩    W_p = Σ_j v_pj W_j    u: entity, v: predicate, W: core, N: normalisation
    """

    name = "tucker"
    formula = "W ×₁ u_s ×₂ v_p ×₃ u_o"
    temporal: ClassVar[bool] = False
    Options = TuckEROptions

    u: Table
    v: Table
    core: Table

    def __init__(self, sizes: Sizes, options: TuckEROptions | None = None) -> None:
        super().__init__(sizes, options)
        o = self.options
        self.norm0, self.norm1 = Norm(o.rank), Norm(o.rank)
        self.drop0, self.drop1, self.drop2 = map(nn.Dropout, (o.input_dropout, o.core_dropout, o.output_dropout))

    @classmethod
    def tables(cls, o: TuckEROptions) -> dict[str, Table]:
        return {
            "u": real_rows(Axis.ENTITY, o.rank, initial=xavier()),
            "v": real_rows(Axis.PREDICATE, o.predicate_rank, initial=xavier()),
            "core": real_rows(Axis.NONE, o.predicate_rank, o.rank, o.rank, initial=uniform(1)),
        }

    def _subject(self, s: Tensor) -> Tensor:  # (b, rank)
        found: Tensor = self.drop0(self.norm0(self.u(s)))
        return found

    def _query(self, s: Tensor, p: Tensor) -> Tensor:  # (b,), (b,) -> (b, rank)
        slices = self.drop1(torch.einsum("bj,jkl->bkl", self.v(p), self.core()))
        found: Tensor = self.drop2(self.norm1(torch.einsum("bk,bkl->bl", self._subject(s), slices)))
        return found

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        s, p = torch.broadcast_tensors(s, p)  # type: ignore[no-untyped-call]
        query = self._query(s.reshape(-1), p.reshape(-1)).view(*s.shape, -1)
        return (query * self.u(o)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self._query(s, p), self.u)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        """In evaluation the second normalisation is a scale and a shift, which the object can take."""
        scale, shift = self.norm1.in_evaluation()
        object = self.u(o)
        query = torch.einsum("bk,jkl,bl->bj", self._subject(s), self.core(), scale * object)
        return Product(query, self.v, object @ shift)
