"""`knowwhen.compare`: trained models on the same facts, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from knowwhen.console import Progress
from knowwhen.errors import BadRequest
from knowwhen.evaluation import Protocol
from knowwhen.evaluation.bootstrap import RESAMPLES
from knowwhen.evaluation.comparison import ComparedRun, Comparison, compare_ranks
from knowwhen.evaluation.evaluate import rank_split, support_of
from knowwhen.facts.dataset import Dataset, row_keys
from knowwhen.trained import TrainedModel, open
from knowwhen.training.notes import read_lines
from knowwhen.training.run import RunFolder

Telling = Callable[[str, int, int], None]
"""Called with the name of a run, the number of queries done and the total."""


def compare(
    *models: TrainedModel | str | Path,
    split: str = "test",
    protocol: Protocol | None = None,
    sample: int | None = None,
    resamples: int = RESAMPLES,
    names: Sequence[str] | None = None,
    progress: bool | Telling | None = None,
) -> Comparison:
    """Compare several models on one split: their metrics, and differences to the first with 95 % intervals.

    Models are trained models or run folders, all with the same data and splits. The intervals come from a paired
    bootstrap over facts, with the protocol's seed: each resample has the same facts for all models.
    `progress=True` shows a bar on stderr.
    """
    if len(models) < 2:
        raise BadRequest(f"{len(models)} run to compare; expected at least two")
    if resamples < 1:
        raise BadRequest(f"resamples is {resamples}; expected at least 1")
    if names is not None and len(names) != len(models):
        raise BadRequest(f"{len(names)} names for {len(models)} models; expected as many")
    opened = [(one if isinstance(one, TrainedModel) else open(one)).trained for one in models]
    called = list(names or _names(opened))
    for one, name in zip(opened[1:], called[1:], strict=True):
        _check_same(opened[0].dataset, one.dataset, called[0], name)
    protocol, dataset = protocol or Protocol(), opened[0].dataset
    ranks = [
        rank_split(one.model, one.dataset, split, protocol, sample=sample, progress=_told(progress, name))
        for one, name in zip(opened, called, strict=True)
    ]
    return compare_ranks(
        [_about(one, name) for one, name in zip(opened, called, strict=True)],
        ranks,
        [support_of(one, dataset, split) for one in ranks],
        dataset.predicates.keys.to_list(),
        split,
        resamples=resamples,
        seed=protocol.seed,
    )


def _names(models: Sequence[TrainedModel]) -> list[str]:
    """The folders of the models, or numbers where they have none."""
    return [f"model {i}" if one.path is None else str(one.path) for i, one in enumerate(models, 1)]


def _check_same(first: Dataset, other: Dataset, name: str, other_name: str) -> None:
    if first.hash == other.hash:
        return
    if _same_facts(first, other):
        raise BadRequest(f"{other_name} and {name} have the same facts in different splits; compare runs of one split")
    raise BadRequest(
        f"{other_name} has other data than {name}: {other.name} with hash {other.hash[:12]}, not {first.name} with "
        f"hash {first.hash[:12]}; compare runs on the same facts in the same splits"
    )


def _same_facts(first: Dataset, other: Dataset) -> bool:
    """Whether only the splits differ."""
    names = (first.entities, other.entities), (first.predicates, other.predicates)
    if not all(a.keys.equals(b.keys) for a, b in names) or first.timeline.labels() != other.timeline.labels():
        return False
    ours, theirs = (np.sort(row_keys(data.all_facts)) for data in (first, other))
    return np.array_equal(ours, theirs)


def _told(progress: bool | Telling | None, name: str) -> bool | Progress | None:
    return (lambda done, total: progress(name, done, total)) if callable(progress) else progress


def _about(model: TrainedModel, name: str) -> ComparedRun:
    timing, minutes = RunFolder(model.path).timing if model.path is not None else None, None
    if timing is not None and timing.is_file():
        minutes = round(sum(record.get("seconds", 0) for record in read_lines(timing)) / 60, 2)
    return ComparedRun(name, model.model.name, model.model.parameter_count(), minutes)
