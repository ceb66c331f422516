"""Our own dataset folder: dataset.toml, tables of train, valid and test, and labels of entities and predicates."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from knowwhen.checksums import FILE as SUMS
from knowwhen.checksums import verify
from knowwhen.errors import BadInput
from knowwhen.facts.dates import Granularity
from knowwhen.facts.formats.named import NamedDataset, ReadOptions
from knowwhen.facts.formats.problems import Problems
from knowwhen.facts.formats.tables import read_splits, table_files
from knowwhen.facts.frames import check_regular, read_parquet
from knowwhen.files import write_whole

DATASHEET = "dataset.toml"
ABOUT = ("description", "licence", "sources")
FILLED = "filled"  # the value of `axis` where it has more timestamps than begins and ends


class Folder:
    name = "folder"
    about = "a dataset folder of knowwhen: dataset.toml and train, valid, test as Parquet (or any table)"
    is_folder = True

    def matches(self, path: Path) -> bool:
        return (path / DATASHEET).exists() or (path / SUMS).exists()

    def read(self, path: Path, options: ReadOptions, problems: Problems) -> NamedDataset:
        sheet = _read_sheet(path / DATASHEET)
        if options.verify:
            _check_sums(path)
        granularity = Granularity(sheet["granularity"])
        own = replace(options, granularity=options.granularity or granularity)
        return NamedDataset(
            read_splits(path, own, problems, own=True),
            name=sheet["name"],
            granularity=granularity,
            is_filled=sheet.get("axis") == FILLED,
            entity_labels=_read_labels(path / "entities.parquet"),
            predicate_labels=_read_labels(path / "predicates.parquet"),
            about={key: str(sheet[key]) for key in ABOUT if key in sheet},
        )


def write_sheet(path: Path, values: Mapping[str, str | int | float]) -> None:
    """dataset.toml; JSON's strings and numbers are TOML's too."""
    write_whole(path, "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()).encode())


def _check_sums(folder: Path) -> None:
    """An error where a file is not as it was written, or a table is there that was not."""
    remedy = f"restore it from a backup, or delete {SUMS} if you changed the folder yourself"
    names = verify(folder, remedy)
    new = [path.name for path in table_files(folder) if names is not None and path.name not in names]
    if new:
        raise BadInput(f"{folder / new[0]} is not listed in {SUMS}; {remedy}")


def _read_sheet(path: Path) -> dict[str, str]:
    check_regular(path)
    try:
        sheet = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"cannot read {path}: {error}") from error
    if not isinstance(sheet.get("name"), str) or sheet.get("granularity") not in list(Granularity):
        raise BadInput(f"{path} needs a name and a granularity ({', '.join(Granularity)})")
    return sheet


def _read_labels(path: Path) -> pl.DataFrame | None:
    if not path.exists():
        return None
    table = read_parquet(path)
    if not {"key", "label"} <= set(table.columns) or any(not _is_text(table[name]) for name in ("key", "label")):
        raise BadInput(f"cannot read {path}: expected the text columns key and label")
    return table.select(pl.col("key", "label").cast(pl.String))


def _is_text(column: pl.Series) -> bool:
    return column.dtype in (pl.String, pl.Null, pl.Categorical)
