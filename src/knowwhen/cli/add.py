"""`knowwhen add`: give a trained model more facts to draw on, without training."""

from __future__ import annotations

from typing import Annotated

import typer

from knowwhen.cli.data import Columns, Format, Rejects, SkipBad, parse_columns
from knowwhen.cli.opening import AllowCode, Device, NoVerify, Run, open_run
from knowwhen.cli.output import Json, say, show


def add(
    run: Run,
    facts: Annotated[str, typer.Argument(help="A file or folder of facts, as `knowwhen data import` reads them.")],
    format: Format = None,
    columns: Columns = None,
    skip_bad: SkipBad = False,
    rejects: Rejects = None,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    as_json: Json = False,
) -> None:
    """Add facts to a trained model without training: the next `ask` knows them, and uses them as evidence.

    New entities and new times are welcome, new predicates need training. Evaluation leaves added facts out.

    Example: knowwhen add runs/leaders news.csv
    """
    before = open_run(run, device, allow_code, no_verify)
    new = before.read_facts(facts, format=format, columns=parse_columns(columns), skip_bad=skip_bad, rejects=rejects)
    after = before.add(new)
    if not after.model.evidence:
        say("this model was trained without evidence: added facts are known, but say nothing about others")
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
