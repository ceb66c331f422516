"""How training goes, for people: a bar with time left on a terminal, a line per epoch elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from knowwhen.console import errors, say, shows_bars

if TYPE_CHECKING:
    from knowwhen.training.config import Config
    from knowwhen.training.loop import Record, State


class TrainingBar:
    """Progress on stderr: a bar with time left on a terminal, a line per epoch elsewhere."""

    def notice(self, text: str) -> None:
        say(text)

    def start(self, state: State, config: Config, steps: int) -> None:
        self.steps, self.config = steps, config
        self.began, self.done_before = time.monotonic(), state.epoch * steps + state.step
        self.bar: Progress | None = None
        self.task: TaskID | None = None
        if shows_bars() and state.epoch < config.training.epochs:
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
