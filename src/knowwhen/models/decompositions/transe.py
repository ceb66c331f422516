"""TransE: predicates are translations."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from knowwhen.models.base import Decomposition, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Distance, Scores
from knowwhen.models.tables import Axis, Table, real_rows


class TransEOptions(RankOptions):
    norm: Literal[1, 2] = Field(1, description="Distance between embeddings: L1 or L2.")


@register
class TransE(Decomposition):
    """The same at all times (Bordes et al. 2013).

    X[s, p, o, t] = −‖u_s + v_p − u_o‖    u: entity, v: predicate
    """

    name = "transe"
    formula = "−‖u_s + v_p − u_o‖"
    temporal: ClassVar[bool] = False
    Options = TransEOptions

    u: Table
    v: Table

    @classmethod
    def tables(cls, o: TransEOptions) -> dict[str, Table]:
        return {"u": real_rows(Axis.ENTITY, o.rank), "v": real_rows(Axis.PREDICATE, o.rank)}

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        distance: Tensor = torch.linalg.vector_norm(self.u(s) + self.v(p) - self.u(o), self.options.norm, dim=-1)
        return -distance

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Distance(self.u(s) + self.v(p), self.u, self.options.norm)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        return Distance(self.u(o) - self.u(s), self.v, self.options.norm)
