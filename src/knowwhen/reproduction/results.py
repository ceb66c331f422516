"""Experiments run, and their results kept beside them: result.json in each run folder."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from knowwhen.errors import DamagedFile, RunError
from knowwhen.files import write_whole, writing
from knowwhen.limits import physical_bytes
from knowwhen.reproduction.experiments import Entry, Experiment, Measured
from knowwhen.training.session import TrainingProgress
from knowwhen.tuning.study import Trial, check_point

FILE = "result.json"


@dataclass(frozen=True, kw_only=True)
class Result(Entry, Measured, Trial):
    """What an experiment gave, and all that is needed to get it again."""

    commit: str
    machine: str

    def to_dict(self) -> dict[str, Any]:
        """All of it in JSON's types, but for the folder, which may be moved."""
        return {name: value for name, value in vars(self).items() if name != "folder"}


def run(experiment: Experiment, runs: Path, progress: TrainingProgress | None = None) -> Result:
    """The result of an experiment: read where it is done, else measured."""
    folder = runs / experiment.name
    check_point(experiment.recipe, experiment.overrides, folder)
    done = read(folder)
    if done is not None:
        return done
    result = Result(
        **{field.name: getattr(experiment, field.name) for field in fields(Entry)},
        **vars(experiment.measure(experiment, folder, progress)),
        folder=folder,
        commit=_commit(),
        machine=_machine(),
    )
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / FILE, (json.dumps(result.to_dict(), indent=1) + "\n").encode())
    return result


def read(folder: Path) -> Result | None:
    """The result of a run folder, None where there is none yet."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedFile(f"cannot read {path}: {error}; delete it, and its run is measured again") from error
    if not isinstance(values, dict) or {"folder", *values} != {field.name for field in fields(Result)}:
        raise RunError(f"{path} is of an earlier version; delete it, and its run is measured again without training")
    return Result(**values | {"folder": folder, "tried": tuple(values["tried"])})


def read_all(runs: Path) -> list[Result]:
    """Every result under a folder of runs, in order of name."""
    found = (read(folder) for folder in sorted(runs.iterdir())) if runs.is_dir() else ()
    return [result for result in found if result is not None]


def those(results: Sequence[Result], **wanted: object) -> list[Result]:
    """The results with some values: those(results, data="icews14", row="tntcomplex")."""
    return [r for r in results if all(getattr(r, name) == value for name, value in wanted.items())]


def _machine() -> str:
    return f"{os.cpu_count() or 1} cores, {round(physical_bytes() / 2**30)} GB"


def _commit() -> str:
    """The commit of this checkout, or 'unknown' where it is not one."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
