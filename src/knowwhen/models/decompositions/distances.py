"""What models by distance share: a query is a point, and its objects are the entities near it."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from knowwhen.models.base import Decomposition, RankOptions
from knowwhen.models.scores import Distance, KeyedDistance, Scores
from knowwhen.models.tables import Table


class DistanceOptions(RankOptions):
    norm: Literal[1, 2] = Field(1, description="Norm of the distance: L1 or L2.")


class DistanceModel(Decomposition):
    """X[s, p, o, t] = −‖point(s, p, t) − place(o, p or t)‖.

    A model gives `point`, and `place` where an entity is not at its own row u; `key` says what its place depends on.
    """

    Options = DistanceOptions
    key: ClassVar[Literal["", "p", "t"]] = ""

    u: Table

    @abstractmethod
    def point(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (…, d)
        """Where the objects of a query are looked for, with ids that broadcast."""

    def place(self, o: Tensor, key: Tensor) -> Tensor:  # (…, d)
        """Where an entity is, with ids that broadcast."""
        return self.u(o)

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        gap = self.point(s, p, t) - self.place(o, t if self.key == "t" else p)
        distance: Tensor = torch.linalg.vector_norm(gap, self.options.norm, dim=-1)
        return -distance

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        point, norm = self.point(s, p, t), self.options.norm
        if not self.key:
            return Distance(point, self.u, norm)
        return KeyedDistance(point, t if self.key == "t" else p, self.sizes.entities, self.place, norm)
