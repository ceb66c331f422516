"""From facts to a trained model, in a folder that can be resumed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from knowwhen.distributed.processes import first_then_all
from knowwhen.distributed.shard import is_first
from knowwhen.facts.catalog import load
from knowwhen.models import model_named
from knowwhen.trained.model import TrainedModel
from knowwhen.training.beginning import begin
from knowwhen.training.config import full_name
from knowwhen.training.loop import Record
from knowwhen.training.run import RunFolder
from knowwhen.training.saved import save_model
from knowwhen.training.session import Silent, TrainingProgress, listener, say_threads, threads_for, using_threads
from knowwhen.training.stages import train_stages


def train(
    data: Any,
    recipe: str | Path | None = None,
    *,
    run: str | Path | None = None,
    resume: bool = False,
    progress: bool | TrainingProgress | Callable[[Record], object] | None = None,
    overrides: Mapping[str, object] | None = None,
    allow_code: bool = False,
    reading: Mapping[str, Any] | None = None,
    **options: object,
) -> TrainedModel:
    """Train a model and return it: the best on validation, if there are validation facts.

    - `data`: whatever `knowwhen.load` takes, read with the options in `reading`, or a loaded dataset; None to resume.
    - `recipe`: a name or a TOML file of settings.
    - `options`: settings by short name, such as `model="tntcomplex"`, `rank=64` or `epochs=20`.
    - `overrides`: settings by full name, such as `{"regularizer.time_weight": 0.1}`.
    - `run`: a folder for the run, which `resume=True` continues; without it, the run is kept in memory. Ctrl-C saves,
      then stops.
    - `progress`: True shows progress on stderr; a function is called with the record of each epoch, as in `records`.
    - `allow_code`: import the class of a model of your own if the recipe or the run names it. Its name is
      "my_module:MyModel".
    """
    listening = listener(progress)
    named = options.get("model") or (overrides or {}).get("model.name")
    if named is not None:
        model_named(str(named), allow_import=True)  # so that its own options have names
    changes = {**{full_name(name): value for name, value in options.items()}, **(overrides or {})}
    if run is None:
        with tempfile.TemporaryDirectory(prefix="knowwhen-") as aside:
            where = Path(aside) / "run"
            data = load(data, **(reading or {}))
            kept = train(data, recipe, run=where, progress=listening, overrides=changes, allow_code=allow_code)
            return replace(kept, path=None)
    folder = RunFolder(Path(run))
    with folder.locked():
        dataset, config = first_then_all(
            lambda: begin(folder, data, recipe, changes, resume, allow_code, reading),
            lambda: (folder.load_data(), folder.read_config(allow_import="model.name" in changes or allow_code)),
        )
        threads, telling = threads_for(config, len(dataset.entities)), listening if is_first() else Silent()
        for note in dataset.notes:
            telling.notice(f"note: {note}")
        say_threads(folder, threads, telling)
        with using_threads(threads):
            found = train_stages(folder, dataset, config, telling)
        calibration, times = found.calibration, found.times
        trained = TrainedModel(found.model, dataset, config, found.records, folder.path, calibration, times=times)
        with folder.finishing(dataset) as home:
            for part in (calibration, times):
                if part is not None and is_first():
                    part.save(home)
            save_model(home, found.model, trained.card())
        return trained
