"""UnionComplEx: all products of subject, predicate and time that an object can be multiplied with."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from knowwhen.models.base import Decomposition, Factor, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.tables import Axis, Table, complex_rows


@register
class UnionComplEx(Decomposition):
    """The terms of TNTComplEx (Lacroix et al. 2020, eq. 6) and those of TIMEPLEX (Jain et al. 2020) together.

    X[s, p, o, t] = Re⟨u_s ⊙ (v'_p ⊙ w'_t + v_p + w_t) + z_p ⊙ w_t, ū_o⟩    u: entity, v', v, z: predicate, w', w: time

    With w and z zero it is TNTComplEx, with v' zero TIMEPLEX but for the term that is the same for all objects.
    """

    name = "unioncomplex"
    formula = "Re⟨u_s ⊙ (v'_p ⊙ w'_t + v_p + w_t) + z_p ⊙ w_t, ū_o⟩"
    modulated: ClassVar[bool] = True  # whether it has the term v'_p ⊙ w'_t

    u: Table
    v: Table
    z: Table
    w: Table
    v_: Table
    w_: Table

    @classmethod
    def tables(cls, o: RankOptions) -> dict[str, Table]:
        axes = {"u": Axis.ENTITY, "v": Axis.PREDICATE, "z": Axis.PREDICATE, "w": Axis.TIME}
        axes |= {"v_": Axis.PREDICATE, "w_": Axis.TIME} if cls.modulated else {}
        return {name: complex_rows(axis, o.rank) for name, axis in axes.items()}

    def _query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (b, r)
        relation = self.v(p) + self.w(t)
        if self.modulated:
            relation = relation + self.v_(p) * self.w_(t)
        return self.u(s) * relation + self.z(p) * self.w(t)

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self._query(s, p, t) * self.u(o).conj()).sum(-1).real

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self._query(s, p, t), self.u)

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:
        subject, object = self.u(s), self.u(o).conj()
        pair = subject * object
        # Conjugated as in TComplEx.
        constant = (pair * self.v(p)).sum(-1).real
        scores: Scores = Product(((subject + self.z(p)) * object).conj(), self.w.along(), constant)
        return scores + Product((pair * self.v_(p)).conj(), self.w_.along()) if self.modulated else scores

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        object, time = self.u(o).conj(), self.w(t)
        pair = self.u(s) * object
        scores: Scores = Product(pair.conj(), self.v, (pair * time).sum(-1).real)
        scores = scores + Product((object * time).conj(), self.z)
        return scores + Product((pair * self.w_(t)).conj(), self.v_) if self.modulated else scores

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """Those of the tensors (u, v' ⊙ w', ū), (u, v, ū), (u, w, ū) and (z ⊙ w, ū)."""
        found = [*self._entities(s, o), Factor(1, self.v(p)), Factor(1, self.w(t)), Factor(1, self.z(p) * self.w(t))]
        return [*found, Factor(1, self.v_(p) * self.w_(t))] if self.modulated else found

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        found = [*self._entities(s, o), Factor(1, self.v(p)), Factor(2, self.w(t)), Factor(1, self.z(p))]
        return [*found, Factor(1, self.v_(p)), Factor(1, self.w_(t))] if self.modulated else found

    def _entities(self, s: Tensor, o: Tensor) -> list[Factor]:
        return [Factor(2 + self.modulated, self.u(s)), Factor(3 + self.modulated, self.u(o))]


@register
class TimePlEx(UnionComplEx):
    """TIMEPLEX (Jain et al. 2020, eq. 3, the base model) without the term that is the same for all objects.

    X[s, p, o, t] = Re⟨u_s ⊙ (v_p + w_t) + z_p ⊙ w_t, ū_o⟩    w: time; weights of terms are left to the tables
    """

    name = "timeplex"
    formula = "Re⟨u_s ⊙ (v_p + w_t) + z_p ⊙ w_t, ū_o⟩"
    modulated = False
