"""A study in a folder that processes share: Optuna draws points and keeps their outcomes, locks say who runs which.

study.db         points, validations by epoch and outcome of each trial (SQLite)
trials/0007/     the run of a trial: settings and records; checkpoints while it runs, and of the best one
best.toml        the best recipe so far

A trial that is running, but whose folder nobody has locked, was left by a process that was stopped or killed: the next
process that looks for work continues it from its last checkpoint.
"""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from knowwhen.errors import DamagedFile, DiskError, RunError
from knowwhen.files import in_turn, remove, write_whole, writing
from knowwhen.models import model_named
from knowwhen.models.registry import code_of
from knowwhen.training.config import to_toml
from knowwhen.training.notes import read_lines
from knowwhen.training.run import RunFolder
from knowwhen.tuning.drawing import Sampler, best_mrr, decoded, draw, encoded, sampler_of
from knowwhen.tuning.importance import importances
from knowwhen.tuning.results import State, TunedTrial, Tuning, in_order
from knowwhen.tuning.space import Point, Space

Pruner = Literal["median", "halving", "none"]
STATES: dict[TrialState, State] = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
}
FILE, BEST = "study.db", "best.toml"
NAME = "knowwhen"
KILLS = 3  # processes that were killed while they ran a trial: then it has failed
WAIT = 60  # seconds for another process that writes to the database
CONTINUES = "what was saved before is intact: the same command continues"


@dataclass(frozen=True)
class Plan:
    """What a study does: the same for all processes that share it, but for the number of trials."""

    space: Space
    sampler: Sampler
    pruner: Pruner
    seed: int
    first_look: int  # epochs until the first validation of a trial
    points: Sequence[Point] | None  # of a grid, in their order
    trials: int


