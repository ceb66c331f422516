"""`knowwhen export`: what a model holds, as tables for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowwhen.cli.ask import ForSpreadsheets
from knowwhen.cli.evaluate import parse_times
from knowwhen.cli.opening import AllowCode, Device, NoVerify, Run, open_run
from knowwhen.cli.output import Json, Quiet, show
from knowwhen.errors import BadRequest
from knowwhen.facts.exporting import ENDINGS, EXPORTS, export_bytes
from knowwhen.facts.frames import without_formulas
from knowwhen.files import UNCHANGED, write_whole, writing

if TYPE_CHECKING:
    import polars as pl

    from knowwhen.cli.batch import Target
    from knowwhen.trained import TrainedModel

TABLES = ("csv", "jsonl", "parquet")
FORMATS = {  # of each thing that can be exported
    "embeddings": ("parquet", "npz"),
    "answers": TABLES,
    "ranks": TABLES,
    "facts": tuple(EXPORTS),
    "inferred": tuple(EXPORTS),
}
ONLY_FOR = {  # options, by what they are of
    "--of": ("embeddings",),
    "--split": ("answers", "ranks"),
    "--top": ("answers",),
    "--min-probability": ("inferred",),
    **dict.fromkeys(("--filter", "--directions", "--times", "--seed", "--sample"), ("ranks",)),
}


def export(
    run: Run,
    what: Annotated[
        str,
        typer.Option(
            "--what",
            help="embeddings; answers to the questions of a split; ranks of its facts; facts; "
            "or inferred (facts with inferred dates).",
        ),
    ] = "embeddings",
    of: Annotated[
        str | None, typer.Option("--of", help="For embeddings: entities (the default), predicates or timestamps.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="For answers and ranks: train, valid or test (the default).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="The file to write: .parquet, .csv or .jsonl; facts also .ttl or .tsv; embeddings also .npz."
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option("--format", help="csv, jsonl, parquet, ttl, kgtk or npz; by default from the extension of --out."),
    ] = None,
    top: Annotated[int | None, typer.Option("--top", help="For answers: number per question; 10 by default.")] = None,
    min_probability: Annotated[
        float | None,
        typer.Option("--min-probability", min=0, max=1, help="For inferred: leave out dates below this probability."),
    ] = None,
    filter: Annotated[
        str | None, typer.Option("--filter", help="For ranks: time, static or raw, as in `knowwhen evaluate`.")
    ] = None,
    directions: Annotated[str | None, typer.Option("--directions", help="For ranks: both, or objects only.")] = None,
    times: Annotated[
        str | None, typer.Option("--times", help="For ranks: timestamps per fact: sample, all, or a number of samples.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="For ranks: seed for sampling times and facts.")] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", help="For ranks: only this many facts, drawn at random.")
    ] = None,
    for_spreadsheets: ForSpreadsheets = False,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write embeddings, facts, or the answers or ranks for all facts of a split to a file.

    Inferred dates are in separate columns, with their probability.

    Example: knowwhen export runs/leaders --what ranks --split test --out ranks.csv
    """
    ranking = {"--filter": filter, "--directions": directions, "--times": times, "--seed": seed, "--sample": sample}
    given = {"--of": of, "--split": split, "--top": top, "--min-probability": min_probability, **ranking}
    kind, out = check_request(what, out, format, given)
    from knowwhen.cli.batch import Target, answer_questions, split_questions

    target = Target(out, for_spreadsheets, kind)  # before the work
    trained = open_run(run, device, allow_code, no_verify)
    if what == "embeddings":
        show(write_embeddings(trained, of or "entities", target), as_json)
    elif what == "answers":
        questions = split_questions(trained, split or "test")
        answer_questions(trained, questions, target, {"top": 10 if top is None else top}, as_json)
    elif what == "ranks":
        show(write_ranks(trained, split or "test", ranking, target), as_json)
    else:
        show(write_facts(trained, what, min_probability or 0.0, target), as_json)


def check_request(what: str, out: Path | None, format: str | None, given: dict[str, Any]) -> tuple[str, Path]:
    """The format to write and the file to write it to; an error for what does not go together."""
    if what not in FORMATS:
        raise BadRequest(f"--what is {what!r}; expected {', '.join(FORMATS)}")
    if out is None:
        raise BadRequest(f"name a file to write: --out {what}.parquet")
    for option, value in given.items():
        if value is not None and what not in ONLY_FOR[option]:
            raise BadRequest(f"{option} needs --what {' or '.join(ONLY_FOR[option])}; leave it out for {what}")
    kind = format or ENDINGS.get(out.suffix, out.suffix.removeprefix("."))
    formats = ", ".join(FORMATS[what])
    if format and kind not in FORMATS[what]:
        raise BadRequest(f"--format is {format!r}; expected {formats} for {what}")
    if kind not in FORMATS[what]:
        raise BadRequest(f"cannot tell the format of {what} from {out.name!r}; name one with --format: {formats}")
    return kind, out


def write_embeddings(trained: TrainedModel, of: str, target: Target) -> dict[str, object]:
    from knowwhen.query.neighbours import embedding_bytes

    frame = trained.embeddings(of)
    with writing(target.path, UNCHANGED):
        write_whole(target.path, embedding_bytes(frame, target.kind))
    width = frame["embedding"].dtype.shape[0]  # type: ignore[attr-defined]
    return {"rows": len(frame), "dimension": width, "of": of, "out": str(target.path)}


def write_ranks(trained: TrainedModel, split: str, given: dict[str, Any], target: Target) -> dict[str, object]:
    """Writes a row for each fact and direction; says under which protocol."""
    from knowwhen.evaluation import Protocol

    chosen = {option.removeprefix("--"): value for option, value in given.items() if value is not None}
    sample = chosen.pop("sample", None)
    if "times" in chosen:
        chosen["times"] = parse_times(chosen["times"])
    protocol = Protocol(**chosen)
    ranks = trained.ranks(split, protocol=protocol, sample=sample, progress=True)
    target.write(ranks)
    return {"ranks": len(ranks), "split": split, "protocol": protocol.describe(), "out": str(target.path)}


def write_facts(trained: TrainedModel, what: str, min_probability: float, target: Target) -> dict[str, object]:
    rows = exported_facts(trained, what, min_probability)
    rows = without_formulas(rows) if target.for_spreadsheets and target.kind == "csv" else rows
    with writing(target.path, UNCHANGED):
        write_whole(target.path, export_bytes(rows, trained.dataset, target.kind))
    return {"facts": len(rows), "what": what, "format": target.kind, "out": str(target.path)}


def exported_facts(trained: TrainedModel, what: str, min_probability: float) -> pl.DataFrame:
    """All facts as they are known, or those whose missing dates are inferred."""
    import polars as pl

    from knowwhen.facts.table import Facts

    if what == "facts":
        return trained.dataset.named(Facts.concatenate(trained.dataset.all_facts, trained.dataset.added))
    filled = trained.fill(min_probability=min_probability)
    return filled.filter(pl.col("inferred_begin").is_not_null() | pl.col("inferred_end").is_not_null())
