"""SimplE and HolE, static products of real vectors beside CP and DistMult."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from knowwhen.models.base import Decomposition, RankOptions
from knowwhen.models.registry import register
from knowwhen.models.scores import Product, Scores
from knowwhen.models.tables import Axis, Table, real_rows


@register
class SimplE(Decomposition):
    """CP in which a subject's and an object's row learn of each other (Kazemi and Poole 2018); the same at all times.

    X[s, p, o, t] = ½ (⟨h_s, v_p, k_o⟩ + ⟨h_o, v_p⁻¹, k_s⟩)    h, k: entity as head, as tail; v: predicate

    p⁻¹ is the inverse predicate p + P; a row of u is [h ; k].
    """

    name = "simple"
    formula = "½ (⟨h_s, v_p, k_o⟩ + ⟨h_o, v_p⁻¹, k_s⟩)"
    temporal: ClassVar[bool] = False

    u: Table
    v: Table

    @classmethod
    def tables(cls, o: RankOptions) -> dict[str, Table]:
        return {"u": real_rows(Axis.ENTITY, 2 * o.rank), "v": real_rows(Axis.PREDICATE, o.rank)}

    def _swapped(self, e: Tensor) -> Tensor:  # (…, 2r): [k ; h]
        head, tail = self.u(e).chunk(2, dim=-1)
        return torch.cat([tail, head], dim=-1)

    def _query(self, s: Tensor, p: Tensor) -> Tensor:  # (…, 2r), beside [h_o ; k_o]
        inverse = (p + self.sizes.predicates) % (2 * self.sizes.predicates)
        return self._swapped(s) * torch.cat([self.v(inverse), self.v(p)], dim=-1) / 2

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self._query(s, p) * self.u(o)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self._query(s, p), self.u)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        backward, forward = (self._swapped(s) * self.u(o) / 2).chunk(2, dim=-1)
        inverses = torch.roll(self.v(), self.sizes.predicates, dims=0)
        return Product(forward, self.v) + Product(backward, inverses)


@register
class HolE(Decomposition):
    """Holographic embeddings: predicates read circular correlations of pairs (Nickel et al. 2016); static.

    X[s, p, o, t] = ⟨v_p, u_s ⋆ u_o⟩    (a ⋆ b)_k = Σ_i a_i b_(i + k mod r)    u: entity, v: predicate

    It is also ⟨u_s ∗ v_p, u_o⟩ with the circular convolution ∗, which is a product of Fourier transforms.
    """

    name = "hole"
    formula = "⟨v_p, u_s ⋆ u_o⟩, ⋆: circular correlation"
    temporal: ClassVar[bool] = False

    u: Table
    v: Table

    @classmethod
    def tables(cls, o: RankOptions) -> dict[str, Table]:
        return {"u": real_rows(Axis.ENTITY, o.rank), "v": real_rows(Axis.PREDICATE, o.rank)}

    def _query(self, s: Tensor, p: Tensor) -> Tensor:  # (…, r)
        query: Tensor = torch.fft.irfft(torch.fft.rfft(self.u(s)) * torch.fft.rfft(self.v(p)), self.options.rank)
        return query

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        return (self._query(s, p) * self.u(o)).sum(-1)

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        return Product(self._query(s, p), self.u)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:
        pair = torch.fft.rfft(self.u(s)).conj() * torch.fft.rfft(self.u(o))
        return Product(torch.fft.irfft(pair, self.options.rank), self.v)
