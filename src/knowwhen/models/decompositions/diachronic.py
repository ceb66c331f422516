"""Diachronic entities: DE-SimplE, DE-DistMult and DE-TransE."""

from __future__ import annotations

from functools import partial, reduce
from operator import add
from typing import Any, ClassVar, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from knowwhen.models.base import Factor, RankOptions
from knowwhen.models.decompositions.calendar import UNITS, CalendarModel
from knowwhen.models.registry import register
from knowwhen.models.scores import KeyedDistance, Product, Scores, TimedProduct
from knowwhen.models.sizes import Sizes
from knowwhen.models.tables import Axis, Table, real_rows, xavier

PARTS = ("static", "amplitude", "frequency", "phase")


class DiachronicOptions(RankOptions):
    static_share: float = Field(
        0.36, ge=0, le=1, description="Fraction of an embedding that does not change with time."
    )
    dropout: float = Field(0.4, ge=0, lt=1, description="Dropout on the products of factors.")

    @property
    def static(self) -> int:
        return round(self.static_share * self.rank)


class DESimplEOptions(DiachronicOptions):
    static_share: float = Field(
        0.68, ge=0, le=1, description="Fraction of an embedding that does not change with time."
    )


class Diachronic(CalendarModel):
    """Entities that change with the date (Goel et al. 2020).

    h_e(t) = [a_e ; Σ_u A_eu sin(F_eu u + φ_eu)]    u: year, month and day of t, as they are written
    """

    Options = DiachronicOptions
    sides: ClassVar[tuple[str, ...]] = ("entity",)

    v: Table

    def __init__(self, sizes: Sizes, options: Any = None) -> None:
        super().__init__(sizes, options)
        self.dropout = nn.Dropout(self.options.dropout)

    @classmethod
    def tables(cls, o: DiachronicOptions) -> dict[str, Table]:
        found = {"v": real_rows(Axis.PREDICATE, o.rank, initial=xavier())}
        for side in cls.sides:
            found[f"{side}_static"] = real_rows(Axis.ENTITY, o.static, initial=xavier())
            for part in PARTS[1:]:
                found[f"{side}_{part}"] = real_rows(Axis.ENTITY, UNITS, o.rank - o.static, initial=xavier())
        return found

    def entity(self, side: str, e: Tensor, t: Tensor) -> Tensor:  # (…, rank)
        """h_e(t), with ids that broadcast."""
        static, amplitude, frequency, phase = (self.get_submodule(f"{side}_{part}")(e) for part in PARTS)
        units = self.calendar[t][..., None]  # (…, 3, 1)
        moving = (amplitude * torch.sin(frequency * units + phase)).sum(-2)
        return torch.cat([static.expand(*moving.shape[:-1], -1), moving], dim=-1)

    def at(self, e: Tensor, t: Tensor) -> Tensor:  # (…, rank of all sides)
        return torch.cat([self.entity(side, e, t) for side in self.sides], dim=-1)

    def products(self, query: Tensor, t: Tensor) -> Scores:  # (b, rank of all sides), beside what `at` gives
        """⟨query_i, at(j, t_i)⟩: a product with what stays, and one with what moves for each unit of the calendar.

        Equal to TimedProduct(query, t, E, self.at); but there are few years, months and days, and many dates.
        """
        static = self.options.static
        parts = torch.split(query, [static, self.options.rank - static] * len(self.sides), dim=-1)
        tables = (cast(Table, self.get_submodule(f"{side}_static")) for side in self.sides)
        stay: list[Scores] = [Product(part, table) for part, table in zip(parts[::2], tables, strict=True)]
        moving, calendar = torch.cat(parts[1::2], dim=-1), self.calendar[t]
        move = [
            TimedProduct(moving, calendar[:, unit], self.sizes.entities, partial(self._moving, unit))
            for unit in range(UNITS)
        ]
        return reduce(add, [*stay, *move])

    def _moving(self, unit: int, e: Tensor, value: Tensor) -> Tensor:  # (…, moving rank of all sides)
        """A_eu sin(F_eu u + φ_eu) of one unit, given its values."""
        sides = []
        for side in self.sides:
            amplitude, frequency, phase = (self.get_submodule(f"{side}_{part}")(e)[..., unit, :] for part in PARTS[1:])
            sides.append(amplitude * torch.sin(frequency * value[..., None] + phase))
        return torch.cat(sides, dim=-1)

    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """Entities as they are at t: frequencies and phases are no sizes."""
        return [*(Factor(1, self.at(e, t)) for e in (s, o)), Factor(1, self.v(p))]

    separate_factors = factors

    def entity_rows(self) -> Tensor:
        return torch.cat([self.get_submodule(f"{side}_static")() for side in self.sides], dim=1)


@register
class DEDistMult(Diachronic):
    """DistMult with diachronic entities (Goel et al. 2020).

    X[s, p, o, t] = ⟨h_s(t), v_p, h_o(t)⟩    h: entity at a time, v: predicate
    """

    name = "dedistmult"
    formula = "⟨h_s(t), v_p, h_o(t)⟩"

    def _query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (…, rank)
        query: Tensor = self.dropout(self.at(s, t) * self.v(p))
        return query

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self._query(s, p, t) * self.at(o, t)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return self.products(self._query(s, p, t), t)


@register
class DETransE(Diachronic):
    """TransE with diachronic entities (Goel et al. 2020).

    X[s, p, o, t] = −‖h_s(t) + v_p − h_o(t)‖₂    h: entity at a time, v: predicate
    """

    name = "detranse"
    formula = "−‖h_s(t) + v_p − h_o(t)‖₂"

    def _query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (…, rank)
        query: Tensor = self.dropout(self.at(s, t) + self.v(p))
        return query

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        distance: Tensor = torch.linalg.vector_norm(self._query(s, p, t) - self.at(o, t), dim=-1)
        return -distance

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return KeyedDistance(self._query(s, p, t), t, self.sizes.entities, self.at, 2)


@register
class DESimplE(Diachronic):
    """SimplE with diachronic entities (Goel et al. 2020).

    X[s, p, o, t] = ½ (⟨h_s(t), v_p, k_o(t)⟩ + ⟨h_o(t), v_p⁻¹, k_s(t)⟩)    h, k: entity as head, as tail; v: predicate

    p⁻¹ is the inverse predicate p + P, so that asking from either side gives the same score.
    """

    name = "desimple"
    formula = "½ (⟨h_s(t), v_p, k_o(t)⟩ + ⟨h_o(t), v_p⁻¹, k_s(t)⟩)"
    Options = DESimplEOptions
    sides = ("head", "tail")

    def _query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (…, 2 rank), beside [h_o ; k_o]
        inverse = (p + self.sizes.predicates) % (2 * self.sizes.predicates)
        subject = torch.cat([self.entity("tail", s, t), self.entity("head", s, t)], dim=-1)
        query: Tensor = self.dropout(subject * torch.cat([self.v(inverse), self.v(p)], dim=-1))
        return query / 2

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self._query(s, p, t) * self.at(o, t)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return self.products(self._query(s, p, t), t)
