"""`knowwhen export`: what a model holds, as tables for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowwhen.cli.ask import ForSpreadsheets
from knowwhen.cli.opening import AllowCode, Device, NoVerify, Run, open_run
from knowwhen.cli.output import Json, show
from knowwhen.errors import BadRequest
from knowwhen.files import UNCHANGED, writing


def export(
    run: Run,
    what: Annotated[
        str, typer.Option("--what", help="embeddings, or answers to the questions of a split.")
    ] = "embeddings",
    of: Annotated[
        str, typer.Option("--of", help="entities, predicates or timestamps; for answers: train, valid or test.")
    ] = "entities",
    out: Annotated[
        Path | None, typer.Option("--out", help="A file: .parquet or .npz; for answers .parquet, .csv or .jsonl.")
    ] = None,
    top: Annotated[int, typer.Option("--top", help="Answers to each question.")] = 10,
    for_spreadsheets: ForSpreadsheets = False,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    as_json: Json = False,
) -> None:
    """Write embeddings with their names, or answers for all facts of a split, to a file.

    Example: knowwhen export runs/leaders --what embeddings --of entities --out entities.parquet
    """
    if out is None:
        raise BadRequest("name a file to write: --out entities.parquet")
    if what not in ("embeddings", "answers"):
        raise BadRequest(f"--what is {what!r}; expected embeddings or answers")
    from knowwhen.cli.batch import Target, answer_questions, split_questions

    target = Target(out, for_spreadsheets)  # before the work
    trained = open_run(run, device, allow_code, no_verify)
    if what == "embeddings":
        from knowwhen.query.neighbours import write_embeddings

        frame = trained.embeddings(of)
        with writing(out, UNCHANGED):
            write_embeddings(frame, out)
        width = frame["embedding"].dtype.shape[0]  # type: ignore[attr-defined]
        show({"rows": len(frame), "dimension": width, "of": of, "out": str(out)}, as_json)
        return
    answer_questions(trained, split_questions(trained, of), target, {"top": top}, as_json)
