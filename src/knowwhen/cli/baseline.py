"""`knowwhen baseline`: how far counting goes on a dataset, under the protocol that models are measured by."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from knowwhen.cli.completion import dataset_names
from knowwhen.cli.evaluate import Directions, Filter, Sample, Seed, Split, Ties, Times, parse_times
from knowwhen.cli.output import Json, Quiet
from knowwhen.console import count_bars


def baseline(
    data: Annotated[str, typer.Argument(help="A dataset name, a folder or a file.", autocompletion=dataset_names)],
    split: Split = "test",
    window: Annotated[
        int | None,
        typer.Option(
            "--window",
            min=0,
            help="Ignore facts further away in time than this, in units of the time axis; by default use all.",
        ),
    ] = None,
    filter: Filter = "time",
    ties: Ties = "half",
    directions: Directions = "both",
    times: Times = "sample",
    seed: Seed = 0,
    sample: Sample = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Evaluate a counting baseline: it counts training facts of the same pair near that time, with tuned weights.

    Example: knowwhen baseline leaders --split test
    """
    from knowwhen.evaluation import PairCounts, Protocol, evaluate
    from knowwhen.evaluation.report import rank_report
    from knowwhen.facts.catalog import load

    protocol = Protocol(filter, ties, directions, parse_times(times), seed)  # type: ignore[arg-type]
    dataset = load(data)
    dataset.facts(split)  # a name that is none is said before the work
    with count_bars() as bars:
        task = bars.add_task("tuning on validation", total=None)
        counts = PairCounts.tune(dataset, window, seed)
        bars.update(task, description="queries")
        metrics = evaluate(
            counts,
            dataset,
            split,
            protocol,
            sample=sample,
            progress=lambda done, total: bars.update(task, completed=done, total=total),
        )
    if as_json:
        print(json.dumps({**metrics.to_dict(), "split": split, **counts.to_dict()}, ensure_ascii=False))
        return
    print(rank_report(metrics))
    print(f"\n{counts.describe()}")
