"""What surrounds the loop: who is told of its progress, when the run is saved, how it is stopped, and its cores."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import torch

from knowwhen.distributed.processes import of_first
from knowwhen.errors import BadRequest, Interrupted
from knowwhen.training.bar import TrainingBar
from knowwhen.training.config import Config
from knowwhen.training.loop import Learner, Record, Spent, State, samples
from knowwhen.training.notes import check_format
from knowwhen.training.run import RunFolder
from knowwhen.training.sampled import negatives_for

CHECKPOINT_SECONDS = 300  # within long epochs
SAVE, STOP = 1, 2  # what the first process may wish for all
SMALL_STEP = 1_000_000_000  # floating-point operations: some 10 ms on one core, little more than waking a second one


@runtime_checkable
class TrainingProgress(Protocol):
    """Who is told how training goes."""

    def notice(self, text: str) -> None: ...

    def start(self, state: State, config: Config, steps: int) -> None: ...

    def step(self, state: State, examples_per_second: float) -> None: ...

    def epoch(self, record: Record, seconds: float, examples_per_second: float) -> None: ...

    def end(self) -> None: ...


class Silent:
    """Tells nobody."""

    def notice(self, text: str) -> None:
        pass

    def start(self, state: State, config: Config, steps: int) -> None:
        pass

    def step(self, state: State, examples_per_second: float) -> None:
        pass

    def epoch(self, record: Record, seconds: float, examples_per_second: float) -> None:
        pass

    def end(self) -> None:
        pass


class EachEpoch(Silent):
    """Calls a function with the record of each epoch."""

    def __init__(self, call: Callable[[Record], object]) -> None:
        self.call = call

    def epoch(self, record: Record, seconds: float, examples_per_second: float) -> None:
        self.call(record)


def listener(progress: bool | TrainingProgress | Callable[[Record], object] | None) -> TrainingProgress:
    """Who is told: people on stderr (True), nobody (False or None), an object as it is, a function of each epoch."""
    if progress is None or progress is False:
        return Silent()
    if progress is True:
        return TrainingBar()
    if isinstance(progress, TrainingProgress):
        return progress
    if callable(progress):
        return EachEpoch(progress)
    raise BadRequest(
        f"progress is {progress!r}; expected True, False, a function that takes an epoch's record, or an object with "
        "the methods notice, start, step, epoch and end"
    )


class RunWatcher:
    """Saves the run as it goes, tells of its progress, and stops it when asked to."""

    def __init__(
        self,
        folder: RunFolder,
        learner: Learner,
        progress: TrainingProgress,
        stop: threading.Event,
    ) -> None:
        self.folder, self.learner, self.progress, self.stop = folder, learner, progress, stop
        self.saved = time.monotonic()
        self.examples, self.spent = 0, Spent()  # in this epoch, since this process began

    def after_step(self, state: State, steps: int, examples: int, spent: Spent) -> None:
        self.examples += examples
        self.spent = self.spent.plus(spent)
        self.progress.step(state, self.examples / self.spent.seconds)
        is_late = time.monotonic() - self.saved > CHECKPOINT_SECONDS
        wish = of_first(STOP if self.stop.is_set() else SAVE if is_late else 0)
        if wish == STOP:
            self.save(state)
            where = f"epoch {state.epoch + 1}, step {state.step} of {steps}"
            raise Interrupted(
                f"stopped in {where}, state saved; continue with: knowwhen train --run {self.folder.path} --resume"
            )
        if wish == SAVE:
            self.save(state)

    def after_epoch(self, state: State, is_best: bool) -> None:
        validated = "valid" in state.records[-1] or state.best_mrr >= 0
        if is_best or (self.learner.averages.steps and not validated):  # without validation, the average is the model
            with self.learner.averages.applied():
                self.folder.save_best(self.learner.model, state.epoch)
        self.save(state)
        rate = self.examples / self.spent.seconds if self.spent.seconds else 0.0
        self.folder.append_timing({"epoch": state.epoch, **self.spent.to_dict(), "examples_per_second": round(rate)})
        self.progress.epoch(state.records[-1], self.spent.seconds, rate)
        self.examples, self.spent = 0, Spent()

    def save(self, state: State) -> None:
        self.folder.save_checkpoint(self.learner, state)
        self.saved = time.monotonic()


_stop: threading.Event | None = None  # of the outermost `stop_requested`


@contextmanager
def stop_requested() -> Iterator[threading.Event]:
    """An event that Ctrl-C or SIGTERM sets, instead of ending the program in the middle of a step.

    Inside another, it is the same: a study of many fits stops also where the request came after the last step of one.
    """
    global _stop
    if threading.current_thread() is not threading.main_thread():
        yield threading.Event()
        return
    if _stop is not None:
        yield _stop
        return
    event = _stop = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def request(number: int, frame: object) -> None:
        if event.is_set() and number == signal.SIGINT:  # asked twice: at once
            raise KeyboardInterrupt
        event.set()

    for number in before:
        signal.signal(number, request)
    try:
        yield event
    finally:
        _stop = None
        for number, handler in before.items():
            signal.signal(number, handler)


def threads_for(config: Config, entities: int) -> int:
    """The setting, or one where a step is too small to be worth sharing, else all torch may use (OMP_NUM_THREADS)."""
    numbers, batch = 2 * int(config.model.options.get("rank", 1)), config.training.batch_size
    candidates = negatives_for(entities, config.objective.negatives) + batch if samples(config, entities) else entities
    step = 6 * batch * candidates * numbers  # of the three products
    return config.training.threads or (1 if step < SMALL_STEP else torch.get_num_threads())


def say_threads(folder: RunFolder, threads: int, progress: TrainingProgress) -> None:
    """Says so where a run goes on with another number of cores: sums in another order have other last bits."""
    before = check_format(folder.config).get("threads", threads)
    if before != threads:
        progress.notice(
            f"this run started on {before} cores and continues on {threads}: the last bits of its numbers may differ "
            "from an uninterrupted run (set training.threads or OMP_NUM_THREADS to use the same number)"
        )


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """That many cores for torch, and as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
