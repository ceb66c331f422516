"""`knowwhen add`: give a trained model more facts to draw on, without training."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from knowwhen.cli.opening import AllowCode, Device, NoVerify, Run, open_run
from knowwhen.cli.output import Json, Quiet, say_notes, show
from knowwhen.cli.reading import reading as with_reading
from knowwhen.console import say


def add_facts(
    run: Run,
    facts: Annotated[
        str, typer.Argument(help="A file or folder of facts, or - (stdin); anything that `knowwhen data import` reads.")
    ],
    reading: dict[str, Any],
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Add facts to a trained model without training. They count as known, and as evidence for other answers.

    Facts may have new entities and times, but not new predicates. Evaluation ignores added facts.

    Example: knowwhen add runs/leaders news.csv
    """
    before = open_run(run, device, allow_code, no_verify)
    reading.pop("given")
    new = before.read_facts(facts, **reading)
    say_notes(new)
    after = before.add(new)
    if not after.model.evidence:
        say("this model has no evidence terms: added facts count as known, but do not change other answers")
    added = len(after.dataset.added) - len(before.dataset.added)
    report = {
        "run": str(run),
        "added": added,
        "already_there": len(new.all_facts) - added,
        "added_in_all": len(after.dataset.added),
        "new_entities": len(after.dataset.entities) - len(before.dataset.entities),
        "new_timestamps": len(after.dataset.timeline) - len(before.dataset.timeline),
    }
    show(report, as_json)


add = with_reading(add_facts, leave_out=("split", "seed", "granularity"))  # those of the run
add.__name__ = "add"
