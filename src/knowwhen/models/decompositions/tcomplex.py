"""TComplEx: ComplEx of an order-4 tensor."""

from __future__ import annotations

from torch import Tensor

from knowwhen.models.base import Decomposition, Factor, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.tables import Axis, Table, complex_rows


@register
class TComplEx(Decomposition):
    """Timestamps modulate predicates (Lacroix et al. 2020, eq. 4).

    X[s, p, o, t] = Re⟨u_s, v_p ⊙ w_t, ū_o⟩    u: entity, v: predicate, w: timestamp
    """

    name = "tcomplex"
    formula = "Re⟨u_s, v_p ⊙ w_t, ū_o⟩"

    u: Table
    v: Table
    w: Table

    @classmethod
    def tables(cls, o: RankOptions) -> dict[str, Table]:
        axes = {"u": Axis.ENTITY, "v": Axis.PREDICATE, "w": Axis.TIME}
        return {name: complex_rows(axis, o.rank) for name, axis in axes.items()}

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self.u(s) * self.v(p) * self.w(t) * self.u(o).conj()).sum(-1).real

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self.u(s) * (self.v(p) * self.w(t)), self.u)

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:
        # w carries no conjugate, and Re⟨c, w⟩ = Re⟨c̄, w̄⟩: so conjugate c instead.
        return Product((self.u(s) * self.u(o).conj() * self.v(p)).conj(), self.w.along())

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        return Product((self.u(s) * self.u(o).conj() * self.w(t)).conj(), self.v)

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [Factor(1, self.u(s)), Factor(1, self.u(o)), Factor(1, self.v(p) * self.w(t))]
