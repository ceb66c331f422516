"""`knowwhen train` and `knowwhen info`: make a model, and say what a run holds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from knowwhen.cli.opening import AllowCode, Device, NoVerify, Run, open_run
from knowwhen.cli.output import Json, errors, say, show
from knowwhen.cli.reading import reading as with_reading
from knowwhen.cli.workers import Address, EngineOption, Workers, parse_engine, together
from knowwhen.distributed.started import goes_on
from knowwhen.errors import BadRequest

if TYPE_CHECKING:
    from knowwhen.trained import TrainedModel
    from knowwhen.training.config import Config
    from knowwhen.training.loop import Record, State


RESTARTS = 3  # of --workers, where something kills a process


@with_reading
def train(
    data: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="A dataset name, a folder, a file or - (stdin); not with --resume."),
    ] = None,
    reading: dict[str, Any] = {},  # noqa: B006
    recipe: Annotated[str | None, typer.Option("--recipe", help="A recipe name, or a TOML file of settings.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting: section.key=value; repeatable.")
    ] = None,
    run: Annotated[Path | None, typer.Option("--run", help="The folder for the run.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in that folder.")] = False,
    allow_code: AllowCode = False,
    workers: Workers = None,
    engine: EngineOption = "processes",
    address: Address = None,
    as_json: Json = False,
) -> None:
    """Train a model on facts. Ctrl-C saves and stops, --resume continues.

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


class TrainingBar:
    """Progress on stderr: a bar with time left on a terminal, a line per epoch elsewhere."""

    def notice(self, text: str) -> None:
        say(text)

    def start(self, state: State, config: Config, steps: int) -> None:
        self.steps, self.config = steps, config
        self.began, self.done_before = time.monotonic(), state.epoch * steps + state.step
        self.bar: Progress | None = None
        self.task: TaskID | None = None
        if errors.is_terminal and state.epoch < config.training.epochs:
            self.bar = Progress(
                TextColumn("epoch {task.fields[epoch]}"),
                BarColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}"),
                console=errors,
                transient=True,
            )
            self.task = self.bar.add_task("", total=config.training.epochs * steps, epoch="", note="")
            self.bar.start()

    def step(self, state: State, examples_per_second: float) -> None:
        if self.bar is not None and self.task is not None:
            loss = state.sums["loss"] / (state.step * self.config.training.batch_size)
            self.bar.update(
                self.task,
                completed=state.epoch * self.steps + state.step,
                epoch=f"{state.epoch + 1}/{self.config.training.epochs}",
                note=f"loss {loss:.3f}  {examples_per_second:,.0f} facts/s",
            )

    def epoch(self, record: Record, seconds: float, examples_per_second: float) -> None:
        epochs = self.config.training.epochs
        losses = "  ".join(
            f"{name.replace('_', ' ')} {value:.4f}" for name, value in record.items() if name not in ("epoch", "valid")
        )
        line = f"epoch {record['epoch']}/{epochs}  {losses}  {examples_per_second:,.0f} facts/s"
        if "valid" in record:
            of = f" on {record['valid']['count']:,} questions" if self.config.validation.sample else ""
            line += f"  valid MRR {record['valid']['mrr']:.4f}{of}"
        done = record["epoch"] * self.steps - self.done_before
        left = (epochs - record["epoch"]) * self.steps * (time.monotonic() - self.began) / done
        say(line + (f"  {clock(left)} left" if left else ""))

    def end(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
