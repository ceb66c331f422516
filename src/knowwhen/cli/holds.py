"""`knowwhen holds`: whether a fact holds at a time."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from knowwhen.cli.opening import AllowCode, Device, KnownBy, NoVerify, Run, open_run
from knowwhen.cli.output import Json
from knowwhen.cli.when import Name


def holds(
    run: Run,
    subject: Name,
    predicate: Name,
    object: Name,
    time: Annotated[str, typer.Argument(help="A date, or a range such as 2009..2012; it may be after the data ends.")],
    known_by: KnownBy = None,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    as_json: Json = False,
) -> None:
    """Show the probability that a fact holds at a time.

    Example: knowwhen holds runs/leaders France "has president" "Emmanuel Macron" 2026
    """
    found = open_run(run, device, allow_code, no_verify, known_by).holds(subject, predicate, object, time)
    print(json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found)
