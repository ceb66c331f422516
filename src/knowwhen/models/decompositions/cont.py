"""ConT: a core tensor for every timestamp."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from knowwhen.models.base import Decomposition, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.tables import Axis, Table, real_rows, xavier


class ConTOptions(RankOptions):
    rank: int = Field(16, ge=1, description="Size of an embedding; a timestamp has rank³ numbers.")


@register
class ConT(Decomposition):
    """Context-aware Tucker: time is the core (Ma et al. 2019, "Embedding models for episodic knowledge graphs").

    X[s, p, o, t] = Σ_abc G_t[a, b, c] u_sa v_pb w_oc    u, w: entity as subject, as object; v: predicate, G: timestamp
    """

    name = "cont"
    formula = "G_t ×₁ u_s ×₂ v_p ×₃ w_o"
    Options = ConTOptions

    u: Table
    v: Table
    w: Table
    G: Table

    @classmethod
    def tables(cls, o: ConTOptions) -> dict[str, Table]:
        axes = {"u": Axis.ENTITY, "v": Axis.PREDICATE, "w": Axis.ENTITY}
        found = {name: real_rows(axis, o.rank, initial=xavier()) for name, axis in axes.items()}
        return {**found, "G": real_rows(Axis.TIME, o.rank, o.rank, o.rank, initial=xavier())}

    def _query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (…, r)
        return torch.einsum("...a,...b,...abc->...c", self.u(s), self.v(p), self.G(t))

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self._query(s, p, t) * self.w(o)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self._query(s, p, t), self.w)

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:
        triples = torch.einsum("na,nb,nc->nabc", self.u(s), self.v(p), self.w(o))
        return Product(triples.flatten(1), self.G.along().flatten(1))

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        return Product(torch.einsum("na,nc,nabc->nb", self.u(s), self.w(o), self.G(t)), self.v)

    def entity_rows(self) -> Tensor:
        return self.w.weight
