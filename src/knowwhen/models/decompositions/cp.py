"""CP and DistMult, the static decompositions over real numbers."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from knowwhen.models.base import Decomposition, Factor, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.tables import Axis, Table, real_rows


@register
class CP(Decomposition):
    """The canonical decomposition: subjects and objects have tables of their own (Hitchcock 1927).

    X[s, p, o, t] = ⟨u_s, v_p, w_o⟩    u: subject, v: predicate, w: object
    """

    name = "cp"
    formula = "⟨u_s, v_p, w_o⟩"
    temporal: ClassVar[bool] = False

    u: Table
    v: Table
    w: Table

    @classmethod
    def tables(cls, o: RankOptions) -> dict[str, Table]:
        axes = {"u": Axis.ENTITY, "v": Axis.PREDICATE, "w": Axis.ENTITY}
        return {name: real_rows(axis, o.rank) for name, axis in axes.items()}

    @property
    def candidates(self) -> Table:
        return self.w

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self.u(s) * self.v(p) * self.candidates(o)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self.u(s) * self.v(p), self.candidates)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        return Product(self.u(s) * self.candidates(o), self.v)

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [Factor(1, self.u(s)), Factor(1, self.candidates(o)), Factor(1, self.v(p))]

    def entity_rows(self) -> Tensor:
        return self.candidates.weight


@register
class DistMult(CP):
    """CP with one table for subjects and objects, so that predicates are symmetric (Yang et al. 2015).

    X[s, p, o, t] = ⟨u_s, v_p, u_o⟩    u: entity, v: predicate
    """

    name = "distmult"
    formula = "⟨u_s, v_p, u_o⟩"

    @classmethod
    def tables(cls, o: RankOptions) -> dict[str, Table]:
        return {"u": real_rows(Axis.ENTITY, o.rank), "v": real_rows(Axis.PREDICATE, o.rank)}

    @property
    def candidates(self) -> Table:
        return self.u
