"""config.toml of a run or model: settings, what they were resolved against, and its own SHA-256 in the last line."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import tomllib
from pathlib import Path
from typing import Any

import torch

from knowwhen import __version__
from knowwhen.errors import DamagedFile, RunError
from knowwhen.facts.dataset import Dataset
from knowwhen.models import model_named
from knowwhen.models.registry import code_of
from knowwhen.training.config import Config, to_toml
from knowwhen.training.loop import Record

FORMAT = 2  # of run folders; 1 was that of version 0.1
REMEDY = "restore it from a backup, or train again"
_SEAL = re.compile(r"# sha256 ([0-9a-f]{64})\n")


def config_text(
    config: Config, dataset: Dataset, about: dict[str, str], threads: int, version: str = __version__
) -> str:
    """config.toml: settings, and what they were resolved against; `version` is that of knowwhen."""
    meta = {"hash": dataset.hash, "name": dataset.name, **about}
    versions = {"format": FORMAT, "knowwhen": version, "python": platform.python_version()}
    versions |= {"torch": torch.__version__, "threads": threads}
    code = code_of(model_named(config.model.name))
    notes = to_toml({"data": meta, "versions": versions | ({"code": code} if code else {})})
    return sealed(f"{config.to_toml()}\n{notes}")


def check_format(config: Path) -> dict[str, Any]:
    """Refuses a run of another version before its settings are misread; returns what the run notes of its making."""
    try:
        text = read_text(config)
        values = tomllib.loads(text)
        notes = {"format": 1, **values.get("versions", {}), "model": values.get("model", {}).get("name", "")}
        notes["data_hash"] = values.get("data", {}).get("hash", "")
    except (ValueError, RecursionError, AttributeError, TypeError) as error:
        raise DamagedFile(f"cannot read {config}: {error}; {REMEDY}") from error
    check_version(config, notes["format"])
    content, found = unsealed(text)
    if found and found != hashlib.sha256(content.encode()).hexdigest():
        remedy = "restore it from a backup, or delete the last line if you changed the file yourself"
        raise DamagedFile(f"{config} does not match the SHA-256 in its last line; {remedy}")
    return {**notes, "sealed": bool(found)}


def sealed(text: str) -> str:
    return f"{text}# sha256 {hashlib.sha256(text.encode()).hexdigest()}\n"


def unsealed(text: str) -> tuple[str, str]:
    """The text without its last line, and the SHA-256 in that; '' where there is none."""
    lines = text.splitlines(keepends=True)
    match = _SEAL.fullmatch(lines[-1]) if lines else None
    return ("".join(lines[:-1]), match[1]) if match else (text, "")


def read_text(path: Path) -> str:
    """The text of a file of a run."""
    if not path.is_file():
        raise DamagedFile(f"{path} is {'not a regular file' if path.exists() else 'missing'}; {REMEDY}")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DamagedFile(f"cannot read {path}: {error}; {REMEDY}") from error


def read_lines(path: Path) -> list[Record]:
    """The records of a file that has one a line."""
    try:
        records = [json.loads(line) for line in read_text(path).splitlines()]
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"cannot read {path}: {error}; {REMEDY}") from error
    if not all(isinstance(record, dict) for record in records):
        raise DamagedFile(f"cannot read {path}: expected a JSON object on each line; {REMEDY}")
    return records


def check_version(path: Path, found: object) -> None:
    if found == FORMAT:
        return
    if isinstance(found, int) and found > FORMAT:
        raise RunError(f"{path} was written by a newer version of knowwhen; upgrade to open it")
    raise RunError(f"{path} was written by knowwhen 0.1, which this version cannot open; train again")
