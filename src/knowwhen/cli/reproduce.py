"""`knowwhen reproduce`: run the paper's tables again, ours beside theirs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowwhen.cli.output import Json, Quiet, complain
from knowwhen.console import say
from knowwhen.errors import BadRequest
from knowwhen.files import check_target
from knowwhen.text import plural
from knowwhen.training.bar import clock

if TYPE_CHECKING:
    from knowwhen.reproduction.experiments import Experiment
    from knowwhen.reproduction.merging import Merged
    from knowwhen.reproduction.planning import Job
    from knowwhen.reproduction.results import Result
    from knowwhen.reproduction.table import Request, Table
    from knowwhen.reproduction.working import Plan

RUNS = Path("runs/reproduce")
STORE = Path("docs/results")  # of a checkout
PLAN, ALL, MERGE = "plan", "all", "merge"


def reproduce(
    table: Annotated[
        str,
        typer.Argument(
            help="params, table2, stddev, evidence, best, table3, figure1, grid, figure2, wikidata, times, table4, "
            "convergence, sampling, published or field; or plan, all, merge.",
        ),
    ] = PLAN,
    names: Annotated[
        list[str] | None,
        typer.Argument(help="For plan and all: tables, by default all. For merge: folders of runs or results."),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset", help="icews14, icews05-15, yago15k; some tables have wikidata12k or politicians; repeatable."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            help="complex, tcomplex, tntcomplex, pair-counts; for evidence unioncomplex[+evidence[+correction]] or "
            "unioncomplex+TERM; for sampling full, k256, k512, … k8192; for published and field any model; for field "
            "also MODEL+history.",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=1,
            help="Runs per row, with seeds 0, 1, …; by default 1, and for all as many as each table needs.",
        ),
    ] = None,
    large: Annotated[bool, typer.Option("--large", help="For table2: train at ten times the base ranks.")] = False,
    sampled: Annotated[bool, typer.Option("--sampled", help="For table2: train with a sampled softmax.")] = False,
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs", min=1, help="Train for this many epochs, as a quick look; results go to RUNS/epochsN."
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", min=1, help="For field: settings to try for each model; all by default.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", help="Time limit, such as 2h or 90m: start only runs that should finish within it."),
    ] = None,
    runs: Annotated[Path, typer.Option("--runs", help="The folder for runs; finished runs are reused.")] = RUNS,
    results: Annotated[
        Path | None,
        typer.Option("--results", help="The folder for results; docs/results if it exists, else RUNS/results."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="The file for the figure of a table; RUNS/TABLE.svg by default.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write all results and figures to this Markdown page.")
    ] = None,
    only_report: Annotated[bool, typer.Option("--only-report", help="Report stored results without training.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train the models of a table and print our numbers next to the paper's; resumes where it stopped.

    Without a table, print the plan: which results exist, which are missing, and how many hours they take.

    Example: knowwhen reproduce table2 --dataset icews14 --model tntcomplex --seeds 2
    """
    from knowwhen.reproduction import report
    from knowwhen.reproduction.merging import check_merged, merge
    from knowwhen.reproduction.results import read_all
    from knowwhen.reproduction.table import Request

    seconds = None if budget is None else parse_budget(budget)
    for target in (out, figure):
        if target is not None:
            check_target(target)  # before the work
    if epochs is not None:
        runs = runs / f"epochs{epochs}"
    store = results or (STORE if STORE.is_dir() and epochs is None else runs / "results")
    request = Request(dataset or (), model or (), seeds or 0, large, sampled, epochs, trials)
    fates: Sequence[Merged] = ()
    if table == MERGE:
        fates = merge([Path(name) for name in names or ()], store)
        shown, lines = _merged(fates)
    elif table in (PLAN, ALL):
        if large or sampled or figure:
            raise BadRequest(f"--large, --sampled and --figure need a single table, not {table}")
        shown, lines = _every(names or (), request, runs, store, seconds, table == ALL and not only_report)
    elif names:
        raise BadRequest(f"{table} takes no {names[0]!r}; `knowwhen reproduce all TABLE…` runs several tables")
    else:
        shown, lines = _one(table, replace(request, seeds=seeds or 1), runs, store, seconds, figure, only_report)
    if out is not None:
        report.write_page(read_all(store), out, epochs)
    print(json.dumps(shown) if as_json else "\n".join(lines))
    check_merged(fates)


