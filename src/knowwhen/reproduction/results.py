"""Results: one small JSON file each, in a folder by table; the page and the figures are made of these alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from knowwhen.errors import DamagedFile, RunError
from knowwhen.files import UNCHANGED, write_whole, writing
from knowwhen.reproduction.experiments import Entry, Measured
from knowwhen.reproduction.numbers import FIRST, NUMBERS, numbers_of, older

REMEDY = "restore it, or delete it and measure it again"
PAGE = "page"  # the origin of results that were read off an earlier page: printed digits, and null for the rest


@dataclass(frozen=True, kw_only=True)
class Result(Measured, Entry):
    """What an experiment gave, and all that is needed to get it again."""

    commit: str
    machine: str
    memory_gb: float | None = None  # at the peak
    numbers: Mapping[str, int]  # by area: see numbers.py
    origin: str = "run"

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def is_provisional(self) -> bool:
        """Whether it is shown with a mark until it is measured again: test is as today, what valid chose may not be."""
        return self.origin == PAGE or "validation" in older(self.numbers)


NAMES = {field.name for field in fields(Result)}
NEEDED = {f.name for f in fields(Result) if f.default is MISSING and f.default_factory is MISSING} - {"numbers"}


def result_of(values: object, path: Path) -> Result:
    """The result that a file holds; one from before there were numbers has the first ones."""
    if not isinstance(values, dict) or not NEEDED <= set(values) <= NAMES:
        raise RunError(f"{path} is not a result that this version can read; {REMEDY}")
    first = numbers_of(values["settings"], FIRST, asks_times=bool(values["test"]["times"]))
    result = Result(**{"numbers": first, **values, "tried": tuple(values["tried"])})
    if any(number > NUMBERS.get(area, 0) for area, number in result.numbers.items()):
        raise RunError(f"{path} was measured by a newer version of knowwhen; upgrade to report it")
    return result


def read_result(path: Path) -> Result:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedFile(f"cannot read {path}: {error}; {REMEDY}") from error
    return result_of(values, path)


def path_of(entry: Entry, store: Path) -> Path:
    """The file of a result: STORE/table2/icews14-tntcomplex-seed0.json."""
    return store / entry.table / f"{entry.name.removeprefix(entry.table + '-')}.json"


def write_result(result: Result, store: Path) -> None:
    path = path_of(result, store)
    with writing(path, UNCHANGED):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, _text(result.to_dict()).encode())


def _text(values: Mapping[str, Any]) -> str:
    """JSON with a field on each line, and a line for each setting: short, and differences can be read."""
    lines = []
    for name, value in values.items():
        inner = (
            ",\n  ".join(f"{_json(key)}: {_json(one)}" for key, one in value.items()) if isinstance(value, dict) else ""
        )
        lines.append(f"{_json(name)}: " + (f"{{\n  {inner}\n }}" if inner else _json(value)))
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def read_all(store: Path) -> list[Result]:
    """Every result of a folder, in order of table and name."""
    return [read_result(path) for path in sorted(store.glob("*/*.json"))]


def those(results: Sequence[Result], **wanted: object) -> list[Result]:
    """The results with some values: those(results, data="icews14", row="tntcomplex")."""
    return [r for r in results if all(getattr(r, name) == value for name, value in wanted.items())]


def comparable(trials: Sequence[Result]) -> list[Result]:
    """The most of the trials that were validated alike, the newest of equally many: only these can be compared."""
    found: dict[int, list[Result]] = {}
    for trial in trials:
        found.setdefault(trial.numbers["validation"], []).append(trial)
    return max((len(group), number, group) for number, group in found.items())[2]


def chosen(trials: Sequence[Result]) -> Result:
    """The trial that is best on valid; the first of equals."""
    return max(comparable(trials), key=lambda trial: trial.valid_mrr)
