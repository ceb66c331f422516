"""Results of several machines brought together: run folders or folders of results into the stored ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowwhen.errors import BadRequest, DamagedFile, RunError
from knowwhen.reproduction.checking import flaw_of
from knowwhen.reproduction.experiments import notes_of
from knowwhen.reproduction.results import PAGE, REMEDY, Result, path_of, read_result, result_of, write_result
from knowwhen.training.run import RunFolder

RUN_RESULT = "result.json"  # which runs had in their folders before results were stored
ROUNDING = 1e-4  # of an MRR: what printed digits, and sums in another order, may change


@dataclass(frozen=True)
class Merged:
    """What became of a result."""

    name: str
    source: str
    fate: str  # added, replaced, same, older or differs
    about: str = ""


def merge(sources: Sequence[Path], store: Path) -> list[Merged]:
    """Puts the results under some folders into the store.

    Of two results of an experiment the one measured by newer code is kept, or the one with today's settings. Where both
    are of today and their values differ beyond rounding, the stored one is kept, and `fate` says that they differ.
    """
    if not sources:
        raise BadRequest("name the folders to merge: knowwhen reproduce merge runs/reproduce")
    fates = []
    for source in sources:
        if not source.is_dir():
            raise BadRequest(f"no folder {source}; expected one of runs, such as runs/reproduce, or of results")
        found = list(_results(source))
        if not found:
            raise BadRequest(f"{source} has no results: neither NAME/{RUN_RESULT} nor TABLE/NAME.json")
        fates += [_merge(result, path, store) for path, result in found]
    return fates


def _results(folder: Path) -> Iterator[tuple[Path, Result]]:
    """The results of a folder of runs, of a run, or of results."""
    for path in sorted({folder / RUN_RESULT, *folder.glob(f"*/{RUN_RESULT}")}):
        if path.is_file():
            yield path, _of_run(path)
    for path in sorted([*folder.glob("*/*.json"), *folder.glob("results/*/*.json")]):
        if path.name != RUN_RESULT and not RunFolder(path.parent).exists:
            yield path, read_result(path)


def _of_run(path: Path) -> Result:
    """The result in a run folder, with what that says of its making."""
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedFile(f"cannot read {path}: {error}; {REMEDY}") from error
    if isinstance(values, dict) and RunFolder(path.parent).exists:
        values = {**notes_of(RunFolder(path.parent)), **values}
    return result_of(values, path)


def _merge(result: Result, path: Path, store: Path) -> Merged:
    target = path_of(result, store)
    before = read_result(target) if target.is_file() else None
    fate, about = ("added", "") if before is None else _fate(result, before)
    if fate in ("added", "replaced"):
        write_result(result, store)
    return Merged(result.name, str(path), fate, about)


def _fate(new: Result, before: Result) -> tuple[str, str]:
    ages = [new.numbers.get(area, 0) - number for area, number in before.numbers.items()]
    if any(ages) and (min(ages) >= 0 or max(ages) <= 0):
        return (
            ("replaced", "measured by newer code")
            if max(ages) > 0
            else ("older", "the stored one was measured by newer code")
        )
    today = (not flaw_of(new), not flaw_of(before))
    if today[0] != today[1]:
        return ("replaced", "today's settings") if today[0] else ("older", "the stored one has today's settings")
    differences = {
        name: (mine, theirs)
        for name, mine, theirs in (
            ("valid MRR", before.valid_mrr, new.valid_mrr),
            ("test MRR", before.test["mrr"], new.test["mrr"]),
        )
        if abs(mine - theirs) > ROUNDING
    }
    if differences:
        told = "; ".join(
            f"{name} {mine:.4f} stored, {theirs:.4f} there" for name, (mine, theirs) in differences.items()
        )
        return "differs", f"{told}; kept the stored one: delete it and merge again to take the other"
    return ("replaced", "all digits") if before.origin == PAGE and new.origin != PAGE else ("same", "")


def check_merged(fates: Sequence[Merged]) -> None:
    """An error where the same experiment has two values."""
    differing = [one for one in fates if one.fate == "differs"]
    if differing:
        first = differing[0]
        more = f" (and {len(differing) - 1} more)" if len(differing) > 1 else ""
        raise RunError(f"{first.name} differs in {first.source}{more}: {first.about}")
