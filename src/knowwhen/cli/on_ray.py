"""`knowwhen train --engine ray`: the processes are a cluster's, the run is in a folder that all of them see."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from knowwhen.cli.train import RESTARTS, about
from knowwhen.console import say
from knowwhen.distributed.on_ray import run_on_ray
from knowwhen.errors import BadRequest, RunError
from knowwhen.trained import train
from knowwhen.training.run import RunFolder

LOOK_SECONDS = 2  # between looks at a run that is trained elsewhere


def train_for_ray(**options: Any) -> dict[str, object]:
    """What a process of a Ray cluster does: it begins the run, or goes on with it after a loss."""
    return about(train(resume=True, **options))


def train_on_ray(
    run: Path, resume: bool, workers: int, address: str | None, options: dict[str, Any]
) -> dict[str, object]:
    """What the model is and its last epoch, as the first process says."""
    folder, data, recipe = RunFolder(run.resolve()), options["data"], options["recipe"]
    if folder.exists and not resume:  # said here, as the processes always go on
        raise RunError(f"{run} already contains a run; continue it with --resume, or choose another --run")
    if data == "-":
        raise BadRequest("--engine ray cannot read standard input; name a file that all machines can read")
    named = {"data": data, "recipe": recipe}
    found = {name: str(Path(at).resolve()) for name, at in named.items() if at and Path(at).exists()}
    with EpochsOf(folder):
        return run_on_ray(train_for_ray, workers, RESTARTS, address, run=folder.path, **{**options, **found})


class EpochsOf:
    """Says each epoch of a run that processes elsewhere work on, in a folder that this one sees."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder, self._over, self._said = folder, threading.Event(), 0
        self._looking = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> EpochsOf:
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._looking.join()
        self._say_new()

    def _look(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self._say_new()

    def _say_new(self) -> None:
        records = self._folder.records()
        for record in records[self._said :]:
            valid = f"  valid MRR {record['valid']['mrr']:.4f}" if "valid" in record else ""
            say(f"epoch {record['epoch']}  loss {record['loss']:.4f}{valid}")
        self._said = len(records)
