"""TransH and HyTE: translations on a hyperplane, of the predicate or of the time."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor
from torch.nn.functional import normalize

from knowwhen.models.decompositions.distances import DistanceModel, DistanceOptions
from knowwhen.models.registry import register
from knowwhen.models.tables import Axis, Table, normal, real_rows


def projected(rows: Tensor, normals: Tensor) -> Tensor:  # (…, d), (…, d) -> (…, d)
    """x − (nᵀx) n: the rows on the hyperplanes with unit normals n."""
    return rows - (rows * normals).sum(-1, keepdim=True) * normals


@register
class TransH(DistanceModel):
    """Each predicate has a hyperplane, on which it translates (Wang et al. 2014); the same at all times.

    X[s, p, o, t] = −‖P_p(u_s) + v_p − P_p(u_o)‖    P_p(x) = x − (n_pᵀx) n_p, ‖n_p‖ = 1    u: entity, v, n: predicate
    """

    name = "transh"
    formula = "−‖P_p(u_s) + v_p − P_p(u_o)‖, P_p: onto a hyperplane"
    temporal: ClassVar[bool] = False
    key = "p"

    v: Table
    n: Table

    @classmethod
    def tables(cls, o: DistanceOptions) -> dict[str, Table]:
        found = {"u": real_rows(Axis.ENTITY, o.rank), "v": real_rows(Axis.PREDICATE, o.rank)}
        return {**found, "n": real_rows(Axis.PREDICATE, o.rank, initial=normal(1))}

    def point(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        return self.place(s, p) + self.v(p)

    def place(self, o: Tensor, key: Tensor) -> Tensor:
        return projected(self.u(o), normalize(self.n(key), dim=-1))


@register
class HyTE(DistanceModel):
    """Each timestamp has a hyperplane, onto which entities and predicates are projected (Dasgupta et al. 2018).

    X[s, p, o, t] = −‖P_t(u_s) + P_t(v_p) − P_t(u_o)‖    P_t(x) = x − (w_tᵀx) w_t, ‖w_t‖ = 1    w: timestamp
    """

    name = "hyte"
    formula = "−‖P_t(u_s + v_p) − P_t(u_o)‖, P_t: onto a hyperplane"
    key = "t"

    v: Table
    w: Table

    @classmethod
    def tables(cls, o: DistanceOptions) -> dict[str, Table]:
        found = {"u": real_rows(Axis.ENTITY, o.rank), "v": real_rows(Axis.PREDICATE, o.rank)}
        return {**found, "w": real_rows(Axis.TIME, o.rank, initial=normal(1))}

    def point(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        return projected(self.u(s) + self.v(p), normalize(self.w(t), dim=-1))

    def place(self, o: Tensor, key: Tensor) -> Tensor:
        return projected(self.u(o), normalize(self.w(key), dim=-1))