class SharedStudy:
    """The study of a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self.using():
            creator = lambda: sqlite3.connect(path / FILE, WAIT, check_same_thread=False)  # noqa: E731
            storage = optuna.storages.RDBStorage(f"sqlite:///{FILE}", engine_kwargs={"creator": creator})
            self.study = optuna.create_study(
                storage=storage, study_name=NAME, direction="maximize", load_if_exists=True
            )

    @classmethod
    def begin(cls, path: Path, about: Mapping[str, Any]) -> SharedStudy:
        """The study of a new or empty folder, or the one that is there, if it is about the same."""
        with writing(path, "choose another --run"):
            path.mkdir(parents=True, exist_ok=True)
            with in_turn(path / ".lock"):
                if not (path / FILE).exists() and any(entry.name != ".lock" for entry in path.iterdir()):
                    raise RunError(f"{path} exists but contains no study; choose another --run")
                found = cls(path)
                with found.using():
                    if "about" not in found.study.user_attrs:
                        found.study.set_user_attr("about", dict(about))
                    found._check_about(about)
        return found

    @classmethod
    def open(cls, path: Path) -> SharedStudy:
        """The study that is in a folder."""
        if not (path / FILE).is_file():
            raise RunError(f"{path} contains no study; `knowwhen tune DATA --run {path}` starts one")
        return cls(path)

    def _check_about(self, about: Mapping[str, Any]) -> None:
        then, now = _flat(self.study.user_attrs["about"]), _flat(json.loads(json.dumps(about)))
        for name in [*then, *now]:
            if then.get(name) != now.get(name):
                raise RunError(
                    f"{self.path} contains a study with {name} = {then.get(name)!r}, not {now.get(name)!r}; "
                    "repeat its command to continue it, or choose another --run"
                )

    def claim(self, plan: Plan) -> Claim | None:
        """The next trial for this process: one that another has left, else a new one; None where all are taken."""
        with self.turn():
            trials = self.study.get_trials(deepcopy=False)
            for left in (trial for trial in trials if trial.state == TrialState.RUNNING):
                taken = self._take(left, plan)
                if taken is not None:
                    return taken
            while True:
                waiting = [trial for trial in trials if trial.state == TrialState.WAITING]  # a kill came before `ask`
                if not waiting and len(trials) >= plan.trials:
                    return None
                trial = self._ask(plan, len(trials) - len(waiting), is_queued=bool(waiting))
                point = draw(trial, plan.space)
                if not self._has_twin(trial, trials):
                    return self._hold(trial, point)
                trials = self.study.get_trials(deepcopy=False)

    def _ask(self, plan: Plan, number: int, is_queued: bool) -> Trial:
        if plan.points is not None and not is_queued:
            self.study.enqueue_trial(encoded(plan.points[number]))
        self.study.sampler = sampler_of(plan.sampler, plan.seed, number)
        self.study.pruner = _pruner(plan)
        return self.study.ask()

    def _take(self, left: FrozenTrial, plan: Plan) -> Claim | None:
        """A trial that is running, for this process; None where another has it, or where it kills its processes."""
        try:
            held = self._lock(left.number)
        except DiskError:
            raise
        except RunError:  # it is locked
            return None
        self.study.sampler, self.study.pruner = sampler_of(plan.sampler, plan.seed, left.number), _pruner(plan)
        trial = Trial(self.study, left._trial_id)
        claim = Claim(self, trial, draw(trial, plan.space), self.folder(left.number), held)
        killed = left.user_attrs.get("killed", 0) + 1
        if killed < KILLS:
            trial.set_user_attr("killed", killed)
            return claim
        with held:
            claim.end(
                TrialState.FAIL, error=f"{killed} processes were killed while running it; is there enough memory?"
            )
            self.settle()
        return None

    def folder(self, number: int) -> RunFolder:
        return RunFolder(self.path / "trials" / f"{number:04}")

    def _hold(self, trial: Trial, point: Point) -> Claim:
        return Claim(self, trial, point, self.folder(trial.number), self._lock(trial.number))

    def _lock(self, number: int) -> ExitStack:
        with ExitStack() as stack:
            stack.enter_context(self.folder(number).locked())
            return stack.pop_all()

    def _has_twin(self, trial: Trial, trials: Sequence[FrozenTrial]) -> bool:
        """Whether its point was tried before: then it has the same outcome, without training again."""
        finished = (t for t in trials if t.state.is_finished() and t.params == trial.params)
        twin = next(finished, None)
        if twin is None:
            return False
        for epoch, mrr in twin.intermediate_values.items():
            trial.report(mrr, epoch)
        for name, value in {**twin.user_attrs, "same_as": twin.user_attrs.get("same_as", twin.number)}.items():
            trial.set_user_attr(name, value)
        self.study.tell(trial, twin.value if twin.state == TrialState.COMPLETE else None, state=twin.state)
        return True

    def settle(self) -> None:
        """Writes the best recipe, and removes the weights of all trials that have lost; in one's turn."""
        finished = [t for t in self.study.get_trials(deepcopy=False) if t.state.is_finished()]
        complete = [t for t in finished if t.state == TrialState.COMPLETE]
        best = max(complete, key=lambda t: t.value or 0, default=None)  # the first of equals: no twin
        for trial in finished:
            remove(self.folder(trial.number).path / ".lock")
            if trial is not best:
                remove(self.folder(trial.number).checkpoints)
        if best is not None and self.recipe() != (text := self._recipe(best)):
            write_whole(self.path / BEST, text.encode())

    def _recipe(self, best: FrozenTrial) -> str:
        config = self.folder(best.number).read_config()
        values = config.model_dump(mode="json")
        values["model"]["name"] = code_of(model_named(config.model.name)) or config.model.name
        data = self.study.user_attrs["about"]["data"]
        about = {"data": data["name"], "note": f"trial {best.number} of a study: MRR {best.value:.4f} on valid"}
        return to_toml({"about": about, **values})

    def recipe(self) -> str:
        """The best recipe so far, as TOML; nothing before the first."""
        path = self.path / BEST
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def results(self) -> Tuning:
        """What the study has found so far."""
        with self.using():
            trials = self.study.get_trials(deepcopy=False)
            about = dict(self.study.user_attrs.get("about", {}))
        space, found = about.pop("space", {}), in_order([_shown(trial) for trial in trials if trial.state in STATES])
        return Tuning(found, importances(found, space), space, about, self.recipe(), self.path)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Inside, no other process claims or finishes a trial."""
        with self.using(), writing(self.path, CONTINUES), in_turn(self.path / ".lock"):
            yield

    @contextmanager
    def using(self) -> Iterator[None]:
        """Turns what the database says into one line; what Optuna says is for those who use it themselves."""
        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        except (SQLAlchemyError, optuna.exceptions.StorageInternalError, sqlite3.Error) as error:
            origin = getattr(error, "orig", None) or getattr(error.__cause__, "orig", None) or error
            reason = f"cannot use {self.path / FILE}: {str(origin).splitlines()[0]}"
            if isinstance(origin, sqlite3.OperationalError):  # the disk is full, another process does not let go
                raise RunError(f"{reason}; {CONTINUES}") from error
            raise DamagedFile(f"{reason}; restore it from a copy, or choose another --run") from error
        finally:
            optuna.logging.set_verbosity(verbosity)


@dataclass(frozen=True)
class Claim:
    """A trial that this process runs, and no other as long as `held` is open."""

    study: SharedStudy
    trial: Trial
    point: Point
    folder: RunFolder
    held: ExitStack

    @property
    def number(self) -> int:
        return int(self.trial.number)

    def noted(self) -> list[int]:
        """The epochs whose validation is noted: by a process that had the trial before."""
        with self.study.using():
            trial = self.study.study.get_trials(deepcopy=False)[self.number]
        return list(trial.intermediate_values)

    def report(self, epoch: int, mrr: float) -> bool:
        """Notes a validation; gives whether the trial is hopeless."""
        with self.study.using():
            self.trial.report(mrr, epoch)
            return bool(self.trial.should_prune())

    def complete(self, mrr: float) -> None:
        self._finish(TrialState.COMPLETE, mrr)

    def prune(self) -> None:
        self._finish(TrialState.PRUNED)

    def fail(self, error: str) -> None:
        self._finish(TrialState.FAIL, error=error)

    def leave(self) -> None:
        """Leaves the trial to whoever continues the study; whoever takes it counts a kill, and there was none."""
        with self.study.using():
            self.trial.set_user_attr("killed", self.trial.user_attrs.get("killed", 0) - 1)

    def _finish(self, state: TrialState, mrr: float | None = None, error: str = "") -> None:
        with self.study.turn():
            self.end(state, mrr, error)
            self.study.settle()

    def end(self, state: TrialState, mrr: float | None = None, error: str = "") -> None:
        """Notes the outcome; in one's turn."""
        records, timing = self.folder.records(), self.folder.timing
        seconds = sum(record.get("seconds", 0) for record in read_lines(timing)) if timing.exists() else 0
        notes = {"epochs": records[-1]["epoch"] if records else 0, "seconds": seconds, "error": error}
        for name, value in notes.items():
            self.trial.set_user_attr(name, value)
        self.study.study.tell(self.trial, mrr, state=state)


def _pruner(plan: Plan) -> optuna.pruners.BasePruner:
    if plan.pruner == "median":
        return optuna.pruners.MedianPruner()
    if plan.pruner == "halving":
        return optuna.pruners.SuccessiveHalvingPruner(min_resource=plan.first_look)
    return optuna.pruners.NopPruner()


def _shown(trial: FrozenTrial) -> TunedTrial:
    curve, notes = tuple(sorted(trial.intermediate_values.items())), trial.user_attrs
    return TunedTrial(
        number=trial.number,
        state=STATES[trial.state],
        point=decoded(trial.params),
        valid_mrr=best_mrr(trial),
        epochs=notes.get("epochs", curve[-1][0] if curve else 0),
        minutes=round(notes.get("seconds", 0) / 60, 2),
        curve=curve,
        error=notes.get("error", ""),
        same_as=notes.get("same_as"),
    )


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found
