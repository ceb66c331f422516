"""ComplEx, the static decomposition over complex numbers."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from knowwhen.models.base import Decomposition, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.tables import Axis, Table, complex_rows


@register
class ComplEx(Decomposition):
    """The same at all times (Trouillon et al. 2016; Lacroix et al. 2018 with reciprocal predicates).

    X[s, p, o, t] = Re⟨u_s, v_p, ū_o⟩    u: entity, v: predicate
    """

    name = "complex"
    formula = "Re⟨u_s, v_p, ū_o⟩"
    temporal: ClassVar[bool] = False

    u: Table
    v: Table

    @classmethod
    def tables(cls, o: RankOptions) -> dict[str, Table]:
        return {"u": complex_rows(Axis.ENTITY, o.rank), "v": complex_rows(Axis.PREDICATE, o.rank)}

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self.u(s) * self.v(p) * self.u(o).conj()).sum(-1).real

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self.u(s) * self.v(p), self.u)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        # v carries no conjugate, and Re⟨c, v⟩ = Re⟨c̄, v̄⟩: so conjugate the pair instead.
        return Product((self.u(s) * self.u(o).conj()).conj(), self.v)
