"""DE-SimplE: entities that change with the calendar."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from knowwhen.models.base import Decomposition, Factor, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Scores, TimedProduct
from knowwhen.models.sizes import Background, Sizes
from knowwhen.models.tables import Axis, Table, real_rows, xavier

UNITS = 3  # year, month, day


class DESimplEOptions(RankOptions):
    static_share: float = Field(0.68, ge=0, le=1, description="Share of an embedding that does not change with time.")
    dropout: float = Field(0.4, ge=0, lt=1, description="Share of the factors left out of each product in training.")

    @property
    def static(self) -> int:
        return round(self.static_share * self.rank)


@register
class DESimplE(Decomposition):
    """SimplE with diachronic entities (Goel et al. 2020).

    X[s, p, o, t] = ½ (⟨h_s(t), v_p, k_o(t)⟩ + ⟨h_o(t), v_p⁻¹, k_s(t)⟩)    h, k: entity as head, as tail; v: predicate
    h_e(t) = [a_e ; Σ_u A_eu sin(F_eu u + φ_eu)]    u: year, month and day of t, as they are written

    p⁻¹ is the inverse predicate p + P, so that asking from either side gives the same score. Facts without time are
    asked at year, month and day 0.
    """

    name = "desimple"
    formula = "½ (⟨h_s(t), v_p, k_o(t)⟩ + ⟨h_o(t), v_p⁻¹, k_s(t)⟩)"
    Options = DESimplEOptions

    v: Table
    calendar: Tensor  # (T + 1, 3)

    def __init__(self, sizes: Sizes, options: DESimplEOptions | None = None) -> None:
        super().__init__(sizes, options)
        self.dropout = nn.Dropout(self.options.dropout)
        self.register_buffer("calendar", torch.zeros(sizes.timestamps + 1, UNITS), persistent=False)

    @classmethod
    def tables(cls, o: DESimplEOptions) -> dict[str, Table]:
        moving = ("amplitude", "frequency", "phase")
        found = {"v": real_rows(Axis.PREDICATE, o.rank, initial=xavier())}
        for side in ("head", "tail"):
            found[f"{side}_static"] = real_rows(Axis.ENTITY, o.static, initial=xavier())
            for part in moving:
                found[f"{side}_{part}"] = real_rows(Axis.ENTITY, UNITS, o.rank - o.static, initial=xavier())
        return found

    def recall(self, background: Background) -> None:
        self.calendar.zero_()[: len(background.calendar)] = torch.from_numpy(background.calendar).to(self.calendar)

    def entity(self, side: str, e: Tensor, t: Tensor) -> Tensor:  # (…, rank)
        """h_e(t) or k_e(t), with ids that broadcast."""
        static, amplitude, frequency, phase = (
            self.get_submodule(f"{side}_{part}")(e) for part in ("static", "amplitude", "frequency", "phase")
        )
        units = self.calendar[t][..., None]  # (…, 3, 1)
        moving = (amplitude * torch.sin(frequency * units + phase)).sum(-2)
        return torch.cat([static.expand(*moving.shape[:-1], -1), moving], dim=-1)

    def _both(self, first: str, second: str, e: Tensor, t: Tensor) -> Tensor:  # (…, 2 rank)
        return torch.cat([self.entity(first, e, t), self.entity(second, e, t)], dim=-1)

    def _query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (…, 2 rank)
        inverse = (p + self.sizes.predicates) % (2 * self.sizes.predicates)
        query: Tensor = self.dropout(self._both("head", "tail", s, t) * torch.cat([self.v(p), self.v(inverse)], dim=-1))
        return query / 2

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self._query(s, p, t) * self._both("tail", "head", o, t)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return TimedProduct(
            self._query(s, p, t), t, self.sizes.entities, lambda o, at: self._both("tail", "head", o, at)
        )

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """Entities as they are at t: frequencies and phases are no sizes."""
        return [*(Factor(1, self._both("head", "tail", e, t)) for e in (s, o)), Factor(1, self.v(p))]

    separate_factors = factors

    def entity_rows(self) -> Tensor:
        return torch.cat([self.get_submodule(f"{side}_static")() for side in ("head", "tail")], dim=1)
