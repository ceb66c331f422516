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
    """Trains a model and returns it, the best on valid where there is a valid split.

    `data` is whatever `knowwhen.load` takes, read with the options in `reading`, or what it returned; None to resume.
    Settings come from a `recipe` (a name or a TOML file), then from `options` by short name (`model="tntcomplex"`,
    `rank=64`, `epochs=20`) or `overrides` by full name (`{"regularizer.time_weight": 0.1}`). With `run`, all is kept in
    that folder and `resume=True` goes on where it stopped; without, it is kept in memory. Ctrl-C saves, then stops.
    `progress=True` shows how it goes on stderr; a function is called with the record of each epoch, as in `records`.
    A model of your own is named by its class, "my_module:MyModel"; `allow_code` also imports the one that a recipe or
    the folder to resume names.
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
