"""`knowwhen fill`: all facts of a model's dataset, missing begins and ends inferred."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowwhen.cli.ask import ForSpreadsheets
from knowwhen.cli.opening import AllowCode, Device, NoVerify, Run, open_run
from knowwhen.cli.output import Json, show


def fill(
    run: Run,
    out: Annotated[Path, typer.Option("--out", help="The file to write: .parquet, .csv or .jsonl.")],
    min_probability: Annotated[
        float, typer.Option("--min-probability", min=0, max=1, help="Leave out inferred dates below this probability.")
    ] = 0.0,
    for_spreadsheets: ForSpreadsheets = False,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    as_json: Json = False,
) -> None:
    """Write all facts to a file, with missing begins and ends inferred in separate columns.

    Example: knowwhen fill runs/leaders --out facts.parquet
    """
    from knowwhen.cli.batch import Target

    target = Target(out, for_spreadsheets)  # before the work
    target.check_kind()
    facts = open_run(run, device, allow_code, no_verify).fill(min_probability=min_probability)
    target.write(facts)
    filled = {f"inferred_{name}s": len(facts) - facts[f"inferred_{name}"].null_count() for name in ("begin", "end")}
    show({"facts": len(facts), **filled, "out": str(out)}, as_json)
