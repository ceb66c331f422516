"""CP and DistMult, the static decompositions over real numbers."""

from __future__ import annotations

from torch import Tensor

from knowwhen.models.algebra import lookup
from knowwhen.models.base import Factor, TemporalModel
from knowwhen.models.sizes import Sizes


class CP(TemporalModel):
    """The canonical decomposition: subjects and objects have tables of their own (Hitchcock 1927).

    X[s, p, o, t] = ⟨u_s, v_p, w_o⟩    u: subject, v: predicate, w: object
    """

    name = "cp"
    temporal = False
    is_complex = False
    formula = "⟨u_s, v_p, w_o⟩"

    predicate: Tensor

    @classmethod
    def table_shapes(cls, sizes: Sizes, rank: int) -> dict[str, tuple[int, int]]:
        entities = (sizes.entities, rank)
        return {"subject": entities, "predicate": (2 * sizes.predicates, rank), "object": entities}

    def query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        return lookup(self.subjects(), s) * lookup(self.predicate, p)

    def subjects(self) -> Tensor:
        return self.get_parameter("subject")

    def candidates(self) -> Tensor:
        return self.get_parameter("object")

    def predicate_scores(self, s: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (lookup(self.subjects(), s) * lookup(self.candidates(), o)) @ self.predicate.mT

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [
            Factor(1, lookup(self.subjects(), s)),
            Factor(1, lookup(self.candidates(), o)),
            Factor(1, lookup(self.predicate, p)),
        ]

    separate_factors = factors


class DistMult(CP):
    """CP with one table for subjects and objects, so that predicates are symmetric (Yang et al. 2015).

    X[s, p, o, t] = ⟨u_s, v_p, u_o⟩    u: entity, v: predicate
    """

    name = "distmult"
    formula = "⟨u_s, v_p, u_o⟩"

    @classmethod
    def table_shapes(cls, sizes: Sizes, rank: int) -> dict[str, tuple[int, int]]:
        return {"entity": (sizes.entities, rank), "predicate": (2 * sizes.predicates, rank)}

    def subjects(self) -> Tensor:
        return self.get_parameter("entity")

    candidates = subjects
