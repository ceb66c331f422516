"""The plan: every experiment of the tables, which of them are measured, and how long the others take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from knowwhen.reproduction.checking import flaw_of
from knowwhen.reproduction.estimates import estimated_hours
from knowwhen.reproduction.experiments import Experiment
from knowwhen.reproduction.results import Result
from knowwhen.reproduction.table import Request, Row, Table
from knowwhen.reproduction.tables import TABLES


class State(StrEnum):
    DONE = "done"
    PROVISIONAL = "provisional"  # shown with a mark, and to be measured again
    OUTDATED = "outdated"  # measured by other code or settings than today's: not shown
    MISSING = "missing"
    WAITING = "waiting"  # for results that choose its settings


TO_DO = (State.MISSING, State.OUTDATED, State.PROVISIONAL)


@dataclass(frozen=True)
class Job:
    """An experiment of the plan."""

    experiment: Experiment
    state: State
    hours: float = 0.0  # that are left
    why: str = ""  # it is outdated

    def to_dict(self) -> dict[str, Any]:
        """What it is as JSON types."""
        e = self.experiment
        named = {"name": e.name, "table": e.table, "data": e.data, "row": e.row, "choice": e.choice, "seed": e.seed}
        done = {"state": str(self.state), "why": self.why, "hours": round(self.hours, 3)}
        return {**named, **done, "command": e.command}


def whole_plan(
    found: Sequence[Result], tables: Iterable[Table] = TABLES.values(), asked: Request | None = None
) -> list[Experiment]:
    """The experiments that complete the tables, or the part of them that is asked for, each once."""
    asked = replace(asked or Request(seeds=0), found=usable(found))
    planned = (e for table in tables for part in table.whole_requests(asked) for e in table.plan(part))
    return list({e.name: e for e in planned}.values())


def usable(found: Sequence[Result]) -> list[Result]:
    """What a plan may go on from: results of today's code and recipes."""
    return [r for r in found if not flaw_of(r)]


def jobs(plan: Sequence[Experiment], found: Sequence[Result]) -> list[Job]:
    """The experiments with their states, and hours for those that are not done."""
    stored = {r.name: r for r in found}
    return [_job(experiment, stored.get(experiment.name), found) for experiment in plan]


def _job(experiment: Experiment, stored: Result | None, found: Sequence[Result]) -> Job:
    why = "" if stored is None or experiment.waits else flaw_of(stored, experiment)
    if experiment.waits:
        state = State.WAITING
    elif stored is None or why:
        state = State.OUTDATED if stored else State.MISSING
    else:
        state = State.PROVISIONAL if stored.is_provisional else State.DONE
    hours = 0.0 if state == State.DONE else estimated_hours(experiment, found)
    return Job(experiment, state, hours, why)


def current(found: Sequence[Result], epochs: int | None = None) -> list[Result]:
    """The results that tables show: without those that are outdated; `epochs` are those of a quick look."""
    plan = whole_plan(found, asked=Request(seeds=0, epochs=epochs))
    experiments = {e.name: e for e in plan if not e.waits}
    return [r for r in found if not flaw_of(r, experiments.get(r.name))]


def plan_rows(todo: Sequence[Job]) -> list[Row]:
    """A row for each row of a table: how many of its runs are in which state, and the hours that are left."""
    rows: list[Row] = [("table", "data", "row", "runs", *State, "hours left")]
    groups: dict[tuple[str, str, str], list[Job]] = {}
    for job in todo:
        groups.setdefault((job.experiment.table, job.experiment.data, job.experiment.row), []).append(job)
    for name, here in groups.items():
        counts = [sum(job.state == state for job in here) for state in State]
        hours = sum(job.hours for job in here)
        rows.append((*name, str(len(here)), *(str(n) if n else "" for n in counts), f"{hours:.1f}" if hours else ""))
    return rows
