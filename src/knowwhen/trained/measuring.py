"""How good a trained model is; facts that were added after training are left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from knowwhen.console import Progress
from knowwhen.dating import believed, measure_holding
from knowwhen.errors import BadRequest
from knowwhen.evaluation import (
    CalibrationReport,
    Metrics,
    Protocol,
    TimeMetrics,
    calibration_report,
    evaluate,
    evaluate_times,
    ranks_of,
)
from knowwhen.facts.dataset import row_keys

if TYPE_CHECKING:
    from knowwhen.trained.model import TrainedModel


def measured(trained: TrainedModel, split: str, with_added: bool) -> TrainedModel:
    """The model as it was trained, or with what was added, if it holds none of the split."""
    if not with_added:
        return trained.trained
    inside = int(np.isin(row_keys(trained.dataset.facts(split)), row_keys(trained.dataset.added)).sum())
    if inside:
        raise BadRequest(f"{inside} facts of {split} were added to the model, so it would be tested on facts it knows")
    return trained


def measure(
    trained: TrainedModel,
    split: str,
    protocol: Protocol | None,
    sample: int | None,
    progress: bool | Progress | None,
    with_added: bool,
) -> Metrics:
    found = measured(trained, split, with_added)
    return evaluate(found.model, found.dataset, split, protocol, sample=sample, progress=progress)


def rank(
    trained: TrainedModel,
    split: str,
    protocol: Protocol | None,
    sample: int | None,
    progress: bool | Progress | None,
    with_added: bool,
) -> pl.DataFrame:
    found = measured(trained, split, with_added)
    return ranks_of(found.model, found.dataset, split, protocol, sample=sample, progress=progress)


def measure_times(
    trained: TrainedModel, split: str, sample: int | None, seed: int, progress: bool | Progress | None, greedy: bool
) -> TimeMetrics:
    model, dataset, head = trained.model, trained.dataset, None if greedy else trained.times
    answers = None if head is None else believed(head, model)
    found = evaluate_times(model, dataset, split, sample=sample, seed=seed, progress=progress, head=answers)
    if head is None:
        return found
    return replace(found, holds=measure_holding(head, model, dataset, split, facts=sample, seed=seed))


def measure_calibration(trained: TrainedModel, split: str, sample: int | None, seed: int) -> CalibrationReport:
    return calibration_report(trained.model, trained.dataset, split, trained.calibration, sample=sample, seed=seed)
