"""What is minimised on a batch of facts: losses and penalties by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from knowwhen.facts.index.known import KnownFacts
from knowwhen.models import TemporalModel
from knowwhen.models.scores import Scores
from knowwhen.training import negatives
from knowwhen.training.config import Config, ObjectiveConfig, RegularizerConfig
from knowwhen.training.losses import cross_entropy, without
from knowwhen.training.regularizers import delta, omega3, smoothness
from knowwhen.training.sampled import Sample, Sampler, sampled_cross_entropy
from knowwhen.training.softmax import Precision


@dataclass(frozen=True)
class Batch:
    """Facts of one step, each at one timestamp; `dated` says which have a time of their own."""

    s: Tensor
    p: Tensor
    o: Tensor
    t: Tensor
    dated: Tensor  # (b,), bool
    asked: Tensor | None = None  # (b,), the row of each in train
    others: tuple[Tensor, Tensor] | None = None  # row and object of other true answers that are no rivals

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
    sampler: Sampler | None = None  # of candidates; None: all entities
    known: KnownFacts | None = None  # what is true, where labels are all of it

    @classmethod
    def of(
        cls,
        config: Config,
        gaps: Tensor | None = None,
        sampler: Sampler | None = None,
        known: KnownFacts | None = None,
    ) -> Objective:
        settings = config.objective, config.regularizer, config.training.precision
        return cls(*settings, gaps, config.evidence.dropout, sampler, known)

    def terms(self, model: TemporalModel, batch: Batch) -> dict[str, Tensor]:
        """Each term with its weight, by name; their sum is what is minimised."""
        with model.step(batch.s, batch.p, batch.o):
            found = self.apart_losses(model, batch) if model.apart else {"objects": self.object_loss(model, batch)}
            if self.objective.time_weight and model.decomposition.temporal and batch.dated.any():
                found["times"] = self.objective.time_weight * self.time_loss(model, batch)
            return found | self.penalties(model, batch)

    def penalties(self, model: TemporalModel, batch: Batch) -> dict[str, Tensor]:
        """Ω or Δ, and Λ; a model without factors or without a table of timestamps has none."""
        facts, found, penalty = (batch.s, batch.p, batch.o, batch.t), dict[str, Tensor](), self.regularizer
        if penalty.embedding != "none" and penalty.embedding_weight:
            own = model.decomposition.factors if penalty.embedding == "omega3" else model.decomposition.separate_factors
            factors = own(*facts) + model.evidence_factors(batch.p)
            if factors:
                value = omega3(factors) if penalty.embedding == "omega3" else delta(factors, int(penalty.embedding[-1]))
                found["embedding_penalty"] = penalty.embedding_weight * value
        axes = model.decomposition.time_axes() if penalty.time_weight else []
        if axes:
            smooth = torch.stack([smoothness(axis, penalty.time_p, self.gaps) for axis in axes]).sum()
            found["time_penalty"] = penalty.time_weight * smooth
        return found

    def object_loss(self, model: TemporalModel, batch: Batch) -> Tensor:
        """ℓ: by default cross-entropy of the true object among all entities, or a sample of them, batch mean.

        Evidence is dropped for the first of the batch, which is as good as at random: facts are shuffled.
        """
        skipped = round(self.dropout * len(batch))
        asked = None if batch.asked is None else batch.asked[skipped:]
        scores = model.objects(batch.s, batch.p, batch.t, skipped=skipped, asked=asked)
        return self._loss(scores, batch, None if self.sampler is None else self.sampler.draw(batch.o))

    def apart_losses(self, model: TemporalModel, batch: Batch) -> dict[str, Tensor]:
        """ℓ of the decomposition, and ℓ of evidence, each as if the other were not there."""
        decomposition, evidence = model.objects_apart(batch.s, batch.p, batch.t, batch.asked)
        sample = None if self.sampler is None else self.sampler.draw(batch.o)
        alone = replace(batch, others=None)
        return {"objects": self._loss(decomposition, alone, sample), "evidence": self._loss(evidence, batch, sample)}

    def _loss(self, scores: Scores, batch: Batch, sample: Sample | None) -> Tensor:
        settings = self.objective
        if settings.loss == "binary" and settings.sampling == "none":
            return negatives.binary_loss_of_all(scores, *self._true(scores, batch), settings.label_smoothing)
        if batch.others is not None and settings.loss != "binary":  # which has no rivals
            scores = without(scores, *batch.others)
        if settings.sampling == "each":
            return self._loss_of_each(negatives.with_negatives(scores, batch.o, settings.negatives))
        if sample is None:
            return cross_entropy(scores, batch.o, self.precision)
        return sampled_cross_entropy(scores, batch.o, sample, self.precision)

    def _loss_of_each(self, x: Tensor) -> Tensor:  # (b, 1 + n)
        """The loss of targets and the negatives drawn for each."""
        settings = self.objective
        if settings.loss == "margin":
            return negatives.margin_loss(x, settings.margin)
        if settings.loss == "negative_sampling":
            return negatives.negative_sampling_loss(x, settings.margin, settings.adversarial)
        if settings.loss == "binary":
            return negatives.binary_loss(x, settings.label_smoothing)
        return negatives.softmax_loss(x)

    def _true(self, scores: Scores, batch: Batch) -> tuple[Tensor, Tensor]:  # (m,), (m,)
        """Which cells are true."""
        if self.known is None:
            return torch.arange(len(batch), device=batch.o.device), batch.o
        found = self.known.objects(*(column.cpu().numpy() for column in (batch.s, batch.p, batch.t)))
        rows, columns = (torch.from_numpy(ids).to(batch.o.device) for ids in found)
        different = torch.unique(rows * scores.columns + columns)  # spans may overlap
        return different // scores.columns, different % scores.columns

    def time_loss(self, model: TemporalModel, batch: Batch) -> Tensor:
        """ℓ̃: cross-entropy of the true time along the time axis, over the dated facts; undated ones count as 0."""
        rows = batch.dated.nonzero()[:, 0]
        times = model.decomposition.times(batch.s[rows], batch.p[rows], batch.o[rows])
        return cross_entropy(times, batch.t[rows], self.precision) * (len(rows) / len(batch))


def total(terms: dict[str, Tensor]) -> Tensor:
    return torch.stack([term.reshape(()) for term in terms.values()]).sum()
