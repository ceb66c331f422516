"""`knowwhen train` and `knowwhen info`: make a model, and say what a run holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowwhen.cli.completion import dataset_names, recipe_names
from knowwhen.cli.opening import AllowCode, Device, NoVerify, Run, open_run
from knowwhen.cli.output import Json, Quiet, show
from knowwhen.cli.reading import reading as with_reading
from knowwhen.cli.workers import Address, EngineOption, Workers, parse_engine, together
from knowwhen.distributed.started import goes_on
from knowwhen.errors import BadRequest
from knowwhen.training.bar import TrainingBar

if TYPE_CHECKING:
    from knowwhen.trained import TrainedModel


RESTARTS = 3  # of --workers, where something kills a process


@with_reading
def train(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="A dataset name, a folder, a file or - (stdin); not with --resume.",
            autocompletion=dataset_names,
        ),
    ] = None,
    reading: dict[str, Any] = {},  # noqa: B006
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", help="A recipe name, or a TOML file of settings.", autocompletion=recipe_names),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting: section.key=value; repeatable.")
    ] = None,
    run: Annotated[Path | None, typer.Option("--run", help="The folder for the run.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in that folder.")] = False,
    allow_code: AllowCode = False,
    workers: Workers = None,
    engine: EngineOption = "processes",
    address: Address = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train a model on facts. Ctrl-C saves and stops; --resume continues.

    Example: knowwhen train leaders --recipe leaders --run runs/leaders
    """
    from knowwhen.trained import train as train_model
    from knowwhen.training.config import parse_override

    if run is None:
        raise BadRequest("name a folder for the run: --run runs/first")
    overrides = dict(parse_override(text) for text in settings or ())
    reading.pop("given")
    options: dict[str, Any] = {
        "data": data,
        "recipe": recipe,
        "overrides": overrides,
        "allow_code": allow_code,
        "reading": reading,
    }
    if parse_engine(engine, address) == "ray":
        from knowwhen.cli.on_ray import train_on_ray

        show({**train_on_ray(run, resume, workers or 1, address, options), "run": str(run)}, as_json)
        return
    with together(workers, RESTARTS) as prints:
        if goes_on() and (run / "config.toml").exists():
            options, resume = {**options, "data": None}, True  # what the run began with: standard input is read once
        trained = train_model(run=run, resume=resume, progress=TrainingBar(), **options)
        if prints:
            show({**about(trained), "run": str(run)}, as_json)


def about(trained: TrainedModel) -> dict[str, object]:
    """What it is, and its last epoch."""
    last = trained.records[-1] if trained.records else {}
    return {**trained.info(), **{k: v for k, v in last.items() if k not in ("valid", "corrected")}}


def info(
    run: Run,
    device: Device = None,
    allow_code: AllowCode = False,
    no_verify: NoVerify = False,
    as_json: Json = False,
) -> None:
    """Show the model, data, progress and validation results of a run.

    Example: knowwhen info runs/leaders
    """
    show(open_run(run, device, allow_code, no_verify).info(), as_json)
