"""Trials of points: each one run folder, trained once; valid chooses among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from knowwhen.errors import RunError
from knowwhen.facts.catalog import load
from knowwhen.facts.dataset import Dataset
from knowwhen.trained import TrainedModel, train
from knowwhen.training.config import NOT_OF_THE_RESULT, read_config
from knowwhen.training.run import RunFolder
from knowwhen.training.session import TrainingProgress
from knowwhen.tuning.space import Point, point_of


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A point that was run."""

    point: Point
    valid_mrr: float
    folder: Path  # of its run


AnyTrial = TypeVar("AnyTrial", bound=Trial)


def choose(trials: Sequence[AnyTrial]) -> AnyTrial:
    """The trial that is best on valid; the first of equals."""
    return max(trials, key=lambda trial: trial.valid_mrr)


def train_point(
    data: str | Dataset, recipe: str, point: Point, folder: Path, progress: TrainingProgress | None = None
) -> TrainedModel:
    """The model of a recipe changed by a point: trained, or as far as it is not in the folder yet."""
    check_point(recipe, point, folder)
    if RunFolder(folder).exists:
        return train(None, run=folder, resume=True, progress=progress)
    return train(load(data), recipe, run=folder, progress=progress, overrides=point)


def check_point(recipe: str, point: Point, folder: Path) -> None:
    """Refuses a folder whose run, done or begun, has other settings than the recipe as it is now and the point give."""
    if not RunFolder(folder).exists:
        return
    theirs, ours = (point_of(c) for c in (RunFolder(folder).read_config(), read_config(recipe, point)))
    changed = sorted(name for name in ours if theirs[name] != ours[name] and name not in NOT_OF_THE_RESULT)
    if changed:
        raise RunError(f"{folder} was run with other settings ({', '.join(changed)}); move it away to run it again")
