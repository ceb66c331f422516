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
from knowwhen.facts.index.history import Lags
from knowwhen.files import write_whole, writing
from knowwhen.models import EvidenceSettings, Sizes, TemporalModel, model_named
from knowwhen.training.config import Config, read_config
from knowwhen.training.loop import Record, State


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
            versions = {"python": platform.python_version(), "torch": torch.__version__}
            extra = "".join(_toml_section(name, values) for name, values in (("data", meta), ("versions", versions)))
            write_whole(self.config, (config.to_toml() + extra).encode())

    def change_config(self, config: Config) -> None:
        """Puts other settings in place of those of the run; what it notes of data and versions stays."""
        _, mark, notes = self.config.read_text(encoding="utf-8").partition("\n[data]\n")
        with writing(self.path):
            write_whole(self.config, (config.to_toml() + mark + notes).encode())

    def read_config(self) -> Config:
        return read_config(self.config)

    def save_checkpoint(self, model: TemporalModel, optimizer: torch.optim.Optimizer, state: State) -> None:
        """Writes last.safetensors; the one before stays as previous.safetensors."""
        tensors = {f"model.{name}": table.detach() for name, table in model.named_parameters()}
        for name, table in model.named_parameters():
            tensors |= {f"optimizer.{key}.{name}": value for key, value in optimizer.state[table].items()}
        last = self.checkpoints / "last.safetensors"
        with writing(self.path):
            data = save(_on_cpu(tensors), {"state": json.dumps(asdict(state))})
            write_whole(last, data, keep=self.checkpoints / "previous.safetensors")
        self.write_history(state.history)

    def load_checkpoint(self, model: TemporalModel, optimizer: torch.optim.Optimizer) -> State | None:
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
            with torch.no_grad():
                for name, table in model.named_parameters():
                    table.copy_(tensors[f"model.{name}"])
                    for key, value in optimizer.state[table].items():
                        value.copy_(tensors[f"optimizer.{key}.{name}"])
        except (KeyError, RuntimeError) as error:
            raise _of_another_version(model) from error
        return State(**json.loads(metadata["state"]))

    def save_best(self, model: TemporalModel) -> None:
        with writing(self.path):
            write_whole(self.checkpoints / "best.safetensors", _weights(model))

    def append_timing(self, record: Record) -> None:
        with writing(self.path), self.timing.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def write_history(self, history: list[Record]) -> None:
        with writing(self.path):
            write_whole(self.metrics, "".join(json.dumps(record) + "\n" for record in history).encode())

    def history(self) -> list[Record]:
        """The lines of metrics.jsonl."""
        if not self.metrics.is_file():
            return []
        return [json.loads(line) for line in self.metrics.read_text(encoding="utf-8").splitlines()]

    def save_model(self, model: TemporalModel, card: str) -> None:
        """Writes the model as it is for use; its data folder is there since the start."""
        with writing(self.path):
            save_model(self.model, model, card)

    def load_model(self, model: TemporalModel) -> TemporalModel:
        """The model with the weights of the best checkpoint, or the last where none is best."""
        for name, prefix in (("best", ""), ("last", "model."), ("previous", "model.")):
            path = self.checkpoints / f"{name}.safetensors"
            if path.exists():
                tensors, _ = read_tensors(path, remedy="train again")
                weights = {key.removeprefix(prefix): table for key, table in tensors.items() if key.startswith(prefix)}
                _put(model, weights)
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
    evidence = {term.name: asdict(term.settings) for term in model.evidence_terms()}
    about = {"model": model.name, "rank": model.rank, "sizes": asdict(model.sizes), "evidence": evidence}
    about["weighing"] = model.weighing is not None
    write_whole(folder / "model.json", (json.dumps(about, indent=1) + "\n").encode())


def load_model(folder: Path) -> TemporalModel:
    """The model of a folder that `save_model` wrote."""
    try:
        about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        model = model_named(about["model"])(Sizes(**about["sizes"]), int(about["rank"]))
        for name, settings in about.get("evidence", {}).items():
            lags = Lags(tuple(settings.pop("lags")["edges"]))
            model.add_evidence(name, EvidenceSettings(lags, **settings))
        if about.get("weighing"):
            model.add_weighing()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedFile(f"cannot read {folder / 'model.json'}: {error}") from error
    tensors, _ = read_tensors(folder / "weights.safetensors", remedy="train again or copy the model anew")
    _put(model, tensors)
    return model


def read_tensors(path: Path, remedy: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and metadata of a safetensors file."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise DamagedFile(f"{path} is damaged ({error}); {remedy}") from error


def _weights(model: TemporalModel) -> bytes:
    return save(_on_cpu({name: table.detach() for name, table in model.named_parameters()}))


def _on_cpu(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}


def _put(model: TemporalModel, tensors: dict[str, Tensor]) -> None:
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise _of_another_version(model) from error


def _of_another_version(model: TemporalModel) -> DamagedFile:
    return DamagedFile(f"the weights are not those of this version's {model.name}; train again")


def _holds_anything(path: Path) -> bool:
    """Whether a folder has files other than those of a run that was killed before it began."""
    return any(entry.name not in (".lock", "checkpoints", "model") for entry in path.iterdir())


def _toml_section(name: str, values: dict[str, Any]) -> str:
    return f"\n[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
