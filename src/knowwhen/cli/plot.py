"""`knowwhen plot`: the figures of a run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowwhen.cli.opening import AllowCode, Device, NoVerify, Run, open_run
from knowwhen.cli.output import Json, show
from knowwhen.errors import BadRequest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from knowwhen.trained import TrainedModel


class Kind(StrEnum):
    TIMELINE = "timeline"
    TRAINING = "training"
    RELIABILITY = "reliability"
    DATES = "dates"
    TIMESTAMPS = "timestamps"
    TUNING = "tuning"


class Values(StrEnum):
    SCORE = "score"
    PROBABILITY = "probability"


def plot(
    run: Run,
    kind: Annotated[
        Kind, typer.Argument(help="timeline, training, reliability, dates or timestamps; of a study, tuning.")
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SUBJECT PREDICATE [OBJECT]...]",
            help="For a timeline; without objects, draw those known in its span.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The file to write: .svg, .png or .pdf.")] = None,
    span: Annotated[str | None, typer.Option("--span", help="The times of a timeline, such as 1980..2020.")] = None,
    values: Annotated[Values | None, typer.Option("--values", help="score (default) or probability.")] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="The split for reliability and dates; valid by default.")
    ] = None,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    as_json: Json = False,
) -> None:
    """Draw a timeline of scores, training curves, the calibration of probabilities or dates, timestamps, or a study.

    Example: knowwhen plot runs/leaders timeline France "has president" --span 1980..2020 --out presidents.svg
    """
    if out is None:
        raise BadRequest("name a file for the figure: --out figure.svg")
    check_use(kind, {"names": names, "--span": span, "--values": values, "--split": split})
    from knowwhen.plotting import check_figure, save

    check_figure(out)
    if kind is Kind.TUNING:
        from knowwhen.tuning.tune import read_study

        read_study(run).plot(out)
        show({"out": str(out)}, as_json)
        return
    trained = open_run(run, device, allow_code, no_verify)
    if kind is Kind.TIMELINE:
        figure = timeline(trained, names or [], span, values or Values.SCORE)
    else:
        figure = figure_of_run(trained, kind, split or "valid")
    show({"out": str(save(figure, out))}, as_json)


def check_use(kind: Kind, given: dict[str, object]) -> None:
    """Refuses what the kind of figure has no use for."""
    used = {
        Kind.TIMELINE: ("names", "--span", "--values"),
        **dict.fromkeys((Kind.RELIABILITY, Kind.DATES), ("--split",)),
    }.get(kind, ())
    useless = [name for name, value in given.items() if value and name not in used]
    if useless:
        raise BadRequest(f"a {kind} figure does not take {useless[0]}")


def timeline(trained: TrainedModel, names: list[str], span: str | None, values: Values) -> Figure:
    from knowwhen.plotting import timeline_figure

    if len(names) < 2:
        raise BadRequest('a timeline needs SUBJECT and PREDICATE, such as France "has president"')
    subject, predicate, *objects = names
    return timeline_figure(trained.timeline(subject, predicate, objects or None, span), values.value)


def figure_of_run(trained: TrainedModel, kind: Kind, split: str) -> Figure:
    from knowwhen.plotting import dates_figure, reliability_figure, timestamps_figure, training_figure

    if kind is Kind.TRAINING:
        return training_figure(trained.records)
    if kind is Kind.RELIABILITY:
        return reliability_figure(trained.evaluate_calibration(split))
    if kind is Kind.DATES:
        return dates_figure(trained.evaluate_times(split))
    rows = trained.embeddings("timestamps")
    return timestamps_figure(rows["label"].to_list(), rows["embedding"].to_numpy())
