"""TuckERTNT: an order-4 core tensor shared by all facts."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from knowwhen.models.base import Decomposition, Factor, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.tables import Axis, Table, normal, real_rows, uniform


class TuckERTNTOptions(RankOptions):
    predicate_rank: int = Field(16, ge=1, description="Size of a predicate embedding; rank is for entities.")
    time_rank: int = Field(16, ge=1, description="Size of a timestamp embedding.")


@register
class TuckERTNT(Decomposition):
    """Tucker's decomposition of an order-4 tensor, with and without time (Shao et al. 2022).

    X[s, p, o, t] = W ×₁ u_s ×₂ v'_p ×₃ u_o ×₄ w_t + W ×₁ u_s ×₂ v_p ×₃ u_o ×₄ 1    u: entity, v', v: predicate,
    w: timestamp, W: core, 1: the vector of ones
    """

    name = "tuckertnt"
    formula = "W ×₁ u_s ×₃ u_o (×₂ v'_p ×₄ w_t + ×₂ v_p ×₄ 1)"
    Options = TuckERTNTOptions

    u: Table
    v: Table
    v_: Table
    w: Table
    core: Table

    @classmethod
    def tables(cls, o: TuckERTNTOptions) -> dict[str, Table]:
        small, middle = normal(0.1), normal(0.3)  # scores of about one to begin with
        return {
            "u": real_rows(Axis.ENTITY, o.rank, initial=small),
            "v": real_rows(Axis.PREDICATE, o.predicate_rank, initial=middle),
            "v_": real_rows(Axis.PREDICATE, o.predicate_rank, initial=middle),
            "w": real_rows(Axis.TIME, o.time_rank, initial=middle),
            "core": real_rows(Axis.NONE, o.predicate_rank, o.time_rank, o.rank, o.rank, initial=uniform(1)),
        }

    def _slices(self, p: Tensor, t: Tensor) -> Tensor:  # (…, rank, rank)
        pair = self.v_(p)[..., None] * self.w(t)[..., None, :] + self.v(p)[..., None]  # (…, predicate_rank, time_rank)
        slices = pair.flatten(-2) @ self.core().flatten(0, 1).flatten(1)
        return slices.view(*slices.shape[:-1], self.options.rank, self.options.rank)

    def _query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (…, rank)
        return torch.einsum("...k,...kl->...l", self.u(s), self._slices(p, t))

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self._query(s, p, t) * self.u(o)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self._query(s, p, t), self.u)

    def _pair(self, s: Tensor, o: Tensor) -> Tensor:  # (n, predicate_rank, time_rank)
        return torch.einsum("nk,ijkl,nl->nij", self.u(s), self.core(), self.u(o))

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:
        pair = self._pair(s, o)
        constant = (pair.sum(-1) * self.v(p)).sum(-1)
        return Product(torch.einsum("nij,ni->nj", pair, self.v_(p)), self.w.along(), constant)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        pair = self._pair(s, o)
        return Product(torch.einsum("nij,nj->ni", pair, self.w(t)), self.v_) + Product(pair.sum(-1), self.v)

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [Factor(1, rows) for rows in (self.u(s), self.u(o), self.v(p), self.v_(p), self.w(t))]
