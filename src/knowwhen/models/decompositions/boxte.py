"""BoxTE: predicates are boxes, which time moves."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from knowwhen.models.base import Decomposition, Factor
from knowwhen.models.decompositions.distances import DistanceOptions
from knowwhen.models.registry import register
from knowwhen.models.tables import Axis, Table, normal, real_rows


class BoxTEOptions(DistanceOptions):
    moves: int = Field(2, ge=1, description="Translations per timestamp, weighted by the predicate.")


def outside(points: Tensor, corners: Tensor) -> Tensor:  # (…, d), (…, 2, d) -> (…, d)
    """How far points are from the middle of a box: little inside it, much outside, without a jump at its side."""
    low, high = corners.unbind(-2)
    half = (high - low).abs() / 2
    width = 1 + 2 * half
    gap = (points - (low + high) / 2).abs()
    # The first within the box, the second without; at its side they are equal.
    return torch.maximum(gap / width, gap * width - half * (width - 1 / width))


@register
class BoxTE(Decomposition):
    """BoxE in time (Messner et al. 2022): a fact holds where both entities are in the boxes of its predicate.

    X[s, p, o, t] = −‖dist(u_s + b_o + τ_pt, head box of p)‖ − ‖dist(u_o + b_s + τ_pt, tail box of p)‖
    τ_pt = Σ_k a_pk w_tk    u, b: entity, its place and how it bumps others; a: predicate; w: timestamp, its moves
    """

    name = "boxte"
    formula = "−‖dist(u_s + b_o + τ_pt, head box)‖ − ‖dist(u_o + b_s + τ_pt, tail box)‖"
    Options = BoxTEOptions

    u: Table
    b: Table
    head: Table
    tail: Table
    a: Table
    w: Table

    @classmethod
    def tables(cls, o: BoxTEOptions) -> dict[str, Table]:
        corners = {side: real_rows(Axis.PREDICATE, 2, o.rank, initial=normal(0.1)) for side in ("head", "tail")}
        return {
            "u": real_rows(Axis.ENTITY, o.rank, initial=normal(0.1)),
            "b": real_rows(Axis.ENTITY, o.rank, initial=normal(0.1)),
            **corners,
            "a": real_rows(Axis.PREDICATE, o.moves, initial=normal(1)),
            "w": real_rows(Axis.TIME, o.moves, o.rank),
        }

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        move = (self.a(p)[..., None] * self.w(t)).sum(-2)
        first = outside(self.u(s) + move + self.b(o), self.head(p))
        second = outside(self.b(s) + move + self.u(o), self.tail(p))
        if self.options.norm == 1:  # neither is negative
            return -(first + second).sum(-1)
        near, far = (torch.linalg.vector_norm(gap, dim=-1) for gap in (first, second))
        scores: Tensor = -near - far
        return scores

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """Entities and moves: a box may lie anywhere."""
        rows = (self.u(s), self.b(s), self.u(o), self.b(o), self.a(p), self.w(t))
        return [Factor(1, row) for row in rows]
