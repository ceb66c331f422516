"""Probabilities that can be believed: one temperature per kind of question, fitted on valid.

A question is a valid fact at a timestamp drawn from its span, with one place unknown; other answers that are known to
be right are left out, as in filtered ranks. softmax(score / T) is calibrated when, of the answers given with confidence
0.7, seven in ten are right (Guo et al. 2017, "On Calibration of Modern Neural Networks").
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from knowwhen import chunks
from knowwhen.errors import DamagedFile
from knowwhen.evaluation.intervals import gaeiou
from knowwhen.evaluation.probabilities import time_curves
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.questions import SLOTS, Questions, Slot, answer_count, ask, check_finite, sample_facts
from knowwhen.evaluation.spans import SPAN_SHARE, grow_spans
from knowwhen.evaluation.times import is_closed
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Ints
from knowwhen.files import write_whole
from knowwhen.models import TemporalModel

FILE = "calibration.json"
FACTS = 2_000  # of valid: more do not move one number
EVIDENT: dict[Slot, int] = {"time": 200, "predicate": 500}  # facts where evidence is gathered anew for each answer
SCORES = 200_000_000  # looked at in one pass: fewer facts where each has many possible answers
KEPT = 50_000_000  # scores that stay in memory from one pass to the next
SPAN_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
LIMITS = (1e-3, 1e3)  # of 1 / T


@dataclass(frozen=True)
class Fit:
    """A temperature, and the mean of -log p(right answer) on valid without and with it."""

    temperature: float
    loss_before: float
    loss_after: float
    facts: int


@dataclass(frozen=True)
class Calibration:
    """What was fitted on valid: temperatures by kind of question, and where spans of time end."""

    fits: Mapping[Slot, Fit]
    span_share: float  # of the peak of a curve over time: a span holds as much probability as lies above it

    def save(self, folder: Path) -> None:
        values = {"questions": {slot: asdict(fit) for slot, fit in self.fits.items()}, "span_share": self.span_share}
        write_whole(folder / FILE, (json.dumps(values, indent=1) + "\n").encode())

    @classmethod
    def load(cls, folder: Path) -> Calibration | None:
        """The calibration of a model's folder; None where it has none."""
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            fits = {slot: Fit(**values["questions"][slot]) for slot in SLOTS if slot in values["questions"]}
            return cls(fits, float(values["span_share"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DamagedFile(f"cannot read {path}: {error}; delete it to ask without calibration") from error


def temperature_of(calibration: Calibration | None, slot: Slot) -> float:
    """What scores are divided by; 1 where nothing was fitted."""
    fit = calibration.fits.get(slot) if calibration else None
    return fit.temperature if fit else 1.0


def calibrate(model: TemporalModel, dataset: Dataset, *, facts: int = FACTS, seed: int = 0) -> Calibration | None:
    """Temperatures fitted on valid, or on `facts` facts of it; None where there is no valid split."""
    if not len(dataset.valid):
        return None
    fits: dict[Slot, Fit] = {}
    for slot in SLOTS:
        questions = draw_questions(model, dataset, "valid", slot, facts, seed)
        if questions is not None:
            fits[slot] = fit_temperature(questions.moments, len(questions))
    temperature = fits["time"].temperature if "time" in fits else 1.0
    return Calibration(fits, _fit_span_share(model, dataset, temperature))


@dataclass(frozen=True, eq=False)
class ScoredQuestions:
    """Questions of one kind with filtered scores; those that may not fit in memory are made anew in each pass."""

    model: TemporalModel
    slot: Slot
    questions: Questions
    others: tuple[Ints, Ints]  # rows, in order, and other right answers of them

    def __len__(self) -> int:
        return len(self.questions)

    def batches(self) -> Iterable[tuple[Tensor, Tensor]]:  # (b, n), (b,)
        """Scores, -inf for what is left out, and right answers."""
        return self._kept if len(self) * answer_count(self.slot, self.model.sizes) <= KEPT else self._scored()

    @cached_property
    def _kept(self) -> list[tuple[Tensor, Tensor]]:
        return list(self._scored())

    @torch.no_grad()
    def _scored(self) -> Iterator[tuple[Tensor, Tensor]]:
        n, device = answer_count(self.slot, self.model.sizes), self.model.device
        rows, others = self.others
        for part in chunks.slices(len(self), chunks.rows_at_once(n)):
            questions = self.questions[part]
            scores = check_finite(questions.scores(self.model).at(slice(0, n)), self.model.name).clone()
            first, last = np.searchsorted(rows, [part.start, part.stop])
            cells = (torch.from_numpy(ids).to(device) for ids in (rows[first:last] - part.start, others[first:last]))
            scores[tuple(cells)] = -torch.inf
            yield scores, torch.from_numpy(questions.answers.copy()).to(device)

    def moments(self, inverse: float) -> tuple[float, float, float]:
        """The mean loss at 1 / T = `inverse`, and its first and second derivative by it.

        loss = log Σ exp(β x) - β x[target]; its derivatives are the mean of x under softmax(β x), less x[target], and
        the variance of x.
        """
        sums = np.zeros(3)
        for scores, target in self.batches():
            chosen = scores.gather(-1, target[:, None])[:, 0].double()
            probability = (inverse * scores).softmax(-1)
            finite = scores.masked_fill(scores == -torch.inf, 0)
            mean = (probability * finite).sum(-1).double()
            variance = (probability * (finite - mean[:, None].to(finite.dtype)) ** 2).sum(-1).double()
            loss = (inverse * scores).logsumexp(-1).double() - inverse * chosen
            sums += [float(column.sum()) for column in (loss, mean - chosen, variance)]
        loss, slope, curvature = (sums / len(self)).tolist()
        return loss, slope, curvature


def draw_questions(
    model: TemporalModel, dataset: Dataset, split: str, slot: Slot, facts: int, seed: int = 0
) -> ScoredQuestions | None:
    """Questions of one kind about facts of a split; None where there are none, or the model has no say in them."""
    width = answer_count(slot, model.sizes)
    if width < 2 or (slot == "time" and not model.temporal):
        return None
    if model.terms:
        facts = min(facts, EVIDENT.get(slot, facts))
    some = sample_facts(dataset, split, max(1, min(facts, SCORES // width)), seed)
    if slot == "time":
        some = some[~some.is_static]
    if not len(some):
        return None
    questions = ask(some, model.sizes, Protocol(seed=seed), slot)
    return ScoredQuestions(model, slot, questions, questions.others(dataset.known_to(split)))


def fit_temperature(moments: Callable[[float], tuple[float, float, float]], facts: int, passes: int = 25) -> Fit:
    """The temperature of the least loss: Newton's method on 1 / T, in which the loss is convex, kept in a bracket."""
    low, high = LIMITS
    before, slope, curvature = moments(1.0)
    inverse, loss = 1.0, before
    for _ in range(passes):
        low, high = (inverse, high) if slope < 0 else (low, inverse)
        step = inverse - slope / curvature if curvature > 0 else math.inf
        wanted = step if low < step < high else math.sqrt(low * high)
        if abs(wanted - inverse) <= 1e-4 * inverse:
            break
        inverse = wanted
        loss, slope, curvature = moments(inverse)
    return Fit(1 / inverse, before, loss, facts) if loss < before else Fit(1.0, before, before, facts)


def _fit_span_share(model: TemporalModel, dataset: Dataset, temperature: float) -> float:
    """The share of a curve's peak at which predicted spans fit those of valid best, by gaeIOU on average."""
    most = EVIDENT["time"] if model.terms else FACTS
    facts = dataset.valid[is_closed(dataset.valid)][:most]
    if not model.temporal or not facts.is_interval.any():
        return SPAN_SHARE
    _, curves = time_curves(model, facts.subject, facts.predicate, facts.object, temperature)
    at = dataset.timeline.positions

    def fit(share: float) -> float:
        first, last = grow_spans(curves, share)
        return float(gaeiou(at[first], at[last], at[facts.begin], at[facts.end]).mean())

    return max(SPAN_SHARES, key=fit)
