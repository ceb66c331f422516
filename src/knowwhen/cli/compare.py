"""`knowwhen compare`: metrics of several runs side by side, and whether their differences are more than chance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from knowwhen.cli.evaluate import Directions, Filter, Sample, Seed, Split, Ties, Times, parse_times
from knowwhen.cli.opening import AllowCode, Device, NoVerify, open_run
from knowwhen.cli.output import Json, Quiet
from knowwhen.console import count_bars
from knowwhen.errors import BadRequest


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Folders of runs or saved models.")],
    split: Split = "test",
    filter: Filter = "time",
    ties: Ties = "half",
    directions: Directions = "both",
    times: Times = "sample",
    seed: Seed = 0,
    sample: Sample = None,
    resamples: Annotated[
        int, typer.Option("--resamples", min=1, help="Resamples of the facts for the 95 % intervals.")
    ] = 2000,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw the intervals to this .svg, .png or .pdf.")
    ] = None,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare runs on the same data: metrics, and differences to the first run with 95 % intervals.

    Example: knowwhen compare runs/leaders runs/best --split valid
    """
    if len(runs) < 2:
        raise BadRequest(f"{len(runs)} run to compare; expected at least two")
    if figure is not None:
        from knowwhen.plotting import check_figure

        check_figure(figure)
    from knowwhen.comparing import compare as compare_models
    from knowwhen.evaluation import Protocol

    protocol = Protocol(filter, ties, directions, parse_times(times), seed)  # type: ignore[arg-type]
    opened = [open_run(run, device, allow_code, no_verify) for run in runs]
    with count_bars() as bars:
        task = bars.add_task("queries", total=None)
        found = compare_models(
            *opened,
            split=split,
            protocol=protocol,
            sample=sample,
            resamples=resamples,
            names=[str(run) for run in runs],
            progress=lambda name, done, total: bars.update(task, description=name, completed=done, total=total),
        )
    if figure is not None:
        found.plot(figure)
    print(json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found)
