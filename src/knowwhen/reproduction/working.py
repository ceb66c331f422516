"""The work on a plan: the cheapest run that is missing first, within a budget of time, until nothing is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from knowwhen.errors import BadRequest, DiskError, Interrupted, KnowwhenError, NotFound, RunError
from knowwhen.reproduction.experiments import Experiment
from knowwhen.reproduction.planning import TO_DO, Job, State, jobs
from knowwhen.reproduction.results import Result, read_all
from knowwhen.reproduction.running import run
from knowwhen.reproduction.sources import check_at_hand
from knowwhen.text import plural
from knowwhen.training.session import TrainingProgress

Plan = Callable[[Sequence[Result]], Sequence[Experiment]]


class Told(Protocol):
    """Who is told what is run next: the job, its number, how many runs and hours are left, seconds of the budget."""

    def __call__(self, job: Job, number: int, runs: int, hours: float, budget: float | None) -> None: ...


@dataclass
class Outcome:
    """What came of the work."""

    measured: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # by name, with the error
    without_data: dict[str, str] = field(default_factory=dict)  # by dataset, with the error
    left: list[Job] = field(default_factory=list)  # what the budget had no room for, or what waits

    def check(self) -> None:
        """An error where runs failed, or none could be made for want of data."""
        if self.failed:
            name, error = next(iter(self.failed.items()))
            raise RunError(f"{plural(len(self.failed), 'run')} failed; {name}: {error}")
        if self.without_data and not self.measured:
            raise BadRequest(next(iter(self.without_data.values())))


def work(
    plan: Plan,
    runs: Path,
    store: Path,
    tell: Told,
    progress: Callable[[], TrainingProgress] | None = None,
    budget: float | None = None,
) -> Outcome:
    """Measures what is to be done, the plan made anew after each result; `budget` is in seconds.

    A run is not begun where it is estimated to take longer than what is left. Killed, the same call goes on.
    """
    began, outcome = time.monotonic(), Outcome()
    while True:
        found = read_all(store)
        every = jobs(plan(found), found)
        todo = [job for job in every if job.state in TO_DO and not _is_settled(job.experiment, outcome)]
        left = None if budget is None else budget - (time.monotonic() - began)
        job = next((job for job in sorted(todo, key=_order) if left is None or 3600 * job.hours <= left), None)
        if job is None:
            outcome.left = [*todo, *(job for job in every if job.state == State.WAITING)]
            return outcome
        tell(job, len(outcome.measured) + len(outcome.failed) + 1, len(todo), sum(job.hours for job in todo), left)
        _measure(job.experiment, runs, store, progress, outcome)


def _order(job: Job) -> tuple[bool, float]:
    """What tables do not show yet comes first, the cheapest of it before the others."""
    return job.state == State.PROVISIONAL, job.hours


def _is_settled(experiment: Experiment, outcome: Outcome) -> bool:
    """Whether it was tried, or cannot be for want of data, which is then noted."""
    if experiment.name in outcome.failed or experiment.name in outcome.measured:
        return True
    if experiment.data not in outcome.without_data:
        try:
            check_at_hand(experiment.data)
        except NotFound as error:
            outcome.without_data[experiment.data] = str(error)
    return experiment.data in outcome.without_data


def _measure(
    experiment: Experiment, runs: Path, store: Path, progress: Callable[[], TrainingProgress] | None, outcome: Outcome
) -> None:
    try:
        run(experiment, runs, store, progress() if progress else None)
        outcome.measured.append(experiment.name)
    except Interrupted:
        raise Interrupted(f"stopped in {experiment.name} and saved; the same command continues it") from None
    except DiskError:
        raise
    except KnowwhenError as error:  # the others can still be measured
        outcome.failed[experiment.name] = str(error)
