"""`knowwhen export`: what a model holds, as tables for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowwhen.cli.ask import ForSpreadsheets
from knowwhen.cli.opening import AllowCode, Device, NoVerify, Run, open_run
from knowwhen.cli.output import Json, Quiet, show
from knowwhen.errors import BadRequest
from knowwhen.facts.exporting import ENDINGS, EXPORTS, export_bytes
from knowwhen.facts.frames import without_formulas
from knowwhen.files import UNCHANGED, write_whole, writing

if TYPE_CHECKING:
    import polars as pl

    from knowwhen.trained import TrainedModel


def export(
    run: Run,
    what: Annotated[
        str,
        typer.Option(
            "--what",
            help="embeddings, answers to the questions of a split, facts, or inferred (facts with inferred dates).",
        ),
    ] = "embeddings",
    of: Annotated[
        str, typer.Option("--of", help="entities, predicates or timestamps; for answers: train, valid or test.")
    ] = "entities",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A file: .parquet or .npz; for answers .parquet, .csv or .jsonl; for facts also .ttl or .tsv."
        ),
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="Of facts: csv, jsonl, parquet, ttl or kgtk; else by --out.")
    ] = None,
    min_probability: Annotated[
        float, typer.Option("--min-probability", min=0, max=1, help="Leave out less probable inferred dates.")
    ] = 0.0,
    top: Annotated[int, typer.Option("--top", help="Answers to each question.")] = 10,
    for_spreadsheets: ForSpreadsheets = False,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write embeddings with their names, answers for all facts of a split, or facts, to a file.

    Inferred dates get columns of their own, with their probability.

    Example: knowwhen export runs/leaders --what embeddings --of entities --out entities.parquet
    """
    if out is None:
        raise BadRequest("name a file to write: --out entities.parquet")
    if what not in ("embeddings", "answers", "facts", "inferred"):
        raise BadRequest(f"--what is {what!r}; expected embeddings, answers, facts or inferred")
    kind = format or ENDINGS.get(out.suffix)
    if what in ("facts", "inferred") and kind not in EXPORTS:
        raise BadRequest(f"cannot write facts to {out.name!r}; name one with --format: {', '.join(EXPORTS)}")
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
    if what in ("facts", "inferred"):
        assert kind is not None
        rows = exported_facts(trained, what, min_probability)
        rows = without_formulas(rows) if for_spreadsheets and kind == "csv" else rows
        with writing(out, UNCHANGED):
            write_whole(out, export_bytes(rows, trained.dataset, kind))
        show({"facts": len(rows), "what": what, "format": kind, "out": str(out)}, as_json)
        return
    answer_questions(trained, split_questions(trained, of), target, {"top": top}, as_json)


def exported_facts(trained: TrainedModel, what: str, min_probability: float) -> pl.DataFrame:
    """All facts as they are known, or those whose missing dates are inferred."""
    import polars as pl

    from knowwhen.facts.table import Facts

    if what == "facts":
        return trained.dataset.named(Facts.concatenate(trained.dataset.all_facts, trained.dataset.added))
    filled = trained.fill(min_probability=min_probability)
    return filled.filter(pl.col("inferred_begin").is_not_null() | pl.col("inferred_end").is_not_null())