Printed = tuple[dict[str, object], list[str]]  # for programs and for people


def _one(
    name: str, request: Request, runs: Path, store: Path, seconds: float | None, figure: Path | None, only_report: bool
) -> Printed:
    """Measures a table and shows it."""
    from knowwhen.reproduction.planning import current, usable
    from knowwhen.reproduction.results import read_all
    from knowwhen.reproduction.table import FOOTNOTE
    from knowwhen.reproduction.tables import table_named
    from knowwhen.text import table as aligned

    asked = table_named(name)
    request = asked.complete(request)
    if not only_report:
        _work(lambda found: asked.plan(replace(request, found=usable(found))), runs, store, seconds)
    found = current(read_all(store), request.epochs)
    if asked.figure:
        figure = figure or runs / f"{name}.svg"
        if not asked.draw(found, request.datasets, figure):
            raise BadRequest(f"no results to draw: run `knowwhen reproduce {name}` without --only-report first")
        say(f"drawn: {figure}")
    here = asked.of(found)
    rows = asked.rows(here)
    if any(result.is_provisional for result in here):
        say(FOOTNOTE)
    cells = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    return {"rows": cells, "results": [result.to_dict() for result in here]}, aligned(rows)


def _every(
    names: Sequence[str], request: Request, runs: Path, store: Path, seconds: float | None, measures: bool
) -> Printed:
    """Shows the plan of all tables or some of them, after the work on it where that is asked for."""
    from knowwhen.reproduction.planning import jobs, plan_rows, whole_plan
    from knowwhen.reproduction.results import read_all
    from knowwhen.reproduction.tables import TABLES, table_named
    from knowwhen.text import table as aligned

    tables: Sequence[Table] = [table_named(name) for name in names] or list(TABLES.values())

    def plan(found: Sequence[Result]) -> Sequence[Experiment]:
        return whole_plan(found, tables, request)

    if not plan(()):
        raise BadRequest("no table has such datasets or models; `knowwhen reproduce plan` without them shows all")
    if measures:
        _work(plan, runs, store, seconds)
    found = read_all(store)
    todo = jobs(plan(found), found)
    hours = sum(job.hours for job in todo)
    counts = Counter(str(job.state) for job in todo)
    total = ", ".join(f"{n} {state}" for state, n in counts.items())
    lines = [*aligned(plan_rows(todo)), f"{plural(len(todo), 'run')}: {total}; about {hours:.1f} hours left"]
    return {"runs": [job.to_dict() for job in todo], "counts": counts, "hours": round(hours, 2)}, lines


def _work(plan: Plan, runs: Path, store: Path, seconds: float | None) -> None:
    """Measure what a plan lacks, and report the outcome."""
    from knowwhen.reproduction.working import work
    from knowwhen.training.bar import TrainingBar

    outcome = work(plan, runs, store, _tell, TrainingBar, seconds)
    for error in outcome.without_data.values():
        say(f"left out: {error}")
    for name, error in outcome.failed.items():
        complain(f"failed: {name}: {error}")
    if outcome.left:
        hours = sum(job.hours for job in outcome.left)
        say(f"not started within the budget: {plural(len(outcome.left), 'run')}, about {hours:.1f} hours")
    outcome.check()


def _tell(job: Job, number: int, runs: int, hours: float, budget: float | None) -> None:
    left = f"{plural(runs, 'run')} left, about {clock(3600 * hours)}"
    of_budget = "" if budget is None else f"; {clock(max(0.0, budget))} of the budget left"
    say(f"run {number}: {job.experiment.name}, about {clock(3600 * job.hours)} ({left}{of_budget})")


def _merged(fates: Sequence[Merged]) -> Printed:
    """What became of each result, and how many there are of each fate."""
    counts = Counter(one.fate for one in fates)
    lines = [f"{one.fate}: {one.name}{f' ({one.about})' if one.about else ''}" for one in fates if one.fate != "same"]
    lines.append(", ".join(f"{n} {fate}" for fate, n in counts.items()))
    return {"results": [vars(one) for one in fates], "counts": counts}, lines


def parse_budget(text: str) -> float:
    """The seconds of '2h', '90m', '1.5h' or '45s'."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if not match:
        raise BadRequest(f"--budget {text!r} is not a time; expected a number with s, m, h or d, such as 2h or 90m")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]
