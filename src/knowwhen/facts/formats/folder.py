"""Our own dataset folder: dataset.toml, tables of train, valid and test, and labels of entities and predicates."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from knowwhen.errors import BadInput
from knowwhen.facts.dates import Granularity
from knowwhen.facts.formats.named import NamedDataset, ReadOptions
from knowwhen.facts.formats.problems import Problems
from knowwhen.facts.formats.tables import read_splits

DATASHEET = "dataset.toml"
ABOUT = ("description", "licence", "sources")


class Folder:
    name = "folder"
    about = "a dataset folder of knowwhen: dataset.toml and train, valid, test as Parquet (or any table)"

    def matches(self, path: Path) -> bool:
        return (path / DATASHEET).is_file()

    def read(self, path: Path, options: ReadOptions, problems: Problems) -> NamedDataset:
        sheet = _read_sheet(path / DATASHEET)
        return NamedDataset(
            read_splits(path, options, problems),
            name=sheet["name"],
            granularity=Granularity(sheet["granularity"]),
            entity_labels=_read_labels(path / "entities.parquet"),
            predicate_labels=_read_labels(path / "predicates.parquet"),
            about={key: str(sheet[key]) for key in ABOUT if key in sheet},
        )


def write_sheet(path: Path, values: Mapping[str, str | int | float]) -> None:
    """dataset.toml; JSON's strings and numbers are TOML's too."""
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()), encoding="utf-8")


def _read_sheet(path: Path) -> dict[str, str]:
    try:
        sheet = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {error}") from error
    if not isinstance(sheet.get("name"), str) or sheet.get("granularity") not in list(Granularity):
        raise BadInput(f"{path} needs a name and a granularity of {', '.join(Granularity)}")
    return sheet


def _read_labels(path: Path) -> pl.DataFrame | None:
    if not path.is_file():
        return None
    try:
        return pl.read_parquet(path, columns=["key", "label"])
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"cannot read {path}: expected columns key and label") from error
