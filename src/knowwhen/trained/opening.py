"""From a folder to a trained model."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from knowwhen.dating import TimeHead
from knowwhen.distributed.shard import current
from knowwhen.errors import BadRequest, RunError
from knowwhen.evaluation import Calibration
from knowwhen.facts.catalog import load
from knowwhen.folders import check_run, is_model, model_folder
from knowwhen.models import Background
from knowwhen.trained.adding import addition_folders, with_facts
from knowwhen.trained.model import TrainedModel
from knowwhen.training.config import read_config
from knowwhen.training.notes import check_format
from knowwhen.training.run import RunFolder
from knowwhen.training.saved import check_whole, load_data, load_model, read_about
from knowwhen.training.stages import check_device, new_model


def open(path: str | Path, *, device: str | None = None, allow_code: bool = False, verify: bool = True) -> TrainedModel:
    """Open a trained model from a run folder (the best so far, if the run is not finished) or a saved model.

    `device` is by default the one it was trained on, if available, else the CPU. If the model's class is not part of
    this package, register it, or let `allow_code` import it by the name in the folder. All files are compared with
    their SHA-256, and the data with the training data; `verify=False` skips that.
    """
    path = Path(path) if isinstance(path, (str, os.PathLike)) else path
    check_run(path)
    trained = _open(path, device, allow_code, verify)
    for folder in addition_folders(path):
        if current() is not None:
            raise BadRequest(f"facts were added to {path} after training, so it needs a single process")
        granularity = str(trained.dataset.timeline.granularity)
        trained = with_facts(trained, load(folder, granularity=granularity, verify=verify))
    return trained


def _open(path: Path, device: str | None, allow_code: bool, verify: bool) -> TrainedModel:
    """What was trained, without what was added later."""
    folder, is_saved = RunFolder(path), is_model(path)
    home, calibration = model_folder(path), None
    notes = check_format(path / "config.toml")
    if is_saved or folder.is_finished:
        if (home / "model.json").exists():
            read_about(home)  # of another version: said before its files are compared
        if verify:
            check_whole(home, notes)
        dataset = load_data(home, notes, verify=verify)
        model, calibration = load_model(home, dataset, allow_import=allow_code), Calibration.load(home)
        config = read_config(path / "config.toml") if is_saved else folder.read_config()
        times = TimeHead.load(home)
    else:  # not finished, so not calibrated
        if not folder.has_data:
            raise RunError(
                f"{path} is a trial of a study, without a copy of its data; "
                f"turn it into a model with: knowwhen train DATA --run {path} --resume"
            )
        config, dataset = folder.read_config(allow_import=allow_code), load_data(home, notes, verify=verify)
        model, times = folder.load_weights(new_model(config, dataset)), None
    model.to(_device(device, config.training.device)).recall(Background.of(dataset)).eval()
    records, times = [] if is_saved else folder.records(), times and times.recall(dataset)
    version = str(notes.get("knowwhen", "before 0.2.0"))
    return TrainedModel(model, dataset, config, records, path, calibration, times=times, version=version)


def _device(wanted: str | None, trained_on: str) -> str:
    if wanted is not None:
        check_device(wanted)
        return wanted
    return trained_on if trained_on.startswith("cuda") and torch.cuda.is_available() else "cpu"
