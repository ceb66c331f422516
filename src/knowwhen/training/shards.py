"""Tensors whose rows several processes hold, as files: one for each process, and an index that names them.

NAME.json      which files they are, how many rows each split tensor has, and a state that JSON can hold; its SHA-256
NAME-TAG-00001-of-00003.safetensors
               row i of a split tensor is row 3 i of the whole, in the next file 3 i + 1; the first file has all other
               tensors too; each has its SHA-256 inside

The index is written last, so that files count together or not at all. Any number of processes reads them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from knowwhen.distributed.collectives import wait_for_all
from knowwhen.distributed.shard import Shard, is_first
from knowwhen.errors import DamagedFile
from knowwhen.files import remove, write_whole, writing
from knowwhen.training.tensors import read_tensors, tensor_bytes

Tensors = dict[str, Tensor]
Split = Mapping[str, int]
"""Of tensors of which a process holds some rows, how many there are in all."""


def save(
    index: Path,
    tag: str,
    tensors: Tensors,
    split: Split,
    state: Mapping[str, Any],
    shard: Shard,
    keep: Path | None = None,
) -> None:
    """Writes what all processes hold; `keep` takes the index that was there."""
    folder, name = index.parent, index.name.partition(".")[0]
    own = {key: x for key, x in tensors.items() if key in split or shard.rank == 0}
    files = [f"{name}-{tag}{i + 1:05}-of-{shard.size:05}.safetensors" for i in range(shard.size)]
    with writing(folder):
        if is_first():
            folder.mkdir(parents=True, exist_ok=True)
        wait_for_all()
        write_whole(folder / files[shard.rank], tensor_bytes(own, {}))
        wait_for_all()
        if is_first():
            text = json.dumps({"files": files, "split": dict(split), "state": state})
            write_whole(index, json.dumps({"index": text, "sha256": _digest(text)}).encode(), keep=keep)
    wait_for_all()  # whoever reads it next finds this one


def sweep(folder: Path, names: Iterable[str]) -> None:
    """Removes files of processes that none of the indices of a folder names."""
    indices = [index for name in names if (index := folder / f"{name}.json").exists()]
    named = {file for index in indices for file in _read(index, "delete it")["files"]}
    for file in folder.glob("*-of-*.safetensors"):
        if file.name not in named:
            remove(file)


def read(index: Path, shard: Shard | None, remedy: str) -> tuple[Tensors, dict[str, Any]]:
    """The tensors, of split ones the rows of a shard or all, and the state."""
    about = _read(index, remedy)
    files, rows, found = about["files"], about["split"], Tensors()
    target = shard or Shard(0, 1)
    for i, file in enumerate(files):
        if i and (i - target.rank) % math.gcd(len(files), target.size):
            continue  # none of its rows is ours
        tensors, _ = read_tensors(index.parent / file, remedy)
        for name, x in tensors.items():
            if name not in rows:
                found[name] = x
                continue
            if name not in found:
                found[name] = x.new_empty(target.count(rows[name]), *x.shape[1:])
            ids = Shard(i, len(files)).ids(torch.arange(len(x)))
            if len(x) != Shard(i, len(files)).count(rows[name]):
                raise DamagedFile(
                    f"{index.parent / file} does not match {index.name}: {name} has {len(x)} rows; {remedy}"
                )
            own = target.own(ids)
            found[name][target.places(ids[own])] = x[own]
    return found, dict(about["state"])


def part(tensors: Tensors, split: Split, shard: Shard | None) -> Tensors:
    """Of whole tensors, what a process holds."""
    if shard is None:
        return tensors
    return {name: x[shard.rank :: shard.size].clone() if name in split else x for name, x in tensors.items()}


def _read(index: Path, remedy: str) -> dict[str, Any]:
    try:
        values = json.loads(index.read_text(encoding="utf-8"))
        if values["sha256"] != _digest(values["index"]):
            raise DamagedFile(f"{index} is damaged (its SHA-256 does not match); {remedy}")
        about = json.loads(values["index"])
        if not all(isinstance(file, str) and Path(file).name == file for file in about["files"]):
            raise DamagedFile(f"{index} is damaged: it lists files outside its folder; {remedy}")
        return {"files": list(about["files"]), "split": dict(about["split"]), "state": about["state"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedFile(f"cannot read {index}: {error}; {remedy}") from error


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
