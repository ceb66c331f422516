"""TransD and STransE: predicates map entities before they translate."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from knowwhen.models.decompositions.distances import DistanceModel, DistanceOptions
from knowwhen.models.registry import register
from knowwhen.models.tables import Axis, Table, real_rows


@register
class TransD(DistanceModel):
    """The map is made of a vector of the predicate and one of the entity (Ji et al. 2015); the same at all times.

    X[s, p, o, t] = −‖M_p(s) + v_p − M_p(o)‖    M_p(e) = u_e + (a_eᵀu_e) z_p    u, a: entity, v, z: predicate

    Entities and predicates have one dimension here, so that the matrix z aᵀ + I is square.
    """

    name = "transd"
    formula = "−‖M_p(s) + v_p − M_p(o)‖, M_p(e) = u_e + (a_eᵀu_e) z_p"
    temporal: ClassVar[bool] = False
    key = "p"

    a: Table
    v: Table
    z: Table

    @classmethod
    def tables(cls, o: DistanceOptions) -> dict[str, Table]:
        axes = {"u": Axis.ENTITY, "a": Axis.ENTITY, "v": Axis.PREDICATE, "z": Axis.PREDICATE}
        return {name: real_rows(axis, o.rank) for name, axis in axes.items()}

    def point(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        return self.place(s, p) + self.v(p)

    def place(self, o: Tensor, key: Tensor) -> Tensor:
        return self.u(o) + (self.a(o) * self.u(o)).sum(-1, keepdim=True) * self.z(key)


def near_identity(table: Tensor, generator: torch.Generator) -> None:
    """Square matrices that leave vectors almost as they are."""
    table.copy_(torch.eye(table.shape[-1]) + torch.randn(table.shape, generator=generator) * 1e-2)


@register
class STransE(DistanceModel):
    """Two matrices a predicate, one for subjects and one for objects (Nguyen et al. 2016); the same at all times.

    X[s, p, o, t] = −‖A_p u_s + v_p − B_p u_o‖    u: entity, v: predicate, A, B: its matrices
    """

    name = "stranse"
    formula = "−‖A_p u_s + v_p − B_p u_o‖"
    temporal: ClassVar[bool] = False
    key = "p"

    v: Table
    A: Table
    B: Table

    @classmethod
    def tables(cls, o: DistanceOptions) -> dict[str, Table]:
        found = {"u": real_rows(Axis.ENTITY, o.rank), "v": real_rows(Axis.PREDICATE, o.rank)}
        return found | {name: real_rows(Axis.PREDICATE, o.rank, o.rank, initial=near_identity) for name in ("A", "B")}

    def point(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        return torch.einsum("...ij,...j->...i", self.A(p), self.u(s)) + self.v(p)

    def place(self, o: Tensor, key: Tensor) -> Tensor:
        return torch.einsum("...ij,...j->...i", self.B(key), self.u(o))
