"""A model for use, as a folder: weights, what is needed to read them back, and the data they were trained on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors.torch import save

from knowwhen import checksums
from knowwhen.distributed.shard import is_first
from knowwhen.errors import DamagedFile
from knowwhen.facts.catalog import load
from knowwhen.facts.dataset import Dataset
from knowwhen.files import remove, write_whole
from knowwhen.models import Sizes, Specification, TemporalModel, build
from knowwhen.training import checkpoint, shards
from knowwhen.training.notes import FORMAT, REMEDY, check_version, read_text
from knowwhen.training.tensors import read_tensors


def save_model(folder: Path, model: TemporalModel, card: str) -> None:
    """Writes weights and what is needed to read them back; model.json last, so that a folder with it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = checkpoint.on_cpu(model.state_dict())
    if model.shard is None:
        write_whole(folder / "weights.safetensors", save(tensors))
    else:
        shards.save(folder / "weights.json", "", tensors, checkpoint.split_rows(model), {}, model.shard)
    if not is_first():
        return
    remove(folder / ("weights.json" if model.shard is None else "weights.safetensors"))  # of other numbers of processes
    shards.sweep(folder, ["weights"])
    write_whole(folder / "README.md", card.encode())
    about = {"format": FORMAT, **Specification.of(model).to_dict()}
    write_whole(folder / "model.json", (json.dumps(about, indent=1) + "\n").encode())


def load_model(folder: Path, dataset: Dataset, *, allow_import: bool = False) -> TemporalModel:
    """The model of a folder that `save_model` wrote, for the data it was trained on."""
    path = folder / "model.json"
    about = read_about(folder)
    try:
        spec = Specification.from_dict(about)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(f"cannot read {path}: {error}; {REMEDY}") from error
    expected = Sizes.of(dataset, spec.sizes.undated_row)
    if spec.sizes != expected:  # before anything is allocated
        raise DamagedFile(f"{path} does not match {folder / 'data'}: {spec.sizes} and {expected}; {REMEDY}")
    try:
        model = build(spec, allow_import=allow_import)
    except (ValueError, TypeError, RuntimeError, MemoryError) as error:
        raise DamagedFile(f"cannot read {path}: {str(error).splitlines()[0]}; {REMEDY}") from error
    if (folder / "weights.json").exists():
        tensors, _ = shards.read(folder / "weights.json", model.shard, REMEDY)
    else:
        tensors, _ = read_tensors(folder / "weights.safetensors", REMEDY)
        tensors = shards.part(tensors, checkpoint.split_rows(model), model.shard)
    checkpoint.weights(model, tensors)
    return model


def read_about(folder: Path) -> dict[str, Any]:
    """model.json of a folder, which must be of this version."""
    path = folder / "model.json"
    try:
        about = json.loads(read_text(path))
        check_version(path, about.pop("format", 1))
    except (ValueError, RecursionError, AttributeError, TypeError) as error:
        raise DamagedFile(f"cannot read {path}: {error}; {REMEDY}") from error
    return dict(about)


def load_data(folder: Path, notes: dict[str, Any], *, verify: bool = True) -> Dataset:
    """The data of a model's folder; with `verify`, that which its settings name."""
    dataset = load(folder / "data", format="folder", verify=verify)
    if verify and notes["data_hash"] and dataset.hash != notes["data_hash"]:
        raise DamagedFile(
            f"{folder / 'data'} is not the data that the model was trained on: its hash is {dataset.hash[:12]}, "
            f"not {str(notes['data_hash'])[:12]}; {REMEDY}"
        )
    return dataset


def check_whole(folder: Path, notes: dict[str, Any]) -> None:
    """An error unless all files of a finished model are as they were written."""
    if checksums.verify(folder, REMEDY) is None and notes["sealed"]:
        raise DamagedFile(f"{folder / checksums.FILE} is missing; resume the run to write it again (--resume)")
