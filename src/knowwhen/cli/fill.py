"""`knowwhen fill`: all facts of a model's dataset, missing begins and ends inferred."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Annotated

import typer

from knowwhen.cli.opening import AllowCode, Device, Run, open_run
from knowwhen.cli.output import Json, show
from knowwhen.errors import BadRequest


def fill(
    run: Run,
    out: Annotated[Path, typer.Option("--out", help="Where the facts go: .parquet, .csv or .jsonl.")],
    min_probability: Annotated[
        float, typer.Option("--min-probability", min=0, max=1, help="Leave out less probable dates.")
    ] = 0.0,
    device: Device = None,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Write every fact of the dataset, with missing begins and ends inferred in columns of their own.

    Example: knowwhen fill runs/leaders --out facts.parquet
    """
    if out.suffix not in (".parquet", ".csv", ".jsonl"):
        raise BadRequest(f"--out is {out.name!r}; expected a name that ends in .parquet, .csv or .jsonl")
    if not out.parent.is_dir():
        raise BadRequest(f"--out is {str(out)!r}, but there is no folder {str(out.parent)!r}")
    from knowwhen.files import write_whole, writing

    facts, buffer = open_run(run, device, allow_code).fill(min_probability=min_probability), BytesIO()
    if out.suffix == ".parquet":
        facts.write_parquet(buffer)
    elif out.suffix == ".csv":
        facts.write_csv(buffer)
    else:
        facts.write_ndjson(buffer)
    with writing(out, "free some space or choose another --out"):
        write_whole(out, buffer.getbuffer())
    filled = {f"inferred_{name}s": len(facts) - facts[f"inferred_{name}"].null_count() for name in ("begin", "end")}
    show({"facts": len(facts), **filled, "out": str(out)}, as_json)
