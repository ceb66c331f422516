"""TeAST: predicates on a spiral along time."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from knowwhen.models.base import Decomposition, Factor, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.tables import Axis, Table, complex_rows, real_rows


@register
class TeAST(Decomposition):
    """An Archimedean spiral (Li et al. 2023): TComplEx, and a part of the relation that is time's alone.

    X[s, p, o, t] = Re⟨u_s, π v_p ⊙ w_t + (1 + i) sin|φ_t|, ū_o⟩    u: entity, v: predicate, w, φ: timestamp
    """

    name = "teast"
    formula = "Re⟨u_s, π v_p ⊙ w_t + (1 + i) sin abs(φ_t), ū_o⟩"

    u: Table
    v: Table
    w: Table
    phi: Table

    @classmethod
    def tables(cls, o: RankOptions) -> dict[str, Table]:
        axes = {"u": Axis.ENTITY, "v": Axis.PREDICATE, "w": Axis.TIME}
        found = {name: complex_rows(axis, o.rank) for name, axis in axes.items()}
        return {**found, "phi": real_rows(Axis.TIME, o.rank)}

    def _relation(self, p: Tensor, t: Tensor) -> Tensor:  # (…, r)
        return math.pi * self.v(p) * self.w(t) + (1 + 1j) * torch.sin(self.phi(t).abs())

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self.u(s) * self._relation(p, t) * self.u(o).conj()).sum(-1).real

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self.u(s) * self._relation(p, t), self.u)

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:
        pair = self.u(s) * self.u(o).conj()
        spiral = Product((pair * (1 + 1j)).real, torch.sin(self.phi.along().abs()))
        # Conjugated as in TComplEx.
        return Product((math.pi * pair * self.v(p)).conj(), self.w.along()) + spiral

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        pair = self.u(s) * self.u(o).conj()
        spiral = (pair * (1 + 1j)).real * torch.sin(self.phi(t).abs())
        return Product((math.pi * pair * self.w(t)).conj(), self.v, spiral.sum(-1))

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [Factor(1, self.u(s)), Factor(1, self.u(o)), Factor(1, self._relation(p, t))]
