"""Experiments: a row of a table measured once, by training or by counting, with the command that does it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import torch

from knowwhen.evaluation import Metrics, PairCounts, Protocol, evaluate
from knowwhen.reproduction.machine import versions
from knowwhen.reproduction.sources import load_data
from knowwhen.trained import TrainedModel
from knowwhen.training.loop import Record
from knowwhen.training.notes import check_format, read_lines
from knowwhen.training.run import RunFolder
from knowwhen.training.session import TrainingProgress
from knowwhen.tuning.space import Point, point_of
from knowwhen.tuning.study import train_point


class Setting(StrEnum):
    """Every setting that a table changes or reads."""

    MODEL = "model.name"
    RANK = "model.rank"
    NORM = "model.norm"
    EVIDENCE = "model.evidence"
    HELD_OUT = "correction.held_out"
    SAMPLING = "objective.sampling"
    NEGATIVES = "objective.negatives"
    TIME_LOSS = "objective.time_weight"
    EMBEDDING = "regularizer.embedding"
    EMBEDDING_WEIGHT = "regularizer.embedding_weight"
    PASSES = "dating.passes"
    PATIENCE = "validation.patience"
    TIME_P = "regularizer.time_p"
    TIME_WEIGHT = "regularizer.time_weight"
    EPOCHS = "training.epochs"
    LEARNING_RATE = "training.learning_rate"
    SEED = "training.seed"
    WINDOW = "baseline.window"  # of counting


LOOKS = ("valid", "corrected")  # the validations of a record of an epoch
RANKING = "processor seconds of ranking"  # the test facts, beside the settings of a result
SHORT = {Setting.RANK: "rank", Setting.EMBEDDING_WEIGHT: "w", Setting.TIME_WEIGHT: "t", Setting.LEARNING_RATE: "lr"}


@dataclass(frozen=True)
class Entry:
    """Where an experiment and its result belong, and the command that makes them."""

    table: str  # others may show it too
    row: str  # entries of one row are its seeds, or points of which valid chooses one
    data: str
    point: Point
    command: str
    seed: int = 0
    tried: tuple[str, ...] = ()  # the settings of the point among whose values valid chooses

    @property
    def choice(self) -> str:
        """'rank100 w0.03': the values of the settings that are tried."""
        return " ".join(f"{SHORT[Setting(name)]}{self.point[name]:g}" for name in self.tried)

    @property
    def name(self) -> str:
        """The folder of the run."""
        parts = (self.table, self.data, self.row, self.choice, f"seed{self.seed}")
        return "-".join(part.replace(" ", "_") for part in parts if part)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What training or counting gave; nothing is chosen by test."""

    valid_mrr: float
    test: Mapping[str, Any]  # mrr, hits@1, hits@3, hits@10, count, protocol, support, t_mrr, nt_mrr, times
    rank: int = 0  # where there are embeddings
    parameters: int
    epochs: int = 0
    minutes: float  # of training, without validation and test
    processor_minutes: float | None = None  # of them: other programs on the machine do not lengthen these
    settings: Mapping[str, Any]  # all of them, and what was chosen or timed on the way
    valid: Mapping[str, Any] | None = None  # mrr, hits@1, … of the validation that was best
    curve: list[Mapping[str, Any]] = field(default_factory=list)  # validations: epoch, minutes so far, mrr
    facts_per_second: float | None = None  # of training, both directions
    threads: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    series: Mapping[str, Any] | None = None  # what a figure draws


def train_and_evaluate(experiment: Experiment, folder: Path, progress: TrainingProgress | None) -> Measured:
    """The recipe changed by the point, trained as far as it is not yet; and the ranks of the test facts."""
    data = experiment.data if RunFolder(folder).exists else load_data(experiment.data)  # a run keeps its data
    trained = train_point(data, experiment.recipe, experiment.overrides, folder, progress)
    began = time.process_time()
    metrics = trained.evaluate("test", protocol=Protocol(directions=experiment.directions))
    seconds = round(time.process_time() - began, 2)  # of the ranks alone
    asks_times = experiment.asks_times and trained.model.temporal
    times = trained.evaluate_times("test", sample=experiment.times_sample).to_dict() if asks_times else None
    info, notes = trained.info(), notes_of(RunFolder(folder))
    return Measured(
        valid_mrr=info["best_valid_mrr"],
        test=_scores(metrics) | {"times": times},
        **{name: info[name] for name in ("parameters", "epochs")},
        rank=info.get("rank", 0),
        settings={"recipe": experiment.recipe, RANKING: seconds, **point_of(trained.config)},
        series=experiment.draws(trained) if experiment.draws else None,
        **notes | {"versions": {**versions(), **notes["versions"]}},
    )


