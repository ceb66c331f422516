"""TeLM: multivectors of the plane's geometric algebra."""

from __future__ import annotations

import torch
from torch import Tensor

from knowwhen.models.base import Decomposition, Factor, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.tables import Axis, Table, real_rows

Multivector = tuple[Tensor, ...]  # a + b e₁ + c e₂ + d e₁₂, e₁² = e₂² = 1, each (…, r)
CONJUGATE = (1, -1, -1, -1)
SQUARES = (1, 1, 1, -1)  # of 1, e₁, e₂, e₁₂


def geometric(x: Multivector, y: Multivector) -> Multivector:
    """The geometric product."""
    a, b, c, d = x
    e, f, g, h = y
    return (
        a * e + b * f + c * g - d * h,
        a * f + b * e - c * h + d * g,
        a * g + c * e + b * h - d * f,
        a * h + d * e + b * g - c * f,
    )


def signed(x: Multivector, signs: tuple[int, ...]) -> Multivector:
    return tuple(part * sign for part, sign in zip(x, signs, strict=True))


def joined(x: Multivector) -> Tensor:  # (…, 4r)
    return torch.cat(torch.broadcast_tensors(*x), dim=-1)  # type: ignore[no-untyped-call]


@register
class TeLM(Decomposition):
    """A product of multivectors (Xu et al. 2021); twice as many numbers per rank as with complex ones.

    X[s, p, o, t] = Sc⟨u_s, v_p, w_t, ū_o⟩    u: entity, v: predicate, w: timestamp; Sc: the scalar part, ū: the
    Clifford conjugate a − b e₁ − c e₂ − d e₁₂
    """

    name = "telm"
    formula = "Sc⟨u_s, v_p, w_t, ū_o⟩ of multivectors"

    u: Table
    v: Table
    w: Table

    @classmethod
    def tables(cls, o: RankOptions) -> dict[str, Table]:
        axes = {"u": Axis.ENTITY, "v": Axis.PREDICATE, "w": Axis.TIME}
        return {name: real_rows(axis, 4 * o.rank) for name, axis in axes.items()}

    def _relation(self, p: Tensor, t: Tensor) -> Multivector:
        return geometric(self.v(p).chunk(4, -1), self.w(t).chunk(4, -1))

    def _query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (…, 4r)
        """Sc(x ȳ) = a e − b f − c g + d h: signs that the query takes."""
        found = geometric(self.u(s).chunk(4, -1), self._relation(p, t))
        return joined(signed(signed(found, CONJUGATE), SQUARES))

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self._query(s, p, t) * self.u(o)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self._query(s, p, t), self.u)

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:
        # The scalar part of a product does not change when its factors move round: Sc(s v w ō) = Sc(ō s v w).
        around = geometric(self._conjugate(o), geometric(self.u(s).chunk(4, -1), self.v(p).chunk(4, -1)))
        return Product(joined(signed(around, SQUARES)), self.w.along())

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        around = geometric(self.w(t).chunk(4, -1), geometric(self._conjugate(o), self.u(s).chunk(4, -1)))
        return Product(joined(signed(around, SQUARES)), self.v)

    def _conjugate(self, o: Tensor) -> Multivector:
        return signed(self.u(o).chunk(4, -1), CONJUGATE)

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [Factor(1, self.u(s)), Factor(1, self.u(o)), Factor(1, joined(self._relation(p, t)))]
