"""R-GCN: entities are what their neighbours in the training graph make of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from knowwhen.facts.table import Facts
from knowwhen.models.base import Decomposition, Factor, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.sizes import Background, Sizes
from knowwhen.models.tables import Axis, Table, real_rows, shared_lookups, xavier


class RGCNOptions(RankOptions):
    layers: int = Field(2, ge=1, description="Layers of message passing.")
    bases: int = Field(5, ge=1, description="Basis matrices shared by all predicates.")
    dropout: float = Field(0.2, ge=0, lt=1, description="Dropout in each layer.")


@register
class RGCN(Decomposition):
    """A relational graph convolution with a DistMult decoder (Schlichtkrull et al. 2018); the same at all times.

    X[s, p, o, t] = ⟨h_s, v_p, h_o⟩    h: the last layer, v: predicate
    h'_i = σ(h_i W₀ + Σ_(j, p) h_j W_p / c_i)    W_p = Σ_b a_pb V_b    (j, p): edges to i, c_i: their number

    Edges are the different (s, p, o) of the facts, in both directions. In a training step those of its own facts are
    hidden, or they would tell the answer.
    """

    name = "rgcn"
    formula = "⟨h_s, v_p, h_o⟩, h of the graph"
    temporal: ClassVar[bool] = False
    Options = RGCNOptions

    x: Table
    v: Table
    keys: Tensor  # (m,), the edges in order, as numbers

    def __init__(self, sizes: Sizes, options: RGCNOptions | None = None) -> None:
        super().__init__(sizes, options)
        self.dropout = nn.Dropout(self.options.dropout)
        self.register_buffer("keys", torch.empty(0, dtype=torch.int64), persistent=False)
        self._hidden: Tensor | None = None  # the edges of this step's facts
        self._encoded: tuple[object, Tensor] | None = None  # what it was made of, and h

    @classmethod
    def tables(cls, o: RGCNOptions) -> dict[str, Table]:
        # Messages place a new entity: its own features stay zero.
        features = Table(Axis.ENTITY, o.rank, initial=xavier(), placed=False)
        found = {"x": features, "v": real_rows(Axis.PREDICATE, o.rank, initial=xavier())}
        for layer in range(o.layers):
            found[f"own_{layer}"] = real_rows(Axis.NONE, o.rank, o.rank, initial=xavier())  # W₀
            found[f"bases_{layer}"] = real_rows(Axis.NONE, o.bases, o.rank, o.rank, initial=xavier())  # V
            found[f"shares_{layer}"] = real_rows(Axis.PREDICATE, o.bases, initial=xavier())  # a
        return found

    def recall(self, background: Background) -> None:
        P, facts = self.sizes.predicates, background.facts
        both = Facts.concatenate(facts, facts.reciprocal(P))
        key = (both.subject * 2 * P + both.predicate) * self.sizes.entities + both.object
        self.keys, self._encoded = torch.from_numpy(np.unique(key)).to(self.keys.device), None

    def _key(self, s: Tensor, p: Tensor, o: Tensor) -> Tensor:
        return (s * 2 * self.sizes.predicates + p) * self.sizes.entities + o

    @contextmanager
    def step(self, s: Tensor, p: Tensor, o: Tensor) -> Iterator[None]:
        """Inside, the graph is encoded once, without the edges of the facts from either side."""
        P = self.sizes.predicates
        self._hidden, self._encoded = torch.cat([self._key(s, p, o), self._key(o, (p + P) % (2 * P), s)]), None
        try:
            with shared_lookups():
                yield
        finally:
            self._hidden = self._encoded = None

    def entity_rows(self) -> Tensor:  # (E, d)
        """h: made once in a step, and once as long as nothing changes where nothing is learned."""
        versions = tuple(parameter._version for parameter in self.parameters())
        made_of = (versions, self.training, torch.is_grad_enabled(), self.x.weight.dtype, self.x.weight.device)
        if self._encoded is not None and self._encoded[0] == made_of:
            return self._encoded[1]
        rows = self._encode()
        if self._hidden is not None or not torch.is_grad_enabled():
            self._encoded = (made_of, rows)
        return rows

    def _encode(self) -> Tensor:  # (E, d)
        E, R = self.sizes.entities, 2 * self.sizes.predicates
        keys = self.keys if self._hidden is None else self.keys[~torch.isin(self.keys, self._hidden)]
        target, p, source = keys // (R * E), keys // E % R, keys % E
        degree = torch.bincount(target, minlength=E).clamp(min=1)[target]
        h = self.x()
        for layer in range(self.options.layers):
            own, bases, shares = (self.get_submodule(f"{part}_{layer}") for part in ("own", "bases", "shares"))
            weights = shares(p) / degree[:, None]  # (m, bases)
            following = h @ own()
            for b, base in enumerate(bases()):
                # Naive equivalent: `for i, j, w in zip(target, source, weights[:, b]): following[i] += w * h[j] @ base`
                messages = (h @ base).index_select(0, source) * weights[:, b, None]
                following = following.index_add(0, target, messages)
            h = self.dropout(following if layer + 1 == self.options.layers else following.relu())
        return h

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        h = self.entity_rows()
        return (h[s] * self.v(p) * h[o]).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        h = self.entity_rows()
        return Product(h[s] * self.v(p), h)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        h = self.entity_rows()
        return Product(h[s] * h[o], self.v)

    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        h = self.entity_rows()
        return [Factor(1, h[s]), Factor(1, h[o]), Factor(1, self.v(p))]
