"""Probabilities that can be believed: one temperature per kind of question, fitted on valid, and how well that fits.

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
from typing import Any

import numpy as np
import torch
from torch import Tensor

from knowwhen.errors import BadRequest, DamagedFile, NonFiniteScores
from knowwhen.evaluation.evaluate import sample_facts
from knowwhen.evaluation.intervals import gaeiou
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.queries import query_times
from knowwhen.evaluation.report import table
from knowwhen.evaluation.times import is_closed
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Bools, Facts, Ints, holding
from knowwhen.files import write_whole
from knowwhen.models import TemporalModel
from knowwhen.query.drawable import Drawable
from knowwhen.query.scoring import (
    SLOTS,
    Floats,
    Slot,
    depends_on_time,
    rows_at_once,
    score_rows,
    time_curves,
    width_of,
)
from knowwhen.query.spans import SPAN_SHARE, grow_spans

FILE = "calibration.json"
FACTS = 2_000  # of valid: more do not move one number
EVIDENT: dict[Slot, int] = {"time": 200, "predicate": 500}  # facts where evidence is weighed anew for each answer
SCORES = 200_000_000  # looked at in one pass: fewer facts where each has many possible answers
KEPT = 50_000_000  # scores that stay in memory from one pass to the next
BINS = 15
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
        except (ValueError, KeyError, TypeError) as error:
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
class Drawn:
    """Questions of one kind with their right answers; scores that may not fit in memory are made anew in each pass."""

    model: TemporalModel
    slot: Slot
    facts: Facts
    t: Ints
    left_out: tuple[Ints, Ints]  # rows, in order, and other right answers of them

    def __len__(self) -> int:
        return len(self.facts)

    def batches(self) -> Iterable[tuple[Tensor, Tensor]]:  # (b, n), (b,)
        """Scores, -inf for what is left out, and right answers."""
        return self._kept if len(self) * width_of(self.slot, self.model.sizes) <= KEPT else self._scored()

    @cached_property
    def _kept(self) -> list[tuple[Tensor, Tensor]]:
        return list(self._scored())

    @torch.no_grad()
    def _scored(self) -> Iterator[tuple[Tensor, Tensor]]:
        size, device = rows_at_once(width_of(self.slot, self.model.sizes)), self.model.candidates().device
        rows, others = self.left_out
        for start in range(0, len(self), size):
            part, t = self.facts[start : start + size], self.t[start : start + size]
            scores, target = _score(self.model, self.slot, part, t)
            if not scores.isfinite().all():
                raise NonFiniteScores(f"{self.model.name} gave scores that are not finite; lower the learning rate")
            first, last = np.searchsorted(rows, [start, start + size])
            cells = (torch.from_numpy(ids).to(device) for ids in (rows[first:last] - start, others[first:last]))
            scores[tuple(cells)] = -torch.inf
            yield scores, target.to(device)

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

    def reliability(self, temperature: float) -> tuple[Reliability, float]:
        """How the confidence in first answers compares with how often they are right, and the mean loss."""
        found, right, losses = [], [], []
        for scores, target in self.batches():
            logs = (scores / temperature).log_softmax(-1)
            best, first = logs.max(-1)
            found.append(best.double().exp().cpu().numpy())
            right.append((first == target).cpu().numpy())
            losses.append(-logs.gather(-1, target[:, None])[:, 0].double().cpu().numpy())
        return reliability(np.concatenate(found), np.concatenate(right)), float(np.concatenate(losses).mean())


def draw_questions(
    model: TemporalModel, dataset: Dataset, split: str, slot: Slot, facts: int, seed: int = 0
) -> Drawn | None:
    """Questions of one kind about facts of a split; None where there are none, or the model has no say in them."""
    width = width_of(slot, model.sizes)
    if width < 2 or (slot == "time" and not depends_on_time(model)):
        return None
    if model.evidence_terms():
        facts = min(facts, EVIDENT.get(slot, facts))
    some = sample_facts(dataset, split, max(1, min(facts, SCORES // width)), seed)
    if slot == "time":
        some = some[~some.is_static]
    if not len(some):
        return None
    _, t, _ = query_times(some, model.sizes, Protocol(seed=seed))
    return Drawn(model, slot, some, t, _other_answers(dataset, slot, some, t, model))


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


def _score(model: TemporalModel, slot: Slot, facts: Facts, t: Ints) -> tuple[Tensor, Tensor]:
    device, P = model.candidates().device, model.sizes.predicates
    s, p, o, at = (torch.from_numpy(c.copy()).to(device) for c in (facts.subject, facts.predicate, facts.object, t))
    if slot == "time":
        return model.score_timestamps(s, p, o), at
    a, b, target = {"object": (s, p, o), "subject": (o, p + P, s), "predicate": (s, o, p)}[slot]
    return score_rows(model, slot, a, b, at), target


def _other_answers(
    dataset: Dataset, slot: Slot, facts: Facts, t: Ints, model: TemporalModel
) -> tuple[Ints, Ints]:  # rows in order, answers
    """Pairs of a question's row and an answer that is right as well."""
    if slot in ("object", "subject"):
        asked = facts if slot == "object" else facts.reciprocal(model.sizes.predicates)
        rows, answers = dataset.known.objects(asked.subject, asked.predicate, t)
        target = asked.object
    else:
        # The whole span of a fact is its answer, of which one timestamp was drawn: the drawn one is no other answer,
        # and the rest of the span is a rival, as it is where probabilities along time sum to 1.
        found = [_known_answers(dataset, slot, fact, at) for fact, at in zip(facts.rows().tolist(), t, strict=True)]
        rows = np.repeat(np.arange(len(facts)), [len(some) for some in found])
        answers = np.concatenate([*found, np.empty(0, np.int64)])
        target = facts.predicate if slot == "predicate" else t
    others = answers != target[rows]
    order = np.argsort(rows[others], kind="stable")
    return rows[others][order], answers[others][order]


