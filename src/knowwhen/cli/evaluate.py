"""`knowwhen evaluate`: how good a model is, and under which protocol."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from knowwhen.cli.opening import AllowCode, Device, NoVerify, Run, open_run
from knowwhen.cli.output import Json, Quiet
from knowwhen.cli.workers import Workers, together
from knowwhen.console import say
from knowwhen.errors import BadRequest
from knowwhen.folders import check_run
from knowwhen.text import plural

Split = Annotated[str, typer.Option("--split", help="train, valid or test.")]
Filter = Annotated[
    str,
    typer.Option(
        "--filter",
        help="Which other true answers to leave out of the ranking: "
        "true at that time (time), at any time (static), none (raw).",
    ),
]
Ties = Annotated[str, typer.Option("--ties", help="How to rank ties: half, pessimistic or optimistic.")]
Directions = Annotated[
    str,
    typer.Option(
        "--directions", help="Questions per fact: for object and subject (both), or for the object only (objects)."
    ),
]
Times = Annotated[
    str,
    typer.Option(
        "--times", help="Timestamps per fact: one sampled from its span (sample), all, or a number of samples."
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed for sampling times and facts.")]
LARGE = 3e9  # scores: from about half a minute on
Sample = Annotated[int | None, typer.Option("--sample", help="Evaluate on only this many facts, drawn at random.")]


def evaluate(
    run: Run,
    split: Split = "test",
    filter: Filter = "time",
    ties: Ties = "half",
    directions: Directions = "both",
    times: Times = "sample",
    seed: Seed = 0,
    sample: Sample = None,
    time_questions: Annotated[
        bool, typer.Option("--time-questions", help="Also evaluate time questions, next to two simple baselines.")
    ] = False,
    calibration: Annotated[
        bool, typer.Option("--calibration", help="Also measure the calibration of probabilities.")
    ] = False,
    with_added: Annotated[
        bool,
        typer.Option("--with-added", help="Use facts from `knowwhen add` as evidence; they must not be in this split."),
    ] = False,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure MRR and Hits@k of a model on a split, and state the protocol.

    Example: knowwhen evaluate runs/leaders --split test
    """
    check_run(run)
    from knowwhen.evaluation import Protocol
    from knowwhen.evaluation.questions import count_questions, sample_facts
    from knowwhen.evaluation.report import rank_report, time_report

    protocol = Protocol(filter, ties, directions, parse_times(times), seed)  # type: ignore[arg-type]
    with together(workers) as prints:
        trained = open_run(run, device, allow_code, no_verify)
        if trained.additions and not with_added and prints:
            added = len(trained.dataset.added)
            facts = f"{plural(added, 'fact')} {'was' if added == 1 else 'were'}"
            say(f"{facts} added after training; evaluation ignores {'it' if added == 1 else 'them'}")
        queries = count_questions(sample_facts(trained.dataset, split, sample, seed), trained.model.sizes, protocol)
        scores = queries * trained.model.sizes.entities
        if scores > LARGE and prints:
            say(f"{queries:,} queries take {scores:.1e} scores; --sample 10000 evaluates on that many facts only")
        metrics = trained.evaluate(split, sample=sample, protocol=protocol, with_added=with_added, progress=prints)
        timed = trained.evaluate_times(split, sample=sample, seed=seed, progress=prints) if time_questions else None
        believed = trained.evaluate_calibration(split, sample=sample, seed=seed) if calibration else None
    if not prints:
        return
    if as_json:
        values = {**metrics.to_dict(), "split": split, "run": str(run)}
        if timed:
            values["time_questions"] = timed.to_dict()
        if believed:
            values["calibration"] = believed.to_dict()
        print(json.dumps(values, ensure_ascii=False))
        return
    print(rank_report(metrics))
    if timed:
        print("\n" + time_report(timed))
    if believed:
        print(f"\n{believed}")


def parse_times(text: str) -> str | int:
    if text.isdigit():
        return int(text)
    if text not in ("sample", "all"):
        raise BadRequest(f"--times is {text!r}; expected sample, all or a number of samples")
    return text
