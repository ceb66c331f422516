"""What is minimised on a batch of facts: losses and penalties by name."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from knowwhen.models.base import TemporalModel
from knowwhen.training.config import Config, ObjectiveConfig, RegularizerConfig
from knowwhen.training.regularizers import delta, omega3, smoothness
from knowwhen.training.softmax import Precision, cross_entropy


@dataclass(frozen=True)
class Batch:
    """Facts of one step, each at one timestamp; `dated` says which have a time of their own."""

    s: Tensor
    p: Tensor
    o: Tensor
    t: Tensor
    dated: Tensor  # (b,), bool

    def __len__(self) -> int:
        return len(self.s)


@dataclass(frozen=True)
class Objective:
    """ℓ + α ℓ̃ + λ Ω + μ Λ (Lacroix et al. 2020, sections 3 and 5)."""

    objective: ObjectiveConfig
    regularizer: RegularizerConfig
    precision: Precision
    gaps: Tensor | None  # (T − 1,), to divide Λ by
    dropout: float  # of evidence

    @classmethod
    def of(cls, config: Config, gaps: Tensor | None = None) -> Objective:
        return cls(config.objective, config.regularizer, config.training.precision, gaps, config.evidence.dropout)

    def terms(self, model: TemporalModel, batch: Batch) -> dict[str, Tensor]:
        """Each term with its weight, by name; their sum is what is minimised."""
        with model.shared_lookups():
            return self._terms(model, batch)

    def _terms(self, model: TemporalModel, batch: Batch) -> dict[str, Tensor]:
        s, p, o, t = batch.s, batch.p, batch.o, batch.t
        terms = {"objects": self.object_loss(model, batch)}
        if self.objective.time_weight and model.temporal and batch.dated.any():
            terms["times"] = self.objective.time_weight * self.time_loss(model, batch)
        penalty = self.regularizer
        if penalty.embedding != "none" and penalty.embedding_weight:
            if penalty.embedding == "omega3":
                value = omega3(model.factors(s, p, o, t) + model.evidence_factors(p))
            else:
                factors = model.separate_factors(s, p, o, t) + model.evidence_factors(p)
                value = delta(factors, int(penalty.embedding[-1]))
            terms["embedding_penalty"] = penalty.embedding_weight * value
        if penalty.time_weight and model.temporal:
            terms["time_penalty"] = penalty.time_weight * smoothness(model.time_axis(), penalty.time_p, self.gaps)
        return terms

    def object_loss(self, model: TemporalModel, batch: Batch) -> Tensor:
        """ℓ: cross-entropy of the true object among all entities, batch mean.

        Evidence is dropped for the first of the batch, which is as good as at random: facts are shuffled.
        """
        bare = round(self.dropout * len(batch))
        query, cells = model.whole_query(batch.s, batch.p, batch.t, bare), model.cells(batch.s, batch.p, batch.t, bare)
        return cross_entropy(query, model.candidates(), batch.o, extra=cells, precision=self.precision)

    def time_loss(self, model: TemporalModel, batch: Batch) -> Tensor:
        """ℓ̃: cross-entropy of the true time along the time axis, over the dated facts; undated ones count as 0."""
        rows = batch.dated.nonzero()[:, 0]
        varying, _ = model.time_query(batch.s[rows], batch.p[rows], batch.o[rows])  # what is constant cancels
        loss = cross_entropy(varying, model.time_axis(), batch.t[rows], precision=self.precision)
        return loss * (len(rows) / len(batch))


def total(terms: dict[str, Tensor]) -> Tensor:
    return torch.stack([term.reshape(()) for term in terms.values()]).sum()
