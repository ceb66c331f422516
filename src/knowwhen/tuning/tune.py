"""The search for settings: trials of points of a space, judged on valid alone, in a study that can be continued."""

from __future__ import annotations

import random
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, get_args

from knowwhen.errors import BadRequest, Diverged, Interrupted, MissingExtra, NonFiniteScores, NotFound
from knowwhen.facts.catalog import load
from knowwhen.facts.dataset import Dataset
from knowwhen.models import model_named
from knowwhen.training.bare import fit_bare
from knowwhen.training.beginning import check_fits
from knowwhen.training.config import NOT_OF_THE_RESULT, Config, read_config
from knowwhen.training.loop import Record, State, best_valid_mrr
from knowwhen.training.session import Silent, stop_requested
from knowwhen.tuning.results import Tuning
from knowwhen.tuning.space import Point, Space, problem, read_space

if TYPE_CHECKING:
    from knowwhen.tuning.drawing import Sampler
    from knowwhen.tuning.shared import Claim, Plan, Pruner, SharedStudy

TRIALS = 40  # where none are asked for, and there is no grid
WAIT = 0.5  # seconds between looks at trials that other processes run
FAILURES = (Diverged, NonFiniteScores, BadRequest, NotFound, MemoryError)  # of a point, not of the study


class TuningProgress(Protocol):
    """Who is told how a study goes."""

    def notice(self, text: str) -> None: ...

    def start(self, found: Tuning, trials: int) -> None: ...

    def begin(self, number: int, point: Point) -> None: ...

    def epoch(self, number: int, record: Record, epochs: int) -> None: ...

    def finish(self, number: int, found: Tuning) -> None: ...

    def end(self) -> None: ...


class Unwatched:
    """Tells nobody."""

    def notice(self, text: str) -> None:
        pass

    def start(self, found: Tuning, trials: int) -> None:
        pass

    def begin(self, number: int, point: Point) -> None:
        pass

    def epoch(self, number: int, record: Record, epochs: int) -> None:
        pass

    def finish(self, number: int, found: Tuning) -> None:
        pass

    def end(self) -> None:
        pass


def tune(
    data: Any,
    recipe: str | Path | None = None,
    space: str | Path | Mapping[str, Any] = "basic",
    *,
    trials: int | None = None,
    sampler: Sampler = "tpe",
    pruner: Pruner = "median",
    seed: int = 0,
    run: str | Path | None = None,
    progress: TuningProgress | None = None,
    overrides: Mapping[str, object] | None = None,
    allow_code: bool = False,
    reading: Mapping[str, Any] | None = None,
) -> Tuning:
    """Search for the settings with the best validation MRR, and return all trials, the best first.

    - `data`, `recipe`, `overrides`, `allow_code`, `reading`: as in `knowwhen.train`. Test facts are never used.
    - `space`: a name, a TOML file, or a mapping from full names of settings to lists of values or ranges, such as
      `{"training.learning_rate": {"low": 0.01, "high": 0.5, "log": True}, "model.rank": [50, 100]}`.
    - `trials`: the number of trials of the whole study.
    - `sampler`: how to choose points: "grid" (all combinations), "random", or "tpe" (Optuna's, which learns from
      earlier trials); `seed` is its seed.
    - `pruner`: how to stop hopeless trials early: below the "median" at the same epoch, by successive "halving", or
      "none".
    - `run`: the folder of the study. The same call continues it, and shares its trials with other processes.

    The recipe found is `.recipe`, and `best.toml` in the folder.
    """
    changes = dict(overrides or {})
    if "model.name" in changes:
        model_named(str(changes["model.name"]), allow_import=True)
    config_of = partial(_config_of, recipe, changes, allow_code)
    base, searched = config_of({}), read_space(space, config_of)
    plan = _plan(base, searched, config_of, trials, sampler, pruner, seed)
    dataset = load(data, **(reading or {}))
    _check(base, dataset)
    telling = progress or Unwatched()
    if pruner != "none" and base.validation.every >= base.training.epochs:
        telling.notice("trials are validated only after their last epoch, so none is pruned; lower validation.every")
    with tempfile.TemporaryDirectory(prefix="knowwhen-") if run is None else nullcontext() as aside:
        folder = Path(run) if run is not None else Path(str(aside)) / "study"
        study = _shared().SharedStudy.begin(folder, _about(dataset, base, plan))
        found = _Search(study, plan, dataset, config_of, telling).run()
    return found if run is not None else replace(found, path=None)


def read_study(run: str | Path) -> Tuning:
    """What the study in a folder has found so far."""
    study: SharedStudy = _shared().SharedStudy.open(Path(run))
    return study.results()


def _shared() -> Any:
    """The part that needs Optuna."""
    try:
        from knowwhen.tuning import shared
    except ImportError:
        raise MissingExtra("the search for settings", "tune") from None
    return shared


def _config_of(recipe: str | Path | None, changes: Point, allow_code: bool, point: Point) -> Config:
    return read_config(recipe, {**changes, **point}, allow_import=allow_code)


