"""Answers to a large file of questions, kept beside the output until all are there: the same command continues."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from knowwhen.errors import BadInput, BadRequest
from knowwhen.facts.frames import read_parquet, write_parquet
from knowwhen.files import locked, remove, write_whole, writing

if TYPE_CHECKING:
    from knowwhen.trained import TrainedModel

GOES_ON = "the same command continues from there"


class Kept:
    """A folder of answers by part of the questions; what belongs to other questions, or another model, is not used."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key

    @classmethod
    @contextmanager
    def beside(cls, out: Path, key: str) -> Iterator[Kept]:
        """The folder beside an output; it is gone once the body is through."""
        folder = out.with_name(f".{out.name}.answers")
        busy = BadRequest(f"another process is writing {out}; wait for it or choose another --out")
        with writing(out, GOES_ON), locked(folder.with_name(folder.name + ".lock"), busy, passing=True):
            kept = cls(folder, key)
            kept.begin()
            yield kept
            remove(folder)

    def begin(self) -> None:
        note = self.folder / "key"
        if not (note.is_file() and note.read_bytes() == self.key.encode()):
            remove(self.folder)
            self.folder.mkdir()
            write_whole(note, self.key.encode())

    def get(self, number: int) -> pl.DataFrame | None:
        """The answers of a part; None where they are still to be found."""
        path = self.folder / f"{number:06}.parquet"
        try:
            return read_parquet(path) if path.exists() else None
        except BadInput:
            return None

    def put(self, number: int, answers: pl.DataFrame) -> None:
        write_parquet(answers, self.folder / f"{number:06}.parquet")


def key_of(trained: TrainedModel, *asked: Any) -> str:
    """What answers depend on: the questions and how they are asked, the weights, the facts."""
    digest = hashlib.sha256(json.dumps(asked, default=str).encode())
    for name, tensor in trained.model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
    digest.update(trained.dataset.hash.encode())
    digest.update(trained.dataset.added.rows().tobytes())
    return digest.hexdigest()
