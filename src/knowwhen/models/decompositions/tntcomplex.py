"""TNTComplEx: a temporal and a static ComplEx that share their entities."""

from __future__ import annotations

from torch import Tensor

from knowwhen.models.base import Decomposition, Factor, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.tables import Axis, Table, complex_rows


@register
class TNTComplEx(Decomposition):
    """A temporal plus a non-temporal decomposition (Lacroix et al. 2020, eq. 6).

    X[s, p, o, t] = Re⟨u_s, v'_p ⊙ w_t + v_p, ū_o⟩    u: entity, v': temporal, v: static, w: timestamp
    """

    name = "tntcomplex"
    formula = "Re⟨u_s, v'_p ⊙ w_t + v_p, ū_o⟩"

    u: Table
    v_: Table
    v: Table
    w: Table

    @classmethod
    def tables(cls, o: RankOptions) -> dict[str, Table]:
        axes = {"u": Axis.ENTITY, "v_": Axis.PREDICATE, "v": Axis.PREDICATE, "w": Axis.TIME}
        return {name: complex_rows(axis, o.rank) for name, axis in axes.items()}

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self.u(s) * (self.v_(p) * self.w(t) + self.v(p)) * self.u(o).conj()).sum(-1).real

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self.u(s) * (self.v_(p) * self.w(t) + self.v(p)), self.u)

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:
        pair = self.u(s) * self.u(o).conj()
        # Conjugated as in TComplEx.
        return Product((pair * self.v_(p)).conj(), self.w.along(), (pair * self.v(p)).sum(-1).real)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        pair = self.u(s) * self.u(o).conj()
        return Product((pair * self.w(t)).conj(), self.v_) + Product(pair.conj(), self.v)

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [*self._entities(s, o), Factor(1, self.v_(p) * self.w(t)), Factor(1, self.v(p))]

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [*self._entities(s, o), Factor(1, self.v_(p)), Factor(1, self.w(t)), Factor(1, self.v(p))]

    def _entities(self, s: Tensor, o: Tensor) -> list[Factor]:
        return [Factor(2, self.u(s)), Factor(2, self.u(o))]  # once in each of the two tensors