def _plan(
    base: Config,
    space: Space,
    config_of: Callable[[Point], Config],
    trials: int | None,
    sampler: Sampler,
    pruner: Pruner,
    seed: int,
) -> Plan:
    shared = _shared()
    for name, value, allowed in (("sampler", sampler, shared.Sampler), ("pruner", pruner, shared.Pruner)):
        if value not in get_args(allowed):
            raise BadRequest(f"{name} is {value!r}; expected {', '.join(get_args(allowed))}")
    if trials is not None and trials < 1:
        raise BadRequest(f"trials is {trials}; expected at least 1")
    points = None
    if sampler == "grid":
        points = space.points(lambda point: not problem(config_of, point))
        random.Random(seed).shuffle(points)  # a part of it is spread over all of it
    count = trials or TRIALS if points is None else min(trials or len(points), len(points))
    plan: Plan = shared.Plan(space, sampler, pruner, seed, max(1, base.validation.every), points, count)
    return plan


def _check(base: Config, dataset: Dataset) -> None:
    """An error before anything is written, where no trial could be judged."""
    if not len(dataset.valid):
        raise BadRequest(f"{dataset.name} has no validation facts, which tuning needs to choose settings")
    if not base.validation.every:
        raise BadRequest("validation.every is 0; trials are judged by validation; use --set validation.every=1")
    check_fits(base, dataset)


def _about(dataset: Dataset, base: Config, plan: Plan) -> dict[str, Any]:
    """What must be the same whenever a study goes on."""
    settings = {name: value for name, value in base.flat().items() if name not in NOT_OF_THE_RESULT}
    return {
        "data": {"name": dataset.name, "hash": dataset.hash},
        "sampler": plan.sampler,
        "pruner": plan.pruner,
        "seed": plan.seed,
        "space": plan.space.to_json(),
        "settings": settings,
    }


class Hopeless(Exception):
    """A trial that is to end early."""


class _Looking(Silent):
    """Notes the validations of a trial as it goes on."""

    def __init__(self, claim: Claim, telling: TuningProgress) -> None:
        self.claim, self.telling, self.epochs = claim, telling, 0
        self.noted = set(claim.noted())

    def start(self, state: State, config: Config, steps: int) -> None:
        self.epochs = config.training.epochs
        for record in state.records:  # a kill may have come between saving and noting
            self._note(record)

    def epoch(self, record: Record, seconds: float, examples_per_second: float) -> None:
        self.telling.epoch(self.claim.number, record, self.epochs)
        if self._note(record) and record["epoch"] < self.epochs:
            raise Hopeless

    def _note(self, record: Record) -> bool:
        """Whether the trial is hopeless by a validation that was not noted before."""
        if "valid" not in record or record["epoch"] in self.noted:
            return False
        self.noted.add(record["epoch"])
        return self.claim.report(record["epoch"], record["valid"]["mrr"])


@dataclass(frozen=True)
class _Search:
    """One process's part in a study."""

    study: SharedStudy
    plan: Plan
    dataset: Dataset
    config_of: Callable[[Point], Config]
    telling: TuningProgress

    def run(self) -> Tuning:
        """What the study has found when all trials are done, whoever did them."""
        found = self.study.results()
        self.telling.start(found, self.plan.trials)
        try:
            with stop_requested() as stop:
                while (claim := self._next(stop)) is not None:
                    self.telling.begin(claim.number, claim.point)
                    with claim.held:
                        self._try(claim)
                    self.telling.finish(claim.number, self.study.results())
        finally:
            self.telling.end()
        return self.study.results()

    def _next(self, stop: threading.Event) -> Claim | None:
        """The next trial; while others run the last ones, it waits: one that is killed leaves its trial."""
        while True:
            if stop.is_set():
                raise self._interrupted("between trials")
            claim = self.study.claim(self.plan)
            if claim is not None or all(trial.state != "running" for trial in self.study.results().trials):
                return claim
            stop.wait(WAIT)

    def _try(self, claim: Claim) -> None:
        """Runs a trial; what is wrong with its point is its outcome, and all else is for whoever continues it."""
        try:
            records = fit_bare(claim.folder, self.dataset, self.config_of(claim.point), _Looking(claim, self.telling))
        except Hopeless:
            claim.prune()
        except FAILURES as error:
            claim.fail(str(error) or "not enough memory")
        except (Interrupted, KeyboardInterrupt):
            claim.leave()
            raise self._interrupted(f"in trial {claim.number}, which is saved") from None
        except Exception:
            claim.leave()
            raise
        else:
            mrr = best_valid_mrr(records)
            assert mrr is not None
            claim.complete(mrr)

    def _interrupted(self, where: str) -> Interrupted:
        done = sum(trial.state != "running" for trial in self.study.results().trials)
        return Interrupted(f"stopped {where}; {done} of {self.plan.trials} trials are done: the same command continues")
