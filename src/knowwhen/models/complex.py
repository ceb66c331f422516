"""ComplEx, the static decomposition over complex numbers."""

from __future__ import annotations

from torch import Tensor

from knowwhen.models.algebra import as_real, real_dot
from knowwhen.models.base import Factor, TemporalModel
from knowwhen.models.sizes import Sizes


class ComplEx(TemporalModel):
    """The same at all times (Trouillon et al. 2016; Lacroix et al. 2018 with reciprocal predicates).

    X[s, p, o, t] = Re⟨u_s, v_p, ū_o⟩    u: entity, v: predicate
    """

    name = "complex"
    temporal = False
    formula = "Re⟨u_s, v_p, ū_o⟩"

    entity: Tensor
    predicate: Tensor

    @classmethod
    def table_shapes(cls, sizes: Sizes, rank: int) -> dict[str, tuple[int, int]]:
        return {"entity": (sizes.entities, 2 * rank), "predicate": (2 * sizes.predicates, 2 * rank)}

    def query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        return as_real(self.complex_rows("entity", s) * self.complex_rows("predicate", p))

    def candidates(self) -> Tensor:
        return self.entity

    def predicate_scores(self, s: Tensor, o: Tensor, t: Tensor) -> Tensor:
        pair = self.complex_rows("entity", s) * self.complex_rows("entity", o).conj()
        # v carries no conjugate, and Re⟨c, v⟩ = Re⟨c̄, v̄⟩: so conjugate the pair instead.
        return real_dot(pair.conj(), self.complex_rows("predicate"))

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [
            Factor(1, self.complex_rows("entity", s)),
            Factor(1, self.complex_rows("entity", o)),
            Factor(1, self.complex_rows("predicate", p)),
        ]

    separate_factors = factors
