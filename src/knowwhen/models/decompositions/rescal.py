"""RESCAL and ASALSAN: a predicate is a matrix between entities."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field
from torch import Tensor

from knowwhen.models.base import Decomposition, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.tables import Axis, Table, around, real_rows


class MatrixOptions(RankOptions):
    rank: int = Field(32, ge=1, description="Size of an entity embedding; a predicate has rank² numbers.")


def applied(rows: Tensor, matrices: Tensor) -> Tensor:  # (…, r), (…, r, r) -> (…, r)
    """x R."""
    return (rows[..., None] * matrices).sum(-2)


def outer(one: Tensor, other: Tensor) -> Tensor:  # (n, r), (n, r) -> (n, r²)
    return (one[..., None] * other[..., None, :]).flatten(-2)


@register
class RESCAL(Decomposition):
    """The bilinear model (Nickel et al. 2011); the same at all times.

    X[s, p, o, t] = u_sᵀ R_p u_o    u: entity, R: predicate, a matrix
    """

    name = "rescal"
    formula = "u_sᵀ R_p u_o"
    temporal: ClassVar[bool] = False
    Options = MatrixOptions

    u: Table
    R: Table

    @classmethod
    def tables(cls, o: MatrixOptions) -> dict[str, Table]:
        return {"u": real_rows(Axis.ENTITY, o.rank), "R": real_rows(Axis.PREDICATE, o.rank, o.rank)}

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (applied(self.u(s), self.R(p)) * self.u(o)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(applied(self.u(s), self.R(p)), self.u)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        return Product(outer(self.u(s), self.u(o)), self.R().flatten(1))


@register
class ASALSAN(RESCAL):
    """Three-way DEDICOM, with a matrix for each predicate (Bader et al. 2007): time weighs the roles of entities.

    X[s, p, o, t] = u_sᵀ D_t R_p D_t u_o    u: entity, R: predicate, D_t: the diagonal matrix of w_t, a timestamp

    The original has one R and is fitted by alternating least squares; here it learns as all models do.
    """

    name = "asalsan"
    formula = "u_sᵀ D_t R_p D_t u_o"
    temporal = True

    w: Table

    @classmethod
    def tables(cls, o: MatrixOptions) -> dict[str, Table]:
        # Around one: with all factors small, products of five would have no slope to begin with.
        return {**super().tables(o), "w": real_rows(Axis.TIME, o.rank, initial=around(1))}

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        weights = self.w(t)
        return (applied(self.u(s) * weights, self.R(p)) * weights * self.u(o)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        weights = self.w(t)
        return Product(applied(self.u(s) * weights, self.R(p)) * weights, self.u)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        weights = self.w(t)
        return Product(outer(self.u(s) * weights, self.u(o) * weights), self.R().flatten(1))

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:
        weights = self.w.along()
        return Product((outer(self.u(s), self.u(o)) * self.R(p).flatten(-2)), outer(weights, weights))
