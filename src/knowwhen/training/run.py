"""A run is a folder: settings, metrics, checkpoints and the model, each written whole or not at all. No pickle.

config.toml        settings, and what they were resolved against: data hash, versions
metrics.jsonl      a line per epoch, the same for the same seed; timing.jsonl has what is not
checkpoints/       last and previous (tensors, optimizer, state), best (tensors)
model/             model.json, weights.safetensors, calibration.json, README.md, data/ (a dataset folder with names)
"""

from __future__ import annotations

import fcntl
import json
import platform
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from knowwhen.errors import DamagedFile, RunError
from knowwhen.facts.dataset import Dataset
from knowwhen.files import write_whole, writing
from knowwhen.models import Specification, TemporalModel, build, model_named
from knowwhen.models.registry import code_of, is_known
from knowwhen.training import checkpoint
from knowwhen.training.config import Config, read_config, to_toml
from knowwhen.training.loop import Learner, Record, State

FORMAT = 2  # of run folders; 1 was that of version 0.1


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
        return self.config.is_file()

    def create(self, config: Config, dataset: Dataset, about: dict[str, str]) -> None:
        """Starts a run in a new or empty folder: data first, settings last, so that a folder with settings is whole."""
        if self.exists:
            raise RunError(f"{self.path} already holds a run; --resume goes on with it, or choose another --run")
        if self.path.exists() and (not self.path.is_dir() or _holds_anything(self.path)):
            raise RunError(f"{self.path} exists and is not an empty folder; choose another --run")
        with writing(self.path):
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            self.model.mkdir(exist_ok=True)
            if not (self.model / "data").exists():
                dataset.save(self.model / "data")
            meta = {"hash": dataset.hash, "name": dataset.name, **about}
            versions = {"format": FORMAT, "python": platform.python_version(), "torch": torch.__version__}
            code = code_of(model_named(config.model.name))
            notes = to_toml({"data": meta, "versions": versions | ({"code": code} if code else {})})
            write_whole(self.config, f"{config.to_toml()}\n{notes}".encode())

    def change_config(self, config: Config) -> None:
        """Puts other settings in place of those of the run; what it notes of data and versions stays."""
        _, mark, notes = self.config.read_text(encoding="utf-8").partition("\n[data]\n")
        with writing(self.path):
            write_whole(self.config, (config.to_toml() + mark + notes).encode())

    def read_config(self, *, allow_import: bool = False) -> Config:
        """The settings of the run; a class of one's own must be known, or `allow_import` imports it."""
        notes = check_format(self.config)
        if notes.get("code") and not is_known(str(notes["model"])):
            model_named(str(notes["code"]), allow_import=allow_import)
        return read_config(self.config)

    def save_checkpoint(self, learner: Learner, state: State) -> None:
        """Writes last.safetensors; the one before stays as previous.safetensors."""
        tensors, values = checkpoint.gather(learner)
        with writing(self.path):
            # One text: safetensors writes several in any order, and the same run would give other bytes.
            data = save(tensors, {"state": json.dumps({**asdict(state), "optimizer": values})})
            write_whole(self.checkpoints / "last.safetensors", data, keep=self.checkpoints / "previous.safetensors")
        self.write_records(state.records)

    def load_checkpoint(self, learner: Learner) -> State | None:
        """The state of the last checkpoint, its tensors put in place; None where there is none yet."""
        path = self.checkpoints / "last.safetensors"
        if not path.exists():
            path = self.checkpoints / "previous.safetensors"  # the move to `last` never happened
        if not path.exists():
            return None
        tensors, metadata = read_tensors(
            path, remedy="delete it to go on from previous.safetensors, or start a new run"
        )
        try:
            found = json.loads(metadata["state"])
            values, state = found.pop("optimizer"), State(**found)
        except (KeyError, ValueError, TypeError) as error:
            raise checkpoint.of_another_version(learner.model) from error
        checkpoint.restore(learner, tensors, values)
        return state

    def save_best(self, model: TemporalModel) -> None:
        with writing(self.path):
            write_whole(self.checkpoints / "best.safetensors", _weights(model))

    def append_timing(self, record: Record) -> None:
        with writing(self.path), self.timing.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def write_records(self, records: list[Record]) -> None:
        with writing(self.path):
            write_whole(self.metrics, "".join(json.dumps(record) + "\n" for record in records).encode())

    def records(self) -> list[Record]:
        """The lines of metrics.jsonl."""
        if not self.metrics.is_file():
            return []
        return [json.loads(line) for line in self.metrics.read_text(encoding="utf-8").splitlines()]

    def save_model(self, model: TemporalModel, card: str) -> None:
        """Writes the model as it is for use; its data folder is there since the start."""
        with writing(self.path):
            save_model(self.model, model, card)

    def load_weights(self, model: TemporalModel) -> TemporalModel:
        """The model with the weights of the best checkpoint, or the last where none is best."""
        for name, prefix in (("best", ""), ("last", "model."), ("previous", "model.")):
            path = self.checkpoints / f"{name}.safetensors"
            if path.exists():
                tensors, _ = read_tensors(path, remedy="train again")
                weights = {key.removeprefix(prefix): table for key, table in tensors.items() if key.startswith(prefix)}
                checkpoint.weights(model, weights)
                return model
        raise RunError(f"{self.path} has no checkpoint yet; --resume goes on with the run")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps a second process from training in the same folder."""
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            file = (self.path / ".lock").open("w")
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RunError(f"another process is training in {self.path}") from None
            yield


def save_model(folder: Path, model: TemporalModel, card: str) -> None:
    """Writes weights and what is needed to read them back; model.json last, so that a folder with it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "weights.safetensors", _weights(model))
    write_whole(folder / "README.md", card.encode())
    about = {"format": FORMAT, **Specification.of(model).to_dict()}
    write_whole(folder / "model.json", (json.dumps(about, indent=1) + "\n").encode())


def load_model(folder: Path, *, allow_import: bool = False) -> TemporalModel:
    """The model of a folder that `save_model` wrote."""
    path = folder / "model.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        _check(path, about.pop("format", 1))
        model = build(Specification.from_dict(about), allow_import=allow_import)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(f"cannot read {path}: {error}") from error
    tensors, _ = read_tensors(folder / "weights.safetensors", remedy="train again or copy the model anew")
    checkpoint.weights(model, tensors)
    return model


def check_format(config: Path) -> dict[str, Any]:
    """Refuses a run of another version before its settings are misread; returns what the run notes of its making."""
    try:
        values = tomllib.loads(config.read_text(encoding="utf-8"))
        notes = {"format": 1, **values.get("versions", {}), "model": values.get("model", {}).get("name", "")}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise DamagedFile(f"cannot read {config}: {error}") from error
    _check(config, notes["format"])
    return notes


def _check(path: Path, found: object) -> None:
    if found == FORMAT:
        return
    if isinstance(found, int) and found > FORMAT:
        raise RunError(f"{path} was written by a later version of knowwhen, which this one cannot read; upgrade it")
    raise RunError(f"{path} was written by knowwhen 0.1, whose runs this version does not open; train again")


def read_tensors(path: Path, remedy: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and metadata of a safetensors file."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise DamagedFile(f"{path} is damaged ({error}); {remedy}") from error


def _weights(model: TemporalModel) -> bytes:
    return save(checkpoint.on_cpu(model.state_dict()))


def _holds_anything(path: Path) -> bool:
    """Whether a folder has files other than those of a run that was killed before it began."""
    return any(entry.name not in (".lock", "checkpoints", "model") for entry in path.iterdir())
