"""The data and settings of a run: of a new one, or of one that is to go on, which they must fit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from knowwhen.distributed.shard import current
from knowwhen.distributed.started import local_size
from knowwhen.errors import BadRequest, RunError
from knowwhen.facts.catalog import load
from knowwhen.facts.dataset import Dataset
from knowwhen.limits import physical_bytes
from knowwhen.models import Sizes, build, model_named
from knowwhen.training.config import Config, read_config
from knowwhen.training.notes import check_format
from knowwhen.training.run import RunFolder
from knowwhen.training.sampled import negatives_for
from knowwhen.training.session import threads_for
from knowwhen.training.stages import check_device

MAY_CHANGE_ON_RESUME = ("training.epochs", "validation.every", "validation.patience")


def begin(
    folder: RunFolder,
    data: Any,
    recipe: str | Path | None,
    changes: Mapping[str, object],
    resume: bool,
    allow_code: bool,
    reading: Mapping[str, Any] | None = None,
) -> tuple[Dataset, Config]:
    """The data and settings of a new run, or of the one that is to go on."""
    given: Dataset | None = None if data is None else load(data, **(reading or {}))
    named = "model.name" in changes or allow_code  # whoever names a class allows its code; a recipe does not
    if not (resume and folder.exists):
        if given is None:
            raise BadRequest(f"no run to resume in {folder.path}; name the data to start one")
        config = read_config(recipe, changes, allow_import=named)
        check_fits(config, given)
        threads = threads_for(config, len(given.entities))
        folder.create(config, given, {"recipe": str(recipe)} if recipe else {}, threads)
        return given, config
    if "model.name" in changes:
        model_named(str(changes["model.name"]), allow_import=True)
    dataset, config = _data_of(folder, given), folder.read_config(allow_import=allow_code)
    wanted = read_config(recipe if recipe is not None else folder.config, changes)
    then, now = config.flat(), wanted.flat()
    for name in [*then, *now]:
        if then.get(name) != now.get(name) and name not in MAY_CHANGE_ON_RESUME:
            raise RunError(
                f"{folder.path} was started with {name} = {then.get(name)!r}, not {now.get(name)!r}; "
                "start a new run to change it"
            )
    if wanted != config:
        folder.change_config(wanted)
    return dataset, wanted


def _data_of(folder: RunFolder, given: Dataset | None) -> Dataset:
    """The data that a run began with; one without a copy, such as a trial, takes a copy of what is given."""
    if folder.has_data:
        then = folder.load_data()
        hash = then.hash
    elif given is not None:
        then, hash = given, str(check_format(folder.config)["data_hash"])
    else:
        raise BadRequest(f"{folder.path} keeps no copy of its data; name the data to train on")
    if given is not None and given.hash != hash:
        raise RunError(
            f"the data differs from that of {folder.path}: hash {given.hash[:12]}, not {hash[:12]}; "
            "start a new run, or leave out DATA to resume with the original data"
        )
    if not folder.has_data:
        folder.keep_data(then)
    return then


def check_memory(config: Config, dataset: Dataset) -> None:
    """An error where weights, gradients and the optimizer's sums could never fit into this machine."""
    with torch.device("meta"):  # shapes alone
        try:
            model = build(config.specification(Sizes.of(dataset, config.model.undated == "own")))
        except (RuntimeError, NotImplementedError, OverflowError, TypeError) as error:
            if "numel" in str(error) or "overflow" in str(error).lower():
                raise BadRequest("the model is too large for any machine; choose a smaller model.rank") from error
            return  # a model of one's own that needs values
    # Several processes on this machine have their rows each.
    needed, there = 3 * local_size() * sum(parameter.nbytes for parameter in model.parameters()), physical_bytes()
    if there and needed > there and config.training.device == "cpu":
        raise BadRequest(
            f"training this model takes {needed / 1e9:,.0f} GB, but this machine has {there / 1e9:,.0f}; "
            "choose a smaller model.rank"
        )


def check_fits(config: Config, dataset: Dataset) -> None:
    """An error before anything is written, where settings do not go with the machine or the data."""
    check_device(config.training.device)
    if current() is not None and config.correction.held_out:
        raise BadRequest("correction.held_out needs a single process; set it to 0 for several")
    loss, sampling = config.objective.loss, config.objective.sampling
    if current() is not None and (loss != "softmax" or sampling == "each"):
        raise BadRequest(
            f"objective.loss = {loss} with objective.sampling = {sampling} needs a single process; use softmax with "
            "sampling none, uniform or auto for several"
        )
    check_memory(config, dataset)
    if config.objective.sampling != "none":
        negatives_for(len(dataset.entities), config.objective.negatives)
