"""TNTComplEx: a temporal and a static ComplEx that share their entities."""

from __future__ import annotations

from torch import Tensor

from knowwhen.models.algebra import as_real, real_dot
from knowwhen.models.base import Factor, TemporalModel
from knowwhen.models.sizes import Sizes


class TNTComplEx(TemporalModel):
    """A temporal plus a non-temporal decomposition (Lacroix et al. 2020, eq. 6).

    X[s, p, o, t] = Re⟨u_s, v'_p ⊙ w_t + v_p, ū_o⟩    u: entity, v': temporal, v: static, w: timestamp
    """

    name = "tntcomplex"
    temporal = True
    formula = "Re⟨u_s, v'_p ⊙ w_t + v_p, ū_o⟩"

    entity: Tensor
    predicate_temporal: Tensor
    predicate_static: Tensor
    timestamp: Tensor

    @classmethod
    def table_shapes(cls, sizes: Sizes, rank: int) -> dict[str, tuple[int, int]]:
        return {
            "entity": (sizes.entities, 2 * rank),
            "predicate_temporal": (2 * sizes.predicates, 2 * rank),
            "predicate_static": (2 * sizes.predicates, 2 * rank),
            "timestamp": (sizes.timestamps + sizes.undated_row, 2 * rank),
        }

    def query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        modulated = self.complex_rows("predicate_temporal", p) * self.complex_rows("timestamp", t)
        return as_real(self.complex_rows("entity", s) * (modulated + self.complex_rows("predicate_static", p)))

    def candidates(self) -> Tensor:
        return self.entity

    def time_query(self, s: Tensor, p: Tensor, o: Tensor) -> tuple[Tensor, Tensor]:
        pair = self.complex_rows("entity", s) * self.complex_rows("entity", o).conj()
        varying = as_real((pair * self.complex_rows("predicate_temporal", p)).conj())  # as in TComplEx
        return varying, (pair * self.complex_rows("predicate_static", p)).sum(-1).real

    def time_axis(self) -> Tensor:
        return self.timestamp[: self.sizes.timestamps]

    def predicate_scores(self, s: Tensor, o: Tensor, t: Tensor) -> Tensor:
        pair = self.complex_rows("entity", s) * self.complex_rows("entity", o).conj()
        temporal = real_dot((pair * self.complex_rows("timestamp", t)).conj(), self.complex_rows("predicate_temporal"))
        return temporal + real_dot(pair.conj(), self.complex_rows("predicate_static"))

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [
            Factor(2, self.complex_rows("entity", s)),  # once in each of the two tensors
            Factor(2, self.complex_rows("entity", o)),
            Factor(1, self.complex_rows("predicate_temporal", p) * self.complex_rows("timestamp", t)),
            Factor(1, self.complex_rows("predicate_static", p)),
        ]

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [
            Factor(2, self.complex_rows("entity", s)),
            Factor(2, self.complex_rows("entity", o)),
            Factor(1, self.complex_rows("predicate_temporal", p)),
            Factor(1, self.complex_rows("timestamp", t)),
            Factor(1, self.complex_rows("predicate_static", p)),
        ]
