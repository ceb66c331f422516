"""A latent space in which entities move: those that are near know each other."""

from __future__ import annotations

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from knowwhen.models.base import Decomposition, Factor, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.sizes import Background, Sizes
from knowwhen.models.tables import Axis, Table, around, normal, real_rows

UNSET = -1


class LatentOptions(RankOptions):
    rank: int = Field(8, ge=1, description="Dimensions of the space.")
    knots: int = Field(
        8,
        ge=2,
        description="Number of times at which an entity has a position of its own; it moves straight between them.",
    )
    radius: float = Field(
        1.0, gt=0, description="Distance up to which an entity with an average number of facts is visible."
    )
    noise: float = Field(
        0.01, gt=0, lt=1, description="Probability of a fact between entities that are not visible to each other."
    )
    per_predicate: bool = Field(default=True, description="Scale the dimensions differently for each predicate.")


@register
class LatentSpace(Decomposition):
    """Positions that move little from one time to the next (Sarkar and Moore 2006), learned by gradient.

    X[s, p, o, t] = log(K σ(r − d) + (1 − K) ρ)    d = ‖z_p ⊙ (x_s(t) − x_o(t))‖    K = (1 − d²/r²)² within r, else 0
    x: entity, z: predicate, ρ: noise, r = radius · max over both entities of (facts + 1) / (mean of facts + 1)

    x(t) goes straight from knot to knot; the penalty (Δ² is the paper's) is that of the steps between knots.
    """

    name = "latent"
    formula = "log(K σ(r − d) + (1 − K) ρ), d = ‖z_p ⊙ (x_s(t) − x_o(t))‖"
    Options = LatentOptions

    x: Table
    z: Table
    positions: Tensor  # (T + 1,), of timestamps
    span: Tensor  # (2,), the first and last position that training knew
    degree: Tensor  # (E,), facts of an entity

    def __init__(self, sizes: Sizes, options: LatentOptions | None = None) -> None:
        super().__init__(sizes, options)
        self.register_buffer("positions", torch.zeros(sizes.timestamps + 1, dtype=torch.int64), persistent=False)
        self.register_buffer("span", torch.full((2,), UNSET))
        self.register_buffer("degree", torch.zeros(sizes.entities, dtype=torch.int64), persistent=False)

    @classmethod
    def tables(cls, o: LatentOptions) -> dict[str, Table]:
        found = {"x": real_rows(Axis.ENTITY, o.knots, o.rank, initial=normal(0.1))}
        return found | ({"z": real_rows(Axis.PREDICATE, o.rank, initial=around(1))} if o.per_predicate else {})

    def recall(self, background: Background) -> None:
        places, facts = torch.tensor(background.positions), background.facts
        if len(places):
            self.positions.fill_(int(places[-1]))[: len(places)] = places.to(self.positions)
            if int(self.span[1]) == UNSET:  # times that are added later stay at the last knot
                self.span.copy_(torch.stack([places[0], places[-1]]))
        count = np.bincount(np.concatenate([facts.subject, facts.object]), minlength=self.sizes.entities)
        self.degree.copy_(torch.from_numpy(count))

    def place(self, e: Tensor, t: Tensor) -> Tensor:  # (…, rank)
        """x_e(t), with ids that broadcast."""
        first, last = self.span.tolist()
        rows = self.x(e).flatten(0, -3)  # (n, knots, rank)
        share = ((self.positions[t] - first).to(rows) / max(1, last - first)).clamp(0, 1) * (self.options.knots - 1)
        before = share.long().clamp(max=self.options.knots - 2)
        number = torch.arange(len(rows), device=e.device).view(e.shape)
        place: Tensor = torch.lerp(rows[number, before], rows[number, before + 1], (share - before)[..., None])
        return place

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        gap = self.place(s, t) - self.place(o, t)
        d: Tensor = torch.linalg.vector_norm(self.z(p) * gap if self.options.per_predicate else gap, dim=-1)
        facts = self.degree.to(d)
        r = self.options.radius * (torch.maximum(facts[s], facts[o]) + 1) / (facts.mean() + 1)
        near = (1 - (d / r).square()).clamp(min=0).square()
        probability: Tensor = near * torch.sigmoid(r - d) + (1 - near) * self.options.noise
        return probability.log()

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """The steps of the entities from knot to knot."""
        return [Factor(1, self.x(e).diff(dim=-2)) for e in (s, o)]
