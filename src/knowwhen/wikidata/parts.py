"""A folder of finished work: what was extracted from some windows of a dump, each written whole or not at all.

    manifest.json                 what is extracted from which dump, in which windows
    00000012.facts.parquet        facts of window 12 by number
    00000012.labels.parquet       labels of its items and properties
    00000012.json                 its counts; written last, so that a window with counts is finished
    finished.json                 written when all windows of this share are

Every file takes its name when it is whole, so a folder survives `kill -9` at any time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict

from knowwhen.errors import BadRequest, DamagedFile
from knowwhen.facts.frames import write_parquet
from knowwhen.files import part_of, sweep_parts, write_whole

AGAIN = "run the same command to continue"
FORMAT = 1  # of these folders; work begun by another is not gone on with


class Manifest(BaseModel):
    """Which share of which dump a folder holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dump: str  # the fingerprint of the file
    dump_name: str
    window_bytes: int
    lang: str
    part: int = 1  # this folder has the windows part - 1, part - 1 + parts, …
    parts: int = 1
    format: int = FORMAT

    def differs_from(self, other: Manifest, but: str = "") -> str:
        """The first thing in which two shares of work do not fit, or nothing; a dump may lie under any name."""
        for name in Manifest.model_fields:
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs and name not in ("dump_name", but):
                return f"{name.replace('_', ' ')} {ours} is not {theirs}"
        return ""


class Part:
    """One such folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, manifest: Manifest) -> set[int]:
        """Starts a folder, or goes on with one of the same manifest; the windows that are finished in it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "manifest.json"
        if [entry.name for entry in self.folder.iterdir()] == [part_of(path).name]:
            sweep_parts(self.folder)  # a kill came before the first file was whole
        if path.exists():
            if difference := self.manifest().differs_from(manifest):
                raise BadRequest(
                    f"{self.folder} contains other work ({difference}); delete it or choose another folder"
                )
        elif any(self.folder.iterdir()):
            raise BadRequest(f"{self.folder} exists and does not belong to this work; choose another folder")
        else:
            write_whole(path, manifest.model_dump_json().encode())
        sweep_parts(self.folder)
        return {int(path.stem) for path in self._windows()}

    def manifest(self) -> Manifest:
        path = self.folder / "manifest.json"
        try:
            return Manifest.model_validate_json(path.read_bytes())
        except (OSError, ValueError):
            raise BadRequest(
                f"cannot read manifest.json in {self.folder}; expected a folder that --part wrote"
            ) from None

    def add(self, window: int, facts: pl.DataFrame, labels: pl.DataFrame, counts: Counter[str]) -> None:
        for name, frame in (("facts", facts), ("labels", labels)):
            path = self.folder / f"{window:08}.{name}.parquet"
            write_parquet(frame, path, compression="zstd", statistics=False)
        write_whole(self.folder / f"{window:08}.json", json.dumps(counts).encode())

    def finish(self, damage: str) -> None:
        """Notes that all windows are done, and why the dump ended early if it did."""
        write_whole(self.folder / "finished.json", json.dumps({"damage": damage}).encode())

    @property
    def is_finished(self) -> bool:
        return (self.folder / "finished.json").exists()

    @property
    def damage(self) -> str:
        return str(_read(self.folder / "finished.json").get("damage", ""))

    def counts(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for path in self._windows():
            total.update(_read(path))
        return total

    def files(self, kind: str) -> list[Path]:
        """The tables of facts or labels of the finished windows."""
        return [path.with_name(f"{path.stem}.{kind}.parquet") for path in self._windows()]

    def _windows(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("*.json") if path.stem.isdecimal())


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise DamagedFile(
            f"cannot read {path}: {error}; delete {path.parent} and run the same command again"
        ) from error


def check_complete(parts: Sequence[Part]) -> None:
    """An error unless the folders are the finished shares of one dump, each once."""
    manifests = [part.manifest() for part in parts]
    for part, manifest in zip(parts, manifests, strict=True):
        if difference := manifest.differs_from(manifests[0], but="part"):
            raise BadRequest(f"{part.folder} and {parts[0].folder} do not belong together: {difference}")
        if not part.is_finished:
            raise BadRequest(f"{part.folder} is not complete; run its command again, then merge")
    found = Counter(manifest.part for manifest in manifests)
    repeated = [part for part, times in found.items() if times > 1]
    missing = sorted(set(range(1, manifests[0].parts + 1)) - set(found))
    if repeated or missing:
        what = f"part {repeated[0]} is given twice" if repeated else f"parts {', '.join(map(str, missing))} are missing"
        raise BadRequest(f"{what} of {manifests[0].parts}; give each part once")
