"""Experiments measured once: trained as far as they are not yet, and their results stored."""

from __future__ import annotations

from dataclasses import fields
from itertools import count
from pathlib import Path

from knowwhen.reproduction.checking import asked_settings, differing, flaw_of
from knowwhen.reproduction.experiments import Entry, Experiment
from knowwhen.reproduction.machine import commit, machine, peak_memory
from knowwhen.reproduction.numbers import FIRST, numbers_of
from knowwhen.reproduction.results import Result, path_of, read_result, write_result
from knowwhen.training.run import RunFolder
from knowwhen.training.session import TrainingProgress
from knowwhen.tuning.space import Point, point_of


def run(experiment: Experiment, runs: Path, store: Path, progress: TrainingProgress | None = None) -> Result:
    """The result of an experiment: the stored one where that is today's, else measured and stored."""
    path = path_of(experiment, store)
    if path.is_file():
        stored = read_result(path)
        if not stored.is_provisional and not flaw_of(stored, experiment):
            return stored
    folder, made_by = folder_for(experiment, runs), commit()
    with peak_memory() as peak:
        measured = experiment.measure(experiment, folder, progress)
    result = Result(
        **{field.name: getattr(experiment, field.name) for field in fields(Entry)},
        **vars(measured),
        commit=made_by,
        machine=machine(),
        memory_gb=peak.gigabytes,
        numbers=numbers_of(measured.settings, asks_times=bool(measured.test["times"])),
    )
    write_result(result, store)
    return result


def folder_for(experiment: Experiment, runs: Path) -> Path:
    """The folder of a run that has these settings and today's numbers, or the first that is free."""
    settings = asked_settings(experiment)
    numbers = numbers_of(settings, asks_times=experiment.asks_times)
    raised = (f"-{area}{n}" for area, n in numbers.items() if n > FIRST[area] and area != "evaluation")
    name = experiment.name + "".join(raised)
    folders = (runs / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(folder for folder in folders if _is_of(folder, settings))


def _is_of(folder: Path, settings: Point) -> bool:
    run = RunFolder(folder)
    return not run.exists or not differing(point_of(run.read_config()), settings)
