"""`knowwhen when`: begin and end of a fact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from knowwhen.cli.opening import AllowCode, Device, KnownBy, NoVerify, Run, open_run
from knowwhen.cli.output import Json

Name = Annotated[str, typer.Argument(help="A name or key.")]


def when(
    run: Run,
    subject: Name,
    predicate: Name,
    object: Name,
    infer: Annotated[
        bool, typer.Option("--infer", help="Infer begin and end from other facts, even if they are known.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Also draw the answer, to an .svg, .png or .pdf file.")
    ] = None,
    known_by: KnownBy = None,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    as_json: Json = False,
) -> None:
    """Show when a fact begins and ends: known dates, or inferred ones with a probability, 80 % ranges and reasons.

    Example: knowwhen when runs/leaders France "has president" "François Mitterrand"
    """
    found = open_run(run, device, allow_code, no_verify, known_by).when(subject, predicate, object, infer_known=infer)
    if plot is not None:
        from knowwhen.plotting import plot as draw

        draw(found, plot)
    print(json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found)