def _known_answers(dataset: Dataset, slot: Slot, fact: list[int], t: int) -> Ints:
    s, p, o, begin, end = fact
    if slot == "predicate":
        return np.unique(holding(dataset.spans.between(s, o), range(t, t + 1)).predicate)
    spans = dataset.spans.of(s, p, o)
    others = spans[~spans.is_static & ((spans.begin != begin) | (spans.end != end))]
    own = set(_ids(begin, end, len(dataset.timeline)))
    found = {i for b, e in zip(others.begin, others.end, strict=True) for i in _ids(b, e, len(dataset.timeline))}
    return np.array(sorted(found - own), np.int64)


def _ids(begin: int, end: int, timestamps: int) -> range:
    """The timestamps of a span; an open end, which is -1, reaches to that of the axis."""
    return range(max(begin, 0), (end if end >= 0 else timestamps - 1) + 1)


def _fit_span_share(model: TemporalModel, dataset: Dataset, temperature: float) -> float:
    """The share of a curve's peak at which predicted spans fit those of valid best, by gaeIOU on average."""
    facts = dataset.valid[is_closed(dataset.valid)][:FACTS]
    if not depends_on_time(model) or not facts.is_interval.any():
        return SPAN_SHARE
    _, curves = time_curves(model, facts.subject, facts.predicate, facts.object, temperature)
    at = dataset.timeline.positions

    def fit(share: float) -> float:
        first, last = grow_spans(curves, share)
        return float(gaeiou(at[first], at[last], at[facts.begin], at[facts.end]).mean())

    return max(SPAN_SHARES, key=fit)


@dataclass(frozen=True)
class Bin:
    """Questions that were answered with about the same confidence; both numbers are means over them."""

    confidence: float
    accuracy: float
    count: int


@dataclass(frozen=True)
class Reliability:
    """Confidence beside accuracy, and their mean distance."""

    bins: tuple[Bin, ...]  # in order of confidence, without empty ones
    expected_calibration_error: float


def reliability(confidence: Floats, right: Bools, bins: int = BINS) -> Reliability:
    """Answers in bins of equal width; the error is Σ_bins count / n · |accuracy - confidence|."""
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    found = [
        Bin(float(confidence[place == i].mean()), float(right[place == i].mean()), int((place == i).sum()))
        for i in np.unique(place)
    ]
    error = sum(one.count * abs(one.accuracy - one.confidence) for one in found) / max(1, len(confidence))
    return Reliability(tuple(found), error)


@dataclass(frozen=True)
class SlotReport:
    """How far the probabilities of one kind of question can be believed, without a temperature and with it."""

    temperature: float
    questions: int
    loss_before: float
    loss_after: float
    before: Reliability
    after: Reliability


@dataclass(frozen=True)
class CalibrationReport(Drawable):
    """Reliability by kind of question on a split."""

    split: str
    calibrated: bool
    slots: Mapping[Slot, SlotReport]

    def to_dict(self) -> dict[str, Any]:
        """All of it in JSON's types."""
        return asdict(self)

    def __str__(self) -> str:
        head = ("questions for", "temperature", "ECE without", "ECE", "loss without", "loss", "questions")
        rows = [
            (
                slot,
                f"{r.temperature:.3f}",
                *(f"{x.expected_calibration_error:.4f}" for x in (r.before, r.after)),
                *(f"{x:.4f}" for x in (r.loss_before, r.loss_after)),
                f"{r.questions:,}",
            )
            for slot, r in self.slots.items()
        ]
        foot = "temperatures fitted on valid" if self.calibrated else "the model is not calibrated"
        return "\n".join([*table([head, *rows]), "", f"{foot}; ECE in {BINS} bins on {self.split}, filtered by time"])


def calibration_report(
    model: TemporalModel,
    dataset: Dataset,
    split: str,
    calibration: Calibration | None,
    *,
    sample: int | None = None,
    seed: int = 0,
) -> CalibrationReport:
    """Expected calibration error, cross-entropy and reliability of each kind of question about a split."""
    found: dict[Slot, SlotReport] = {}
    for slot in SLOTS:
        questions = draw_questions(model, dataset, split, slot, FACTS if sample is None else sample, seed)
        if questions is None:
            continue
        temperature = temperature_of(calibration, slot)
        (before, loss_before), (after, loss_after) = (questions.reliability(x) for x in (1.0, temperature))
        found[slot] = SlotReport(temperature, len(questions), loss_before, loss_after, before, after)
    if not found:
        raise BadRequest(f"{dataset.name} has nothing to ask about in {split}")
    return CalibrationReport(split, calibration is not None, found)
