"""`knowwhen tune`: search for settings, on one process or several."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from knowwhen.cli.completion import dataset_names, recipe_names
from knowwhen.cli.opening import AllowCode
from knowwhen.cli.output import Json, Quiet
from knowwhen.cli.reading import reading as with_reading
from knowwhen.console import errors, say, shows_bars
from knowwhen.distributed.started import cores
from knowwhen.errors import BadRequest
from knowwhen.training.bar import clock

if TYPE_CHECKING:
    from knowwhen.training.loop import Record
    from knowwhen.tuning.results import Tuning
    from knowwhen.tuning.space import Point
    from knowwhen.tuning.tune import TuningProgress

HELPS = "KNOWWHEN_HELPS"  # set for processes of --workers: the first one speaks for all


@with_reading
def tune(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="A dataset name, a folder or a file; not with --only-report.",
            autocompletion=dataset_names,
        ),
    ] = None,
    reading: dict[str, Any] = {},  # noqa: B006
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe", help="The recipe to start from: its name, or a TOML file.", autocompletion=recipe_names
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Fix a setting for all trials, section.key=value; repeatable.")
    ] = None,
    space: Annotated[
        str,
        typer.Option(
            "--space",
            help="The settings to search and their values: a TOML file, or basic, evidence, field, lacroix2020 or "
            "negatives.",
        ),
    ] = "basic",
    trials: Annotated[
        int | None,
        typer.Option("--trials", min=1, help="Trials of the study in all; 40 by default, or the whole grid."),
    ] = None,
    sampler: Annotated[str, typer.Option("--sampler", help="How to choose points: grid, random or tpe.")] = "tpe",
    pruner: Annotated[
        str, typer.Option("--pruner", help="How to stop hopeless trials early: median, halving or none.")
    ] = "median",
    sampler_seed: Annotated[int, typer.Option("--sampler-seed", min=0, help="Seed for choosing points.")] = 0,
    run: Annotated[
        Path | None, typer.Option("--run", help="The folder for the study; the same command continues it.")
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes that share the trials; the same command joins too.")
    ] = 1,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw MRR against each setting to this .svg, .png or .pdf.")
    ] = None,
    only_report: Annotated[
        bool, typer.Option("--only-report", help="Report the study in that folder without training.")
    ] = False,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Search for the settings with the best validation MRR. Ctrl-C saves and stops; the same command continues.

    Example: knowwhen tune leaders --recipe leaders --space basic --trials 20 --run runs/tuned
    """
    if run is None:
        raise BadRequest("name a folder for the study: --run runs/tuned")
    if figure is not None:
        from knowwhen.plotting import check_figure

        check_figure(figure)
    reading.pop("given")
    with helped(0 if only_report else workers - 1, data):
        from knowwhen.training.config import parse_override
        from knowwhen.tuning import tune as tuning

        if only_report:
            found = tuning.read_study(run)
        elif data is None:
            raise BadRequest("name the data to tune on, such as leaders; --only-report needs none")
        else:
            found = tuning.tune(
                data,
                recipe,
                space,
                trials=trials,
                sampler=sampler,  # type: ignore[arg-type]
                pruner=pruner,  # type: ignore[arg-type]
                seed=sampler_seed,
                run=run,
                progress=_progress(),
                overrides=dict(parse_override(text) for text in settings or ()),
                allow_code=allow_code,
                reading=reading,
            )
    if not os.environ.get(HELPS):
        show_study(found, data, run, figure, as_json)


def show_study(found: Tuning, data: str | None, run: Path, figure: Path | None, as_json: bool) -> None:
    """The table, or all as JSON; what to do next on stderr."""
    if figure is not None:
        found.plot(figure)
    if as_json:
        print(json.dumps({**found.to_dict(), "recipe": str(run / "best.toml")}, ensure_ascii=False))
        return
    print(found)
    best, named = found.best, data or "DATA"
    print(f"\nbest: trial {best.number}, MRR {best.valid_mrr:.4f} on valid; recipe: {run / 'best.toml'}")
    say(f"train it: knowwhen train {named} --recipe {run / 'best.toml'} --run RUN")
    say(f"or finish the trial: knowwhen train {named} --run {run / 'trials' / f'{best.number:04}'} --resume")


def _progress() -> TuningProgress:
    from knowwhen.tuning.tune import Unwatched

    return Unwatched() if os.environ.get(HELPS) else TuningBar()


class TuningBar:
    """Progress on stderr: a bar with time left on a terminal, a line per trial elsewhere."""

    def notice(self, text: str) -> None:
        say(text)

    def start(self, found: Tuning, trials: int) -> None:
        self.trials, self.began, self.done_before = trials, time.monotonic(), _done(found)
        self.bar: Progress | None = None
        self.task: TaskID | None = None
        if shows_bars() and self.done_before < trials:
            columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}", markup=False))
            self.bar = Progress(TextColumn("trials"), *columns, console=errors, transient=True)
            self.task = self.bar.add_task("", total=trials, completed=self.done_before, note="")
            self.bar.start()

    def begin(self, number: int, point: Point) -> None:
        from knowwhen.tuning.results import as_text, short_names

        names = short_names(list(point))
        self._note(f"trial {number}: {', '.join(f'{names[name]} {as_text(value)}' for name, value in point.items())}")

    def epoch(self, number: int, record: Record, epochs: int) -> None:
        mrr = f", MRR {record['valid']['mrr']:.4f}" if "valid" in record else ""
        self._note(f"trial {number}: epoch {record['epoch']}/{epochs}{mrr}")

    def finish(self, number: int, found: Tuning) -> None:
        trial = next(one for one in found.trials if one.number == number)
        outcome = {
            "complete": "",
            "pruned": f", pruned after epoch {trial.epochs}",
            "failed": f", failed: {trial.error}",
        }[trial.state]
        mrr = "" if trial.valid_mrr is None else f"  MRR {trial.valid_mrr:.4f}"
        best = found.trials[0]
        so_far = f"  best {best.valid_mrr:.4f} (trial {best.number})" if best.state == "complete" else ""
        say(f"trial {number}{mrr}{outcome}{so_far}  {self._left(found)}".rstrip())

    def _left(self, found: Tuning) -> str:
        """'12 of 40 done, 0:12:30 left', by how fast all processes together are."""
        done = _done(found)
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=done)
        since = done - self.done_before
        left = (self.trials - done) * (time.monotonic() - self.began) / since if since > 0 else 0
        return f"{done} of {self.trials} done" + (f", {clock(left)} left" if left else "")

    def _note(self, text: str) -> None:
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, note=text)

    def end(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def _done(found: Tuning) -> int:
    return sum(trial.state != "running" for trial in found.trials)


@contextmanager
def helped(others: int, data: str | None) -> Iterator[None]:
    """Inside, so many other processes run the same command; all share the cores and the trials of the study."""
    if not others or os.environ.get(HELPS):
        yield
        return
    if data == "-":
        raise BadRequest("--workers needs data that each process can read; save standard input to a file")
    threads = {"OMP_NUM_THREADS": str(max(1, cores() // (others + 1)))}
    os.environ.update({name: value for name, value in threads.items() if name not in os.environ})
    command = [sys.executable, "-m", "knowwhen", *sys.argv[1:]]
    environment = {**os.environ, HELPS: "1"}
    started = [
        subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(others)
    ]
    try:
        yield
    except BaseException:
        for process in started:
            process.send_signal(signal.SIGINT)  # they save, and stop
        raise
    finally:
        codes = [process.wait() for process in started]
    for code in codes:
        if code:
            say(f"a process of --workers ended with code {code}; the others ran its trials")
