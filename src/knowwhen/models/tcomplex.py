"""TComplEx: ComplEx of an order-4 tensor."""

from __future__ import annotations

from torch import Tensor

from knowwhen.models.algebra import as_real, real_dot
from knowwhen.models.base import Factor, TemporalModel
from knowwhen.models.sizes import Sizes


class TComplEx(TemporalModel):
    """Timestamps modulate predicates (Lacroix et al. 2020, eq. 4).

    X[s, p, o, t] = Re⟨u_s, v_p ⊙ w_t, ū_o⟩    u: entity, v: predicate, w: timestamp
    """

    name = "tcomplex"
    temporal = True
    formula = "Re⟨u_s, v_p ⊙ w_t, ū_o⟩"

    entity: Tensor
    predicate: Tensor
    timestamp: Tensor

    @classmethod
    def table_shapes(cls, sizes: Sizes, rank: int) -> dict[str, tuple[int, int]]:
        return {
            "entity": (sizes.entities, 2 * rank),
            "predicate": (2 * sizes.predicates, 2 * rank),
            "timestamp": (sizes.timestamps + sizes.undated_row, 2 * rank),
        }

    def query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        relation = self.complex_rows("predicate", p) * self.complex_rows("timestamp", t)
        return as_real(self.complex_rows("entity", s) * relation)

    def candidates(self) -> Tensor:
        return self.entity

    def time_query(self, s: Tensor, p: Tensor, o: Tensor) -> tuple[Tensor, Tensor]:
        pair = self.complex_rows("entity", s) * self.complex_rows("entity", o).conj()
        # w carries no conjugate, and Re⟨c, w⟩ = Re⟨c̄, w̄⟩: so conjugate c instead.
        varying = as_real((pair * self.complex_rows("predicate", p)).conj())
        return varying, varying.new_zeros(len(s))

    def time_axis(self) -> Tensor:
        return self.timestamp[: self.sizes.timestamps]

    def predicate_scores(self, s: Tensor, o: Tensor, t: Tensor) -> Tensor:
        pair = self.complex_rows("entity", s) * self.complex_rows("entity", o).conj()
        return real_dot((pair * self.complex_rows("timestamp", t)).conj(), self.complex_rows("predicate"))

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [
            Factor(1, self.complex_rows("entity", s)),
            Factor(1, self.complex_rows("entity", o)),
            Factor(1, self.complex_rows("predicate", p) * self.complex_rows("timestamp", t)),
        ]

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [
            Factor(1, self.complex_rows("entity", s)),
            Factor(1, self.complex_rows("entity", o)),
            Factor(1, self.complex_rows("predicate", p)),
            Factor(1, self.complex_rows("timestamp", t)),
        ]
