"""Tensors and what belongs to them in one safetensors file, with the SHA-256 of both inside: a flipped bit is found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from knowwhen.errors import DamagedFile


def tensor_bytes(tensors: dict[str, Tensor], state: Mapping[str, Any]) -> bytes:
    """The content of a file of tensors on the CPU and of a state that JSON can hold."""
    # One text: safetensors writes several in any order, and the same run would give other bytes.
    text = json.dumps(state)
    return save(tensors, {"state": json.dumps({"state": text, "sha256": _digest(tensors, text)})})


def read_tensors(path: Path, remedy: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the state of a file; the remedy ends the error for one that is damaged."""
    if not path.is_file():
        raise DamagedFile(f"{path} is {'not a regular file' if path.exists() else 'missing'}; {remedy}")
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            state = json.loads((file.metadata() or {}).get("state", "{}"))
        if "sha256" not in state:  # a model's weights, which SHA256SUMS has, or of an earlier version
            return tensors, dict(state)
        if state["sha256"] != _digest(tensors, state["state"]):
            raise DamagedFile(f"{path} is damaged (its SHA-256 does not match); {remedy}")
        return tensors, dict(json.loads(state["state"]))
    except (OSError, SafetensorError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedFile(f"{path} is damaged ({error}); {remedy}") from error


def _digest(tensors: Mapping[str, Tensor], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        if tensor.numel():
            digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
