"""How long an experiment will take: from results of the same model on the same data, else from what a step costs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from knowwhen.reproduction.checking import asked_settings
from knowwhen.reproduction.experiments import Experiment, Setting
from knowwhen.reproduction.results import Result
from knowwhen.training.sampled import negatives_for


class Shape(NamedTuple):
    """Of a dataset."""

    facts: int  # of train
    entities: int


SHAPES = {
    "leaders": Shape(3_608, 1_487),
    "icews14": Shape(72_826, 7_128),
    "icews05-15": Shape(368_962, 10_488),
    "yago15k": Shape(110_439, 15_403),
    "wikidata12k": Shape(32_497, 12_554),
    "politicians": Shape(366_690, 98_317),
    "generated": Shape(7_200_000, 432_715),
    "wikidata": Shape(7_200_000, 432_715),
}
UNKNOWN = Shape(100_000, 10_000)
OPERATIONS = 6e10  # a second, of the three products of a step; results correct it by their median
EVIDENCE = 2.5e-4  # seconds for a fact with evidence
COUNTING = 4e-6  # minutes for a fact, with the choice of weights
BESIDE = 1.25  # training, validation and test together, for training alone
ALIKE = (Setting.MODEL, Setting.RANK, Setting.SAMPLING, Setting.NEGATIVES, Setting.EVIDENCE)


def estimated_hours(experiment: Experiment, found: Sequence[Result]) -> float:
    """Hours to the end of a run, all of its epochs, on a machine as the results were measured on."""
    settings = asked_settings(experiment)
    if not experiment.recipe:
        alike = [r.minutes for r in found if (r.row, r.data) == (experiment.row, experiment.data)]
        return (statistics.median(alike) if alike else COUNTING * _shape(experiment.data).facts) / 60
    key = _key(experiment.data, settings)
    alike = [r.minutes / r.epochs for r in found if r.epochs and _key(r.data, r.settings) == key]
    epoch = statistics.median(alike) if alike else _correction(found) * _epoch_minutes(experiment.data, settings)
    return BESIDE * epoch * int(settings[Setting.EPOCHS]) / 60


def _key(data: str, settings: Mapping[str, Any]) -> list[Any]:
    return [data, *(settings.get(name) for name in ALIKE)]


def _epoch_minutes(data: str, settings: Mapping[str, Any]) -> float:
    facts, entities = _shape(data)
    sampling, wanted = settings.get(Setting.SAMPLING, "none"), min(entities, settings.get(Setting.NEGATIVES) or 0)
    batch = 0 if sampling == "each" else int(settings["training.batch_size"])
    candidates = entities if sampling == "none" else min(entities, negatives_for(entities, wanted) + batch)
    product = 6 * candidates * 2 * int(settings.get(Setting.RANK, 100)) / OPERATIONS
    return 2 * facts * (product + EVIDENCE * bool(settings.get(Setting.EVIDENCE))) / 60


def _correction(found: Sequence[Result]) -> float:
    """How much longer epochs took than they should have, in the middle."""
    trained = [r for r in found if r.epochs and r.minutes and r.settings.get(Setting.RANK)]
    return statistics.median([r.minutes / r.epochs / _epoch_minutes(r.data, r.settings) for r in trained] or [1.0])


def _shape(data: str) -> Shape:
    return SHAPES.get(data, UNKNOWN)
