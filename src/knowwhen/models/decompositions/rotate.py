"""RotatE and TeRo: rotations of complex numbers, by the predicate or by the time."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from knowwhen.models.algebra import as_real, moduli
from knowwhen.models.base import Decomposition, Factor
from knowwhen.models.decompositions.distances import DistanceOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Distance, ModulusDistance, Scores
from knowwhen.models.tables import Axis, Table, complex_rows, real_rows, uniform


def unit(angles: Tensor) -> Tensor:
    """e^(i θ)."""
    return torch.polar(torch.ones_like(angles), angles)


class RotationModel(Decomposition):
    """X[s, p, o, t] = −‖point(s, p, t) − u_o‖ over complex numbers: L1 adds up moduli, L2 is Euclidean."""

    Options = DistanceOptions

    u: Table
    v: Table

    @abstractmethod
    def point(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (…, r)
        """Where the objects of a query are looked for, with ids that broadcast."""

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        gap = as_real(self.point(s, p, t) - self.u(o))
        distance: Tensor = moduli(gap) if self.options.norm == 1 else torch.linalg.vector_norm(gap, dim=-1)
        return -distance

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        point = self.point(s, p, t)
        return ModulusDistance(point, self.u) if self.options.norm == 1 else Distance(as_real(point), self.u, 2)


@register
class RotatE(RotationModel):
    """Predicates rotate (Sun et al. 2019); the same at all times.

    X[s, p, o, t] = −‖u_s ⊙ e^(i θ_p) − u_o‖    u: entity, θ: predicate
    """

    name = "rotate"
    formula = "−‖u_s ⊙ e^(i θ_p) − u_o‖"
    temporal: ClassVar[bool] = False

    theta: Table

    @classmethod
    def tables(cls, o: DistanceOptions) -> dict[str, Table]:
        angles = real_rows(Axis.PREDICATE, o.rank, initial=uniform(math.pi))
        return {"u": complex_rows(Axis.ENTITY, o.rank), "theta": angles}

    def point(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        return self.u(s) * unit(self.theta(p))

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """Entities: angles are no sizes."""
        return [Factor(1, self.u(s)), Factor(1, self.u(o))]


@register
class TeRo(RotationModel):
    """Timestamps rotate entities, predicates translate them (Xu et al. 2020).

    X[s, p, o, t] = −‖u_s ⊙ τ_t + v_p − conj(u_o ⊙ τ_t)‖    τ_t = e^(i ω_t)    u: entity, v: predicate, ω: timestamp

    A rotation leaves moduli as they are, so that it is also −‖conj((u_s ⊙ τ_t + v_p) ⊙ τ_t) − u_o‖.
    """

    name = "tero"
    formula = "−‖u_s ⊙ e^(i ω_t) + v_p − conj(u_o ⊙ e^(i ω_t))‖"

    omega: Table

    @classmethod
    def tables(cls, o: DistanceOptions) -> dict[str, Table]:
        angles = real_rows(Axis.TIME, o.rank, initial=uniform(math.pi))
        found = {name: complex_rows(axis, o.rank) for name, axis in (("u", Axis.ENTITY), ("v", Axis.PREDICATE))}
        return {**found, "omega": angles}

    def point(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        turned = unit(self.omega(t))
        return ((self.u(s) * turned + self.v(p)) * turned).conj()

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """Without angles, as in RotatE."""
        return [Factor(1, self.u(s)), Factor(1, self.u(o)), Factor(1, self.v(p))]
