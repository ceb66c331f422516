"""A run is a folder: settings, metrics, checkpoints and the model, each written whole or not at all. No pickle.

config.toml        settings, and what they were resolved against: data hash, versions; its last line is its own SHA-256
metrics.jsonl      a line per epoch, the same for the same seed; timing.jsonl has what is not
checkpoints/       last and previous (tensors, optimizer, state), best (tensors); each has its SHA-256 inside.
                   Several processes write an index .json each, and files of their own (`shards.py`)
model/             model.json, weights.safetensors, calibration.json, README.md, data/ (a dataset folder with names);
                   SHA256SUMS, written last: a model with it is finished. A trial of a study has none of it
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from knowwhen import checksums
from knowwhen.distributed.collectives import wait_for_all
from knowwhen.distributed.shard import Shard, is_first
from knowwhen.errors import DamagedFile, RunError
from knowwhen.facts.dataset import Dataset
from knowwhen.files import append_line, locked, remove, sweep_folders, sweep_parts, write_whole, writing
from knowwhen.folders import is_run
from knowwhen.models import TemporalModel, model_named
from knowwhen.models.registry import is_known
from knowwhen.training import checkpoint, shards
from knowwhen.training.config import Config, read_config
from knowwhen.training.loop import Learner, Record, State
from knowwhen.training.notes import REMEDY, check_format, config_text, read_lines, sealed, unsealed
from knowwhen.training.saved import load_data
from knowwhen.training.tensors import read_tensors, tensor_bytes

Found = tuple[shards.Tensors, Record]
CHECKPOINTS = ("last", "previous", "best")
LEFT_OVER = (".lock", "config.toml.part", "checkpoints", "model")  # by a beginning that was killed
LEFT_IN_MODEL = ("data", ".data.part", ".data.part.lock")


class RunFolder:
    """The files of a run, by purpose."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.toml"
        self.metrics = path / "metrics.jsonl"
        self.timing = path / "timing.jsonl"
        self.checkpoints = path / "checkpoints"
        self.model = path / "model"

    @property
    def exists(self) -> bool:
        return is_run(self.path)

    @property
    def is_finished(self) -> bool:
        """Whether a model was written for use: then it must be there."""
        return (self.model / "model.json").exists() or (self.model / checksums.FILE).exists()

    @property
    def has_data(self) -> bool:
        """Whether the run keeps a copy of its data; a trial of a study does not."""
        return (self.model / "data").exists()

    def create(
        self, config: Config, dataset: Dataset, about: dict[str, str], threads: int = 1, *, with_data: bool = True
    ) -> None:
        """Starts a run in a new or empty folder: data first, settings last, so that a folder with settings is whole."""
        if self.exists:
            raise RunError(f"{self.path} already contains a run; continue it with --resume, or choose another --run")
        if self.path.exists() and not _holds_nothing(self.path):
            raise RunError(f"{self.path} exists and is not an empty folder; choose another --run")
        with writing(self.path):
            for left in (self.checkpoints, self.model):
                remove(left)
            self.checkpoints.mkdir(parents=True)
            if with_data:
                self.keep_data(dataset)
            write_whole(self.config, config_text(config, dataset, about, threads).encode())

    def keep_data(self, dataset: Dataset) -> None:
        """Has model/data hold the dataset; it is written where it is missing or damaged."""
        data, is_whole = self.model / "data", False
        with suppress(DamagedFile):
            is_whole = checksums.verify(data, REMEDY) is not None
        if not is_whole:
            with writing(self.path):
                remove(data)
                self.model.mkdir(parents=True, exist_ok=True)
            dataset.save(data)

    def load_data(self, *, verify: bool = True) -> Dataset:
        """The data that the run began with, all of it."""
        return load_data(self.model, check_format(self.config), verify=verify)

    def change_config(self, config: Config) -> None:
        """Puts other settings in place of those of the run; what it notes of data and versions stays."""
        text, _ = unsealed(self.config.read_text(encoding="utf-8"))
        _, mark, notes = text.partition("\n[data]\n")
        with writing(self.path):
            write_whole(self.config, sealed(config.to_toml() + mark + notes).encode())

    def read_config(self, *, allow_import: bool = False) -> Config:
        """The settings of the run; a class of one's own must be known, or `allow_import` imports it."""
        notes = check_format(self.config)
        if notes.get("code") and not is_known(str(notes["model"])):
            model_named(str(notes["code"]), allow_import=allow_import)
        return read_config(self.config)

    def save_checkpoint(self, learner: Learner, state: State) -> None:
        """Writes last.safetensors; the one before stays as previous.safetensors."""
        tensors, values = checkpoint.gather(learner)
        about, kept = {**asdict(state), "optimizer": values}, self.checkpoints / "previous.safetensors"
        if learner.model.shard is not None:
            split, tag = checkpoint.split_state(learner, tensors), f"{state.epoch:05}-{state.step:07}-"
            self._save_split("last", tag, tensors, split, about, learner.model.shard, kept.with_suffix(".json"))
        else:
            with writing(self.path):
                self.checkpoints.mkdir(exist_ok=True)  # someone may have removed it
                write_whole(self.checkpoints / "last.safetensors", tensor_bytes(tensors, about), keep=kept)
                self._forget_split("last", *(["previous"] if kept.exists() else []))
        self.write_records(state.records)

    def _save_split(
        self,
        name: str,
        tag: str,
        tensors: shards.Tensors,
        split: shards.Split,
        state: Record,
        shard: Shard,
        keep: Path | None = None,
    ) -> None:
        """Writes what all processes hold, and removes what it takes the place of."""
        shards.save(self.checkpoints / f"{name}.json", tag, tensors, split, state, shard, keep)
        if is_first():
            with writing(self.path):
                for one in (name, *(["previous"] if keep and keep.exists() else [])):
                    remove(self.checkpoints / f"{one}.safetensors")
                shards.sweep(self.checkpoints, CHECKPOINTS)
        wait_for_all()  # so that nobody reads what is being removed

    def _forget_split(self, *names: str) -> None:
        """Removes what several processes had written, once one has all."""
        indices = [index for name in names if (index := self.checkpoints / f"{name}.json").exists()]
        for index in indices:
            remove(index)
        if indices:
            shards.sweep(self.checkpoints, CHECKPOINTS)

    def _read(self, name: str, split: shards.Split, shard: Shard | None, remedy: str) -> Found | None:
        """The tensors and the state of a checkpoint that one process or several wrote; None where there is none."""
        whole, index = self.checkpoints / f"{name}.safetensors", self.checkpoints / f"{name}.json"
        found = []
        if whole.exists():
            tensors, state = read_tensors(whole, remedy)
            found.append((shards.part(tensors, split, shard), state))
        if index.exists():
            found.append(shards.read(index, shard, remedy))
        # Both: a kill came between writing the one and removing the other.
        return max(found, key=lambda one: (one[1].get("epoch", 0), one[1].get("step", 0)), default=None)

    def load_checkpoint(self, learner: Learner) -> State | None:
        """The state of the last checkpoint, its tensors put in place; None where there is none yet."""
        remedy = "delete it to continue from the previous one, or start a new run"
        split = checkpoint.split_state(learner, checkpoint.gather(learner)[0]) if learner.model.shard else {}
        for name in ("last", "previous"):  # previous: the move to `last` never happened
            read = self._read(name, split, learner.model.shard, remedy)
            if read is not None:
                break
        else:
            return None
        tensors, found = read
        try:
            values, state = found.pop("optimizer"), State(**found)
        except (KeyError, TypeError) as error:
            raise checkpoint.of_another_version(learner.model) from error
        checkpoint.restore(learner, tensors, values)
        self.write_records(state.records)  # a kill may have come between both
        return state

    def save_best(self, model: TemporalModel, epoch: int) -> None:
        tensors = checkpoint.on_cpu(model.state_dict())
        if model.shard is not None:
            state = {"epoch": epoch}
            self._save_split("best", f"{epoch:05}-", tensors, checkpoint.split_rows(model), state, model.shard)
            return
        with writing(self.path):
            self.checkpoints.mkdir(exist_ok=True)
            write_whole(self.checkpoints / "best.safetensors", tensor_bytes(tensors, {}))
            self._forget_split("best")

    def append_timing(self, record: Record) -> None:
        if not is_first():
            return
        with writing(self.path):
            append_line(self.timing, json.dumps(record))

    def write_records(self, records: list[Record]) -> None:
        if not is_first():
            return
        with writing(self.path):
            write_whole(self.metrics, "".join(json.dumps(record) + "\n" for record in records).encode())

    def records(self) -> list[Record]:
        """The lines of metrics.jsonl."""
        return read_lines(self.metrics) if self.metrics.exists() else []

    @contextmanager
    def finishing(self, dataset: Dataset) -> Iterator[Path]:
        """The folder in which the body writes the model for use; it counts once all of it is there."""
        if not is_first():
            yield self.model
            return
        with writing(self.path):
            checksums.unseal(self.model)
            remove(self.model / "model.json")
            self.keep_data(dataset)
            yield self.model
            checksums.seal(self.model, but=("added",))

    def load_weights(self, model: TemporalModel) -> TemporalModel:
        """The model with the weights of the best checkpoint, or the last where none is best."""
        rows = checkpoint.split_rows(model) if model.shard else {}
        best = self._read("best", rows, model.shard, REMEDY)
        if best is not None:
            checkpoint.weights(model, best[0])
            return model
        named = {f"model.{name}": count for name, count in rows.items()}
        last = self._read("last", named, model.shard, REMEDY) or self._read("previous", named, model.shard, REMEDY)
        if last is None:
            raise RunError(f"{self.path} has no checkpoint yet; continue the run with --resume")
        tensors, state = last
        if state.get("best_mrr", -1) >= 0:
            missing = self.checkpoints / "best.safetensors"
            raise DamagedFile(f"{missing} is missing, and the last checkpoint is not the best; {REMEDY}")
        weights = {key.removeprefix("model."): x for key, x in tensors.items() if key.startswith("model.")}
        checkpoint.weights(model, weights)
        return model

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps a second process from training in the same folder, and sweeps up what a killed one left."""
        if not is_first():  # which holds it for all
            yield
            return
        with writing(self.path), ExitStack() as held:
            self.path.mkdir(parents=True, exist_ok=True)
            held.enter_context(
                locked(
                    self.path / ".lock",
                    RunError(f"another process is training in {self.path}; wait for it, or choose another --run"),
                )
            )
            if self.exists:
                for folder in (self.path, self.checkpoints, self.model):
                    sweep_parts(folder)
                sweep_folders(self.model)
            release = held.pop_all()
        with release:
            yield


def _holds_nothing(path: Path) -> bool:
    """Whether a folder is empty, or has only what a run left that was killed before it began."""
    if not path.is_dir() or any(entry.name not in LEFT_OVER for entry in path.iterdir()):
        return False
    model, checkpoints = path / "model", path / "checkpoints"
    return not (checkpoints.exists() and any(checkpoints.iterdir())) and not (
        model.exists() and any(entry.name not in LEFT_IN_MODEL for entry in model.iterdir())
    )
