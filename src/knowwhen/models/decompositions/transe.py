"""TransE: predicates are translations; TTransE: so are timestamps."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from knowwhen.models.decompositions.distances import DistanceModel, DistanceOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Distance, Scores
from knowwhen.models.tables import Axis, Table, real_rows


@register
class TransE(DistanceModel):
    """The same at all times (Bordes et al. 2013).

    X[s, p, o, t] = −‖u_s + v_p − u_o‖    u: entity, v: predicate
    """

    name = "transe"
    formula = "−‖u_s + v_p − u_o‖"
    temporal: ClassVar[bool] = False

    v: Table

    @classmethod
    def tables(cls, o: DistanceOptions) -> dict[str, Table]:
        return {"u": real_rows(Axis.ENTITY, o.rank), "v": real_rows(Axis.PREDICATE, o.rank)}

    def point(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        return self.u(s) + self.v(p)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        return Distance(self.u(o) - self.u(s), self.v, self.options.norm)


@register
class TTransE(TransE):
    """A translation for the timestamp too (Leblay and Chekol 2018, the vector-based variant).

    X[s, p, o, t] = −‖u_s + v_p + w_t − u_o‖    u: entity, v: predicate, w: timestamp
    """

    name = "ttranse"
    formula = "−‖u_s + v_p + w_t − u_o‖"
    temporal = True

    w: Table

    @classmethod
    def tables(cls, o: DistanceOptions) -> dict[str, Table]:
        return {**super().tables(o), "w": real_rows(Axis.TIME, o.rank)}

    def point(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        return self.u(s) + self.v(p) + self.w(t)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        return Distance(self.u(o) - self.u(s) - self.w(t), self.v, self.options.norm)

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:
        return Distance(self.u(o) - self.u(s) - self.v(p), self.w.along(), self.options.norm)
