"""`knowwhen reproduce`: run the paper's tables again, ours beside theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from knowwhen.cli.output import Json, Quiet
from knowwhen.console import say
from knowwhen.errors import BadRequest
from knowwhen.files import check_target

RUNS = Path("runs/reproduce")


def reproduce(
    table: Annotated[
        str,
        typer.Argument(
            help="params, table2, table3, table4, evidence, stddev, figure1, figure2, wikidata, times, sampling, "
            "published or field."
        ),
    ] = "table2",
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
            help="complex, tcomplex, tntcomplex, pair-counts; of evidence unioncomplex[+evidence[+correction]]; "
            "of sampling full, k256, k512, … k8192; of published and field any model, of field also MODEL+history.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Runs per row, with seeds 0, 1, …")] = 1,
    large: Annotated[bool, typer.Option("--large", help="Train at ten times the base ranks.")] = False,
    epochs: Annotated[
        int | None,
        typer.Option("--epochs", min=1, help="Train for fewer epochs; results are kept apart in RUNS/epochsN."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", min=1, help="Of field: settings tried for each model; by default all.")
    ] = None,
    runs: Annotated[Path, typer.Option("--runs", help="The folder for runs; finished runs are reused.")] = RUNS,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="The file for figure1 or figure2; RUNS/figure1.svg by default.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write all results and figures to this Markdown page.")
    ] = None,
    only_report: Annotated[bool, typer.Option("--only-report", help="Report finished runs without training.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train the models of a table and print our numbers next to the paper's; resumes where it stopped.

    Example: knowwhen reproduce table2 --dataset icews14 --model tntcomplex --seeds 2
    """
    from knowwhen.reproduction import report, results
    from knowwhen.reproduction.table import Request
    from knowwhen.text import table as aligned
    from knowwhen.training.bar import TrainingBar

    asked = report.table_named(table)
    request = asked.complete(Request(dataset or (), model or (), seeds, large, epochs, trials))
    runs = runs if epochs is None else runs / f"epochs{epochs}"
    for target in (out, figure):
        if target is not None:
            check_target(target)  # before the work
    plan = asked.plan(request)
    for i, experiment in enumerate(plan if not only_report else ()):
        say(f"{i + 1}/{len(plan)} {experiment.name}")
        results.run(experiment, runs, TrainingBar())
    found = results.read_all(runs)
    if out is not None:
        report.write_page(found, out)
    if asked.figure:
        figure = figure or runs / f"{table}.svg"
        if not asked.draw(found, request.datasets[0], figure):
            raise BadRequest(f"no results to draw: run `knowwhen reproduce {table}` without --only-report first")
        say(f"drawn: {figure}")
    here = asked.of(found)
    rows = asked.rows(here)
    if as_json:
        shown = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
        print(json.dumps({"rows": shown, "results": [result.to_dict() for result in here]}))
        return
    print("\n".join(aligned(rows)))
