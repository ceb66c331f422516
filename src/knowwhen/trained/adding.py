"""A trained model with facts that came after training, or without those that were recorded later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowwhen.errors import RunError
from knowwhen.evaluation.evaluate import seen_entities
from knowwhen.facts.additions import extended
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Facts
from knowwhen.files import UNCHANGED, locked, writing
from knowwhen.folders import model_folder
from knowwhen.models import Background, Sizes
from knowwhen.models.growing import grown, place_unseen

if TYPE_CHECKING:
    from knowwhen.trained.model import TrainedModel


@dataclass(frozen=True)
class Additions:
    """Facts that came after training, and the model as it was trained: what is measured."""

    sources: tuple[Dataset, ...]
    before: TrainedModel


def add(trained: TrainedModel, new: Dataset) -> TrainedModel:
    """The model with more facts to draw on, which its folder keeps; itself where it has all of them."""
    found = with_facts(trained, new)
    if len(found.dataset.added) == len(trained.dataset.added):
        return trained
    if trained.path is not None:
        _keep(model_folder(trained.path) / "added", new)
    return found


def with_facts(trained: TrainedModel, new: Dataset) -> TrainedModel:
    """The model with more facts to draw on, in memory."""
    dataset, earlier = extended(trained.dataset, new)
    model = grown(trained.model, Sizes.of(dataset, trained.model.sizes.undated_row), earlier)
    model.recall(Background.of(dataset))
    place_unseen(model, Facts.concatenate(dataset.train, dataset.added), seen_entities(dataset))
    sources = trained.additions.sources if trained.additions else ()
    times = trained.times and trained.times.recall(dataset)
    additions = Additions((*sources, new), trained.trained)
    return replace(trained, model=model, dataset=dataset, additions=additions, times=times)


def known_by(trained: TrainedModel, date: str) -> TrainedModel:
    """The model with the facts that were recorded by a date."""
    dataset = trained.dataset.known_by(date)
    model = grown(trained.model, trained.model.sizes, np.arange(trained.model.sizes.timestamps))
    model.recall(Background.of(dataset))
    return replace(trained, model=model, dataset=dataset, times=trained.times and trained.times.recall(dataset))


def addition_folders(path: Path) -> list[Path]:
    """What was added to a run or model, in order; a folder with another name than a number is none of it."""
    return _numbered(model_folder(path) / "added")


def _keep(folder: Path, source: Dataset) -> None:
    """Writes what was added under the next number."""
    busy = RunError(f"another process is adding facts to {folder.parent}; wait for it, then try again")
    with writing(folder, UNCHANGED):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / ".lock", busy, passing=True):
            last = max((int(earlier.name) for earlier in _numbered(folder)), default=0)  # some may be deleted
            source.save(folder / f"{last + 1:04}")


def _numbered(folder: Path) -> list[Path]:
    return sorted(one for one in folder.glob("*") if one.name.isdigit())
