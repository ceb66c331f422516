"""`knowwhen reproduce`: run the paper's tables again, ours beside theirs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from knowwhen.cli.output import Json, errors

RUNS = Path("runs/reproduce")


class Table(StrEnum):
    TABLE2 = "table2"
    HISTORY = "history"
    TABLE3 = "table3"
    PARAMS = "params"
    STDDEV = "stddev"
    WIKIDATA = "wikidata"
    FIGURE1 = "figure1"
    FIGURE2 = "figure2"


def reproduce(
    table: Annotated[Table, typer.Argument(help="Which table or figure.")] = Table.TABLE2,
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", help="icews14, icews05-15, yago15k, for history also wikidata12k; repeatable."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            help="complex, tcomplex, tntcomplex, pair-history; of history unioncomplex[+evidence[+weighing]].",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Runs of each row, with seeds 0, 1, …")] = 1,
    large: Annotated[bool, typer.Option("--large", help="At ten times the base ranks.")] = False,
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, help="For a quick look, kept apart in RUNS/epochsN.")
    ] = None,
    runs: Annotated[Path, typer.Option("--runs", help="The folder of runs; what is done there stays.")] = RUNS,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Where figure1 or figure2 is drawn; by default RUNS/figure1.svg.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Also write all results to this page, and figures.")] = None,
    only_report: Annotated[bool, typer.Option("--only-report", help="Train nothing, report what is done.")] = False,
    as_json: Json = False,
) -> None:
    """Train the recipes of a table (resumable) and print ours beside the paper's.

    Example: knowwhen reproduce table2 --dataset icews14 --model tntcomplex --seeds 2
    """
    from knowwhen.cli.train import Shown
    from knowwhen.evaluation.report import table as aligned
    from knowwhen.reproduction import experiments, figures, paper, report, results

    is_history = table is Table.HISTORY
    datasets = dataset or list(experiments.HISTORY_DATASETS if is_history else paper.DATASETS)
    models = model or list(experiments.HISTORY_MODELS if is_history else paper.MODELS)
    experiments.check_names("dataset", datasets, experiments.HISTORY_DATASETS if is_history else paper.DATASETS)
    paper_models = (*paper.MODELS, experiments.BASELINE)
    experiments.check_names("model", models, experiments.HISTORY_MODELS if is_history else paper_models)
    first = (dataset or ["icews14"])[0]
    runs = runs if epochs is None else runs / f"epochs{epochs}"
    plans: dict[Table, Callable[[], list[experiments.Experiment]]] = {
        Table.TABLE2: lambda: experiments.table2(datasets, models, seeds, large, epochs),
        Table.STDDEV: lambda: experiments.table2(datasets, ["tntcomplex"], max(seeds, 2), large, epochs),
        Table.HISTORY: lambda: experiments.history(datasets, models, seeds, epochs),
        Table.TABLE3: lambda: experiments.table3(first, epochs),
        Table.FIGURE1: lambda: experiments.figure1(first, epochs),
        Table.FIGURE2: lambda: experiments.figure2(epochs),
        Table.WIKIDATA: lambda: experiments.wikidata(epochs),
        Table.PARAMS: list,
    }
    plan = plans[table]()
    for i, experiment in enumerate(plan if not only_report else ()):
        errors.print(f"{i + 1}/{len(plan)} {experiment.name}")
        results.run(experiment, runs, Shown())
    found = results.read_all(runs)
    rows = report.params_rows() if table is Table.PARAMS else report.TABLES[table][1](found)
    if out is not None:
        out.write_text(report.results_page(found), encoding="utf-8")  # figures may fail, this is kept
        out.write_text(report.results_page(found, figures.draw_all(runs, out.parent)), encoding="utf-8")
    if table in figures.DRAW:
        figure = figure or runs / f"{table}.svg"
        figures.DRAW[table](runs, figure, first)
        errors.print(f"drawn: {figure}")
    if as_json:
        kept = {Table.STDDEV: Table.TABLE2, Table.FIGURE1: Table.TABLE3}.get(table, table)
        here = [asdict(r) for r in found if r.table == kept]
        print(json.dumps({"rows": [dict(zip(rows[0], row, strict=True)) for row in rows[1:]], "results": here}))
        return
    print("\n".join(aligned(rows)))
