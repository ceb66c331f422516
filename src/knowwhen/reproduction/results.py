"""Experiments run, and their results kept beside them: result.json in each run folder."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from knowwhen.errors import RunError
from knowwhen.evaluation import Metrics, PairCounts, Protocol, evaluate
from knowwhen.facts.catalog import load
from knowwhen.files import write_whole
from knowwhen.reproduction.experiments import BASELINE, Experiment
from knowwhen.trained import TrainedModel, train
from knowwhen.training.config import read_config
from knowwhen.training.run import RunFolder
from knowwhen.training.session import TrainingProgress

FILE = "result.json"
NOT_OF_THE_RESULT = ("training.threads", "training.device")


@dataclass(frozen=True)
class Result:
    """What an experiment gave, and all that is needed to get it again."""

    table: str
    row: str
    data: str
    seed: int
    choice: str
    valid_mrr: float
    test: dict[str, Any]  # mrr, hits@1, hits@3, hits@10, count, protocol, support
    t_mrr: float | None
    nt_mrr: float | None
    times: dict[str, Any] | None  # of time questions, where they were measured
    rank: int
    parameters: int
    epochs: int
    minutes: float
    settings: dict[str, Any]
    commit: str
    cores: int
    gigabytes: int


def run(experiment: Experiment, runs: Path, progress: TrainingProgress | None = None) -> Result:
    """The result of an experiment: read where it is done, resumed where it was begun, else trained."""
    folder = RunFolder(runs / experiment.name)
    begun = folder.exists
    if begun:
        _check_settings(experiment, folder)
    done = read(folder.path)
    if done is not None:
        return done
    if experiment.row == BASELINE:
        folder.path.mkdir(parents=True, exist_ok=True)
        return _keep(measure_baseline(experiment), folder.path)
    data = None if begun else load(experiment.data)
    recipe = None if begun else experiment.recipe
    overrides = {} if begun else experiment.settings
    trained = train(data, recipe, run=folder.path, resume=True, progress=progress, overrides=overrides)
    return _keep(measure(experiment, trained, folder.path), folder.path)


def _check_settings(experiment: Experiment, folder: RunFolder) -> None:
    """A run that is there already, done or begun, must be of this experiment and its recipe as they are now."""
    theirs, ours = (
        {f"{section}.{key}": value for section, values in config.model_dump().items() for key, value in values.items()}
        for config in (folder.read_config(), read_config(experiment.recipe, experiment.settings))
    )
    changed = sorted(key for key in ours if theirs[key] != ours[key] and key not in NOT_OF_THE_RESULT)
    if changed:
        raise RunError(f"{folder.path} was run with other settings ({', '.join(changed)}); move it away to run it anew")


def _keep(result: Result, folder: Path) -> Result:
    write_whole(folder / FILE, (json.dumps(asdict(result), indent=1) + "\n").encode())
    return result


def measure(experiment: Experiment, trained: TrainedModel, folder: Path) -> Result:
    """The test scores of a finished run; nothing was chosen by them."""
    metrics = trained.evaluate("test", protocol=Protocol(directions=experiment.directions))  # type: ignore[arg-type]
    timed = (
        trained.evaluate_times("test").to_dict() if experiment.table == "wikidata" and trained.model.temporal else None
    )
    info = trained.info()
    return Result(
        experiment.table,
        experiment.row,
        experiment.data,
        experiment.seed,
        experiment.choice,
        info["best_valid_mrr"],
        _scores(metrics),
        metrics.t_mrr,
        metrics.nt_mrr,
        timed,
        info["rank"],
        info["parameters"],
        info["epochs"],
        round(_seconds(folder) / 60, 1),
        {"recipe": experiment.recipe, **experiment.settings},
        *_where(),
    )


def measure_baseline(experiment: Experiment) -> Result:
    """The scores of counting, whose weights valid has chosen; the rank is 0, for there are no embeddings."""
    began = time.monotonic()
    data, window = load(experiment.data), experiment.overrides.get("window")
    assert window is None or isinstance(window, int)
    counts = PairCounts.tune(data, window, experiment.seed)
    valid, test = (evaluate(counts, data, split) for split in ("valid", "test"))
    weights = int((counts.weights > 0).sum())
    minutes = round((time.monotonic() - began) / 60, 1)
    return Result(
        experiment.table,
        experiment.row,
        experiment.data,
        experiment.seed,
        experiment.choice,
        valid.mrr,
        _scores(test),
        test.t_mrr,
        test.nt_mrr,
        None,
        0,
        weights,
        0,
        minutes,
        counts.to_dict(),
        *_where(),
    )


def _scores(metrics: Metrics) -> dict[str, Any]:
    values = metrics.to_dict()
    support = {name: {k: group[k] for k in ("mrr", "count")} for name, group in values["groups"]["support"].items()}
    return {
        **{key: values[key] for key in ("mrr", "hits@1", "hits@3", "hits@10", "count", "protocol")},
        "support": support,
    }


def _where() -> tuple[str, int, int]:
    """Commit, cores and gigabytes of memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return _commit(), os.cpu_count() or 1, round(memory / 2**30)


def read(folder: Path) -> Result | None:
    """The result of a run folder, None where there is none yet."""
    path = folder / FILE
    return Result(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def read_all(runs: Path) -> list[Result]:
    """Every result under a folder of runs, in order of name."""
    found = (read(folder) for folder in sorted(runs.iterdir())) if runs.is_dir() else ()
    return [result for result in found if result is not None]


def chosen(results: list[Result]) -> Result:
    """Of results that differ by a choice, the one that is best on valid."""
    return max(results, key=lambda result: result.valid_mrr)


def _seconds(folder: Path) -> float:
    lines = (folder / "timing.jsonl").read_text(encoding="utf-8").splitlines()
    return sum(float(json.loads(line)["seconds"]) for line in lines)


def _commit() -> str:
    """The commit of this checkout, or the version where it is not one."""
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