def notes_of(run: RunFolder) -> dict[str, Any]:
    """What a run folder says of its making: minutes, the validations, speed, threads and versions."""
    records, notes = run.records(), check_format(run.config)
    timing = read_lines(run.timing) if run.timing.exists() else []
    epochs = [line for line in timing if "examples_per_second" in line]  # a correction is learned after them
    looks = [(record, look) for record in records for look in LOOKS if look in record]
    spent, facts = _seconds(epochs), sum(line["seconds"] * line["examples_per_second"] for line in epochs)
    curve = []
    for record, look in looks:
        before = [line for line in epochs if line["epoch"] <= record["epoch"]] if look == "valid" else timing
        minutes = round(_seconds(before) / 60, 3)
        curve.append({"epoch": record["epoch"], "minutes": minutes, "mrr": record[look]["mrr"]})
    return {
        "minutes": round(_seconds(timing) / 60, 2),
        "processor_minutes": _processor_minutes(timing),
        "valid": max((record[look] for record, look in looks), key=lambda found: found["mrr"], default=None),
        "curve": curve,
        "facts_per_second": round(facts / spent) if spent else None,
        "threads": notes.get("threads"),
        "versions": {name: str(notes[name]) for name in ("knowwhen", "python", "torch") if name in notes},
    }


def _seconds(lines: Sequence[Record]) -> float:
    return float(sum(line.get("seconds", 0) for line in lines))


def _processor_minutes(timing: Sequence[Record]) -> float | None:
    """None where a part of the run was made before these were noted."""
    name = "processor_seconds"
    if not timing or not all(name in line for line in timing):
        return None
    return round(float(sum(line[name] for line in timing)) / 60, 2)


def count_and_evaluate(experiment: Experiment, _folder: Path, _progress: TrainingProgress | None) -> Measured:
    """The training facts of each pair counted, with weights that valid has chosen; and the ranks of the test facts."""
    began, data = time.monotonic(), load_data(experiment.data)
    counts = PairCounts.tune(data, experiment.point[Setting.WINDOW], experiment.seed)
    on_valid = evaluate(counts, data, "valid")
    return Measured(
        valid_mrr=on_valid.mrr,
        test=_scores(evaluate(counts, data, "test")) | {"times": None},
        parameters=int((counts.weights > 0).sum()),
        minutes=round((time.monotonic() - began) / 60, 2),
        settings=counts.to_dict(),
        valid=_summary(on_valid.to_dict()),
        threads=torch.get_num_threads(),
        versions=versions(),
    )


def _scores(metrics: Metrics) -> dict[str, Any]:
    values = metrics.to_dict()
    support = {name: {k: group[k] for k in ("mrr", "count")} for name, group in values["groups"]["support"].items()}
    kept = _summary(values) | {"protocol": values["protocol"]}
    return kept | {"support": support, "t_mrr": metrics.t_mrr, "nt_mrr": metrics.nt_mrr}


def _summary(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: values[key] for key in ("mrr", "hits@1", "hits@3", "hits@10", "count")}


@dataclass(frozen=True)
class Experiment(Entry):
    """An entry with the way to measure it."""

    recipe: str = ""
    directions: Literal["both", "objects"] = "both"
    asks_times: bool = False  # of temporal models
    times_sample: int | None = None  # facts of test whose times are asked for; None: all
    waits: bool = False  # for results that choose its settings
    draws: Callable[[TrainedModel], Mapping[str, Any]] | None = None  # what a figure needs of the model
    measure: Callable[[Experiment, Path, TrainingProgress | None], Measured] = train_and_evaluate

    @property
    def overrides(self) -> Point:
        """What the recipe is changed by; a time head is learned only where times are asked for."""
        return {**self.point, Setting.SEED: self.seed, **({} if self.asks_times else {Setting.PASSES: 0})}
