"""How far probabilities can be believed: confidence beside accuracy, by kind of question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from knowwhen.drawable import Drawable
from knowwhen.errors import BadRequest
from knowwhen.evaluation.bins import BINS, Reliability, reliability
from knowwhen.evaluation.calibration import (
    FACTS,
    Calibration,
    ScoredQuestions,
    draw_questions,
    temperature_of,
)
from knowwhen.evaluation.questions import SLOTS, Slot
from knowwhen.facts.dataset import Dataset
from knowwhen.models import TemporalModel
from knowwhen.text import brief, table


def measure(questions: ScoredQuestions, temperature: float) -> tuple[Reliability, float]:
    """How the confidence in first answers compares with how often they are right, and the mean loss."""
    found, right, losses = [], [], []
    for scores, target in questions.batches():
        logs = (scores / temperature).log_softmax(-1)
        best, first = logs.max(-1)
        found.append(best.double().exp().cpu().numpy())
        right.append((first == target).cpu().numpy())
        losses.append(-logs.gather(-1, target[:, None])[:, 0].double().cpu().numpy())
    return reliability(np.concatenate(found), np.concatenate(right)), float(np.concatenate(losses).mean())


@dataclass(frozen=True)
class SlotReport:
    """The reliability of probabilities for one kind of question, without a temperature and with it."""

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

    def __repr__(self) -> str:
        found = ", ".join(f"{slot} {one.after.expected_calibration_error:.4f}" for slot, one in self.slots.items())
        return brief(self, f"on {self.split}: ECE {found}")

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
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
        foot = "temperatures fitted on validation" if self.calibrated else "the model is not calibrated"
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
        (before, loss_before), (after, loss_after) = (measure(questions, x) for x in (1.0, temperature))
        found[slot] = SlotReport(temperature, len(questions), loss_before, loss_after, before, after)
    if not found:
        raise BadRequest(f"{dataset.name} has no facts in {split} to measure calibration on")
    return CalibrationReport(split, calibration is not None, found)
