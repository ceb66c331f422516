"""UnionComplEx: all products of subject, predicate and time that an object can be multiplied with."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from knowwhen.models.algebra import as_real, real_dot
from knowwhen.models.base import Factor, TemporalModel
from knowwhen.models.sizes import Sizes


class UnionComplEx(TemporalModel):
    """The terms of TNTComplEx (Lacroix et al. 2020, eq. 6) and those of TIMEPLEX (Jain et al. 2020) together.

    X[s, p, o, t] = Re⟨u_s ⊙ (v'_p ⊙ w'_t + v_p + w_t) + z_p ⊙ w_t, ū_o⟩

    u: entity, v': predicate_temporal, v: predicate_static, z: predicate_timed, w': timestamp_temporal, w: timestamp.
    With w and z zero it is TNTComplEx, with v' zero TIMEPLEX but for the term that is the same for all objects.
    """

    name = "unioncomplex"
    temporal = True
    formula = "Re⟨u_s ⊙ (v'_p ⊙ w'_t + v_p + w_t) + z_p ⊙ w_t, ū_o⟩"
    modulated: ClassVar[bool] = True  # whether it has the term v'_p ⊙ w'_t

    entity: Tensor
    predicate_temporal: Tensor
    predicate_static: Tensor
    predicate_timed: Tensor
    timestamp_temporal: Tensor
    timestamp: Tensor

    @classmethod
    def table_shapes(cls, sizes: Sizes, rank: int) -> dict[str, tuple[int, int]]:
        predicates, timestamps = (2 * sizes.predicates, 2 * rank), (sizes.timestamps + sizes.undated_row, 2 * rank)
        return {
            "entity": (sizes.entities, 2 * rank),
            "predicate_static": predicates,
            "predicate_timed": predicates,
            "timestamp": timestamps,
            **({"predicate_temporal": predicates, "timestamp_temporal": timestamps} if cls.modulated else {}),
        }

    def _relation(self, p: Tensor, t: Tensor) -> Tensor:  # (b, r)
        """v'_p ⊙ w'_t + v_p + w_t: what the subject is multiplied with."""
        plain = self.complex_rows("predicate_static", p) + self.complex_rows("timestamp", t)
        return plain + self._modulation(p, t) if self.modulated else plain

    def _modulation(self, p: Tensor, t: Tensor) -> Tensor:  # (b, r)
        return self.complex_rows("predicate_temporal", p) * self.complex_rows("timestamp_temporal", t)

    def _timed(self, p: Tensor, t: Tensor) -> Tensor:  # (b, r)
        return self.complex_rows("predicate_timed", p) * self.complex_rows("timestamp", t)

    def query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:
        return as_real(self.complex_rows("entity", s) * self._relation(p, t) + self._timed(p, t))

    def candidates(self) -> Tensor:
        return self.entity

    def time_query(self, s: Tensor, p: Tensor, o: Tensor) -> tuple[Tensor, Tensor]:
        subject, object = self.complex_rows("entity", s), self.complex_rows("entity", o).conj()
        pair = subject * object
        varying = [as_real(((subject + self.complex_rows("predicate_timed", p)) * object).conj())]  # as in TComplEx
        if self.modulated:
            varying.append(as_real((pair * self.complex_rows("predicate_temporal", p)).conj()))
        return torch.cat(varying, dim=1), (pair * self.complex_rows("predicate_static", p)).sum(-1).real

    def time_axis(self) -> Tensor:
        """Both tables of timestamps beside each other: (T, 4r)."""
        T = self.sizes.timestamps
        if not self.modulated:
            return self.timestamp[:T]
        return torch.cat([self.timestamp[:T], self.timestamp_temporal[:T]], dim=1)

    def predicate_scores(self, s: Tensor, o: Tensor, t: Tensor) -> Tensor:
        object, time = self.complex_rows("entity", o).conj(), self.complex_rows("timestamp", t)
        pair = self.complex_rows("entity", s) * object
        scores = real_dot(pair.conj(), self.complex_rows("predicate_static")) + (pair * time).sum(-1, keepdim=True).real
        scores = scores + real_dot((object * time).conj(), self.complex_rows("predicate_timed"))
        if self.modulated:
            modulated = (pair * self.complex_rows("timestamp_temporal", t)).conj()
            scores = scores + real_dot(modulated, self.complex_rows("predicate_temporal"))
        return scores

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """Those of the tensors (u, v' ⊙ w', ū), (u, v, ū), (u, w, ū) and (z ⊙ w, ū)."""
        return [
            Factor(2 + self.modulated, self.complex_rows("entity", s)),
            Factor(3 + self.modulated, self.complex_rows("entity", o)),
            Factor(1, self.complex_rows("predicate_static", p)),
            Factor(1, self.complex_rows("timestamp", t)),
            Factor(1, self._timed(p, t)),
            *([Factor(1, self._modulation(p, t))] if self.modulated else []),
        ]

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        found = [
            Factor(2 + self.modulated, self.complex_rows("entity", s)),
            Factor(3 + self.modulated, self.complex_rows("entity", o)),
            Factor(1, self.complex_rows("predicate_static", p)),
            Factor(2, self.complex_rows("timestamp", t)),
            Factor(1, self.complex_rows("predicate_timed", p)),
        ]
        if self.modulated:
            found += [
                Factor(1, self.complex_rows("predicate_temporal", p)),
                Factor(1, self.complex_rows("timestamp_temporal", t)),
            ]
        return found


class TimePlEx(UnionComplEx):
    """TIMEPLEX (Jain et al. 2020, eq. 3, the base model) without the term that is the same for all objects.

    X[s, p, o, t] = Re⟨u_s ⊙ (v_p + w_t) + z_p ⊙ w_t, ū_o⟩    w: timestamp; weights of terms are left to the tables
    """

    name = "timeplex"
    formula = "Re⟨u_s ⊙ (v_p + w_t) + z_p ⊙ w_t, ū_o⟩"
    modulated = False
