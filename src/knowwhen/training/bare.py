"""A fit and no more: no copy of the data, no calibration, no time head. What a trial of a study needs."""

from __future__ import annotations

from typing import Any

from knowwhen.errors import RunError
from knowwhen.facts.dataset import Dataset
from knowwhen.training.beginning import check_fits
from knowwhen.training.config import NOT_OF_THE_RESULT, Config
from knowwhen.training.loop import Record
from knowwhen.training.notes import check_format
from knowwhen.training.run import RunFolder
from knowwhen.training.session import TrainingProgress, threads_for, using_threads
from knowwhen.training.stages import learn_stages


def fit_bare(folder: RunFolder, dataset: Dataset, config: Config, progress: TrainingProgress) -> list[Record]:
    """The records of a run on train and valid, begun in a folder that the caller has locked, or continued there.

    It never sees the facts of test. `knowwhen train DATA --run FOLDER --resume` makes a model for use of it.
    """
    threads = threads_for(config, len(dataset.entities))
    if not folder.exists:
        check_fits(config, dataset)
        folder.create(config, dataset, {}, threads, with_data=False)
    elif _of_the_result(folder.read_config()) != _of_the_result(config) or _data_hash(folder) != dataset.hash:
        raise RunError(f"{folder.path} was started with other settings or data; move it away to start again")
    with using_threads(threads):
        _, state = learn_stages(folder, dataset.without_test, config, progress)
    return state.records


def _of_the_result(config: Config) -> dict[str, Any]:
    return {name: value for name, value in config.flat().items() if name not in NOT_OF_THE_RESULT}


def _data_hash(folder: RunFolder) -> str:
    return str(check_format(folder.config)["data_hash"])
