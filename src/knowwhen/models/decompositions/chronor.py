"""ChronoR: rotations by predicate and time."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from knowwhen.models.base import Decomposition, Factor, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.tables import Axis, Table, around, complex_rows


class ChronoROptions(RankOptions):
    time_share: float = Field(0.5, ge=0, le=1, description="Fraction of an embedding that time rotates.")

    @property
    def timed(self) -> int:
        return round(self.time_share * self.rank)


@register
class ChronoR(Decomposition):
    """Rotations of planes, k = 2 (Sadeghian et al. 2021): a predicate turns some of them, time the others.

    X[s, p, o, t] = Re⟨u_s ⊙ [v_p ; w_t] ⊙ z_p, ū_o⟩    u: entity, v, z: predicate, w: timestamp

    Rotations may also scale, as the paper's penalty of all factors supposes.
    """

    name = "chronor"
    formula = "Re⟨u_s ⊙ [v_p ; w_t] ⊙ z_p, ū_o⟩"
    Options = ChronoROptions

    u: Table
    v: Table
    z: Table
    w: Table

    @classmethod
    def tables(cls, o: ChronoROptions) -> dict[str, Table]:
        turned = Table(Axis.PREDICATE, o.rank - o.timed, is_complex=True)
        return {
            "u": complex_rows(Axis.ENTITY, o.rank),
            "v": turned,
            "z": Table(Axis.PREDICATE, o.rank, is_complex=True, initial=around(0.5)),
            "w": complex_rows(Axis.TIME, o.timed),
        }

    def _relation(self, p: Tensor, t: Tensor) -> Tensor:  # (…, r): [v ; w] ⊙ z
        v, w = self.v(p), self.w(t)
        shape = torch.broadcast_tensors(p, t)[0].shape  # type: ignore[no-untyped-call]
        return torch.cat([v.expand(*shape, -1), w.expand(*shape, -1)], dim=-1) * self.z(p)

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self.u(s) * self._relation(p, t) * self.u(o).conj()).sum(-1).real

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self.u(s) * self._relation(p, t), self.u)

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:
        pair = self.u(s) * self.z(p) * self.u(o).conj()
        fixed = self.options.rank - self.options.timed
        by_predicate, by_time = pair[..., :fixed], pair[..., fixed:]
        # Conjugated as in TComplEx.
        return Product(by_time.conj(), self.w.along(), (by_predicate * self.v(p)).sum(-1).real)

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        return [Factor(1, self.u(s)), Factor(1, self.u(o)), Factor(1, self._relation(p, t))]
