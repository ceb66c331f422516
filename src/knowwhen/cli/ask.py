"""`knowwhen ask`: one question with its answers, or a file of questions with theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowwhen.cli.opening import AllowCode, Device, KnownBy, NoVerify, Run, open_run
from knowwhen.cli.output import Json, Quiet
from knowwhen.cli.workers import Workers, together
from knowwhen.errors import BadInput, BadRequest

if TYPE_CHECKING:
    from knowwhen.trained import TrainedModel

Asked = Annotated[str | None, typer.Argument(help="A name or key, or ? or _ to ask for it.", show_default=False)]


ForSpreadsheets = Annotated[
    bool,
    typer.Option(
        "--for-spreadsheets", help="In a .csv, put ' before cells that a spreadsheet would run as formulas (= + - @)."
    ),
]


def ask(
    run: Run,
    subject: Asked = None,
    predicate: Asked = None,
    object: Asked = None,
    time: Annotated[
        str | None,
        typer.Argument(
            metavar="[TIME]", help="A date, a range such as 2009..2012, or ? to ask when; by default any time."
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            help="Rank answers by the probability that they hold on this date; it may be after the data ends.",
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", help="Number of answers.")] = 10,
    novel: Annotated[bool, typer.Option("--novel", help="Leave out known answers.")] = False,
    candidates: Annotated[
        str | None,
        typer.Option(
            "--candidates",
            help="Only allow these answers: a file with one name per line, or seen (seen there in training).",
        ),
    ] = None,
    min_probability: Annotated[
        float, typer.Option("--min-probability", help="Leave out answers below this probability.")
    ] = 0.0,
    why: Annotated[
        bool, typer.Option("--why", help="Explain each answer: the parts of its score and the facts behind them.")
    ] = False,
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch",
            help="A table of questions with the columns subject, predicate, object, time: a file, or - (stdin).",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The file for the answers to --batch: .csv, .jsonl or .parquet.")
    ] = None,
    for_spreadsheets: ForSpreadsheets = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Also draw the answers, to an .svg, .png or .pdf file.")
    ] = None,
    known_by: KnownBy = None,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Answer a question with ? in one place, or a file of questions. _ works like ? and needs no quotes.

    Example: knowwhen ask runs/leaders "United States" "has president" _ 2012
    """
    options = {"top": top, "novel": novel, "min_probability": min_probability, "explain": why}
    names = read_candidates(candidates)
    if as_of is not None:
        refused = {"TIME": time, "--novel": novel, "--candidates": candidates, "--why": why, "--batch": batch}
        useless = [
            name for name, value in {**refused, "--plot": plot, "--min-probability": min_probability}.items() if value
        ]
        if useless:
            raise BadRequest(f"--as-of cannot be combined with {useless[0]}")
        if subject is None or predicate is None or object is None:
            raise BadRequest("a question needs SUBJECT, PREDICATE and OBJECT, with ? for one of them")
        found = open_run(run, device, allow_code, no_verify, known_by).as_of(subject, predicate, object, as_of, top)
        print(json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found)
        return
    if batch is not None:
        from knowwhen.cli.batch import Target, answer_file, check_files

        if plot is not None:
            raise BadRequest("--plot draws the answers to one question, not to --batch")
        if subject is not None or out is None:
            raise BadRequest("--batch reads questions from a file and needs --out FILE for the answers")
        if why and out.suffix != ".jsonl":
            raise BadRequest(f"--why writes lists of facts, which need --out with .jsonl, not {out.name!r}")
        if workers not in (None, 1):
            raise BadRequest("--batch runs in one process; leave --workers out")
        check_files(batch, out)
        target = Target(out, for_spreadsheets)
        answer_file(open_run(run, device, allow_code, no_verify, known_by), batch, target, names, options, as_json)
        return
    if out is not None:
        raise BadRequest("--out needs --batch; use --json to save the answers to one question")
    if object is None:
        raise BadRequest("a question needs SUBJECT, PREDICATE and OBJECT, with ? for one of them or for TIME")
    question = (subject, predicate, object, time)
    with together(workers) as prints:
        trained = open_run(run, device, allow_code, no_verify, known_by)
        show_answers(trained, question, {**options, "candidates": names}, as_json, plot, prints=prints)


def show_answers(
    trained: TrainedModel,
    question: tuple[Any, ...],
    options: dict[str, Any],
    as_json: bool,
    plot: Path | None,
    *,
    prints: bool = True,
) -> None:
    if plot is not None:
        from knowwhen.plotting import check_figure
        from knowwhen.plotting import plot as draw

        check_figure(plot)
    found = trained.ask(*question, **options)
    if not prints:
        return
    if plot is not None:
        draw(found, plot)
    print(json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found)


def read_candidates(given: str | None) -> list[str] | str | None:
    """'seen', or the lines of a file."""
    if given is None or given == "seen":
        return given
    path = Path(given)
    if not path.is_file():
        raise BadRequest(
            f"--candidates is {given!r}, which is not a file; expected a file with one name per line, or seen"
        )
    try:
        return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the candidates in {path}: {error}; expected UTF-8 text") from error
