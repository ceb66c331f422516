"""What a study found: its trials, the best first, and what mattered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from knowwhen.drawable import FIGURES, Drawable
from knowwhen.errors import RunError
from knowwhen.plotting.plot import drawn
from knowwhen.plotting.tuning import tuning_figure
from knowwhen.tabular import Tabular
from knowwhen.text import brief, plural, table
from knowwhen.tuning.space import Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

State = Literal["complete", "pruned", "failed", "running"]
ORDER: tuple[State, ...] = ("complete", "pruned", "running", "failed")
SHOWN = 20  # trials in a printed table
CLEAR = 0.05  # importance from which on a setting is named


@dataclass(frozen=True)
class TunedTrial:
    """A trial of a study: its settings and its validation."""

    number: int
    state: State
    point: Point
    valid_mrr: float | None  # the best of its validations; None before the first
    epochs: int
    minutes: float
    curve: tuple[tuple[int, float], ...] = field(repr=False)  # epoch and MRR of each validation
    error: str = ""  # why it failed
    same_as: int | None = None  # the trial whose outcome this has: a point that comes up again is not trained again

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {**vars(self), "point": dict(self.point), "curve": [list(look) for look in self.curve]}


@dataclass(frozen=True)
class Tuning(Drawable, Tabular):
    """A study, as `knowwhen.tune` returns it."""

    trials: tuple[TunedTrial, ...]  # the best first; then those that were pruned, are running, or failed
    importances: Mapping[str, float]  # from 0 to 1: how well each setting alone tells which trials are good
    space: Mapping[str, Any]  # the settings that are searched
    about: Mapping[str, Any]  # data, sampler, pruner and seed
    recipe: str = field(repr=False)  # the best as TOML; empty where no trial is complete
    path: Path | None = None  # of its folder

    def __repr__(self) -> str:
        best = [f"best MRR {one.valid_mrr:.4f} on valid" for one in self.trials[:1] if one.valid_mrr is not None]
        return brief(self, ", ".join([f"of {plural(len(self.trials), 'trial')}", *best]))

    @property
    def best(self) -> TunedTrial:
        """The trial with the highest validation MRR; the first one on a tie."""
        if not self.trials or self.trials[0].state != "complete":
            failed = [trial for trial in self.trials if trial.state == "failed"]
            reason = f"; trial {failed[0].number} failed: {failed[0].error}" if failed else ""
            raise RunError(f"no trial is complete yet{reason}")
        return self.trials[0]

    def to_polars(self) -> pl.DataFrame:
        """One row per trial, the best first; settings are columns with their full names."""
        rows = [
            {**{key: value for key, value in trial.to_dict().items() if key not in ("point", "curve")}, **trial.point}
            for trial in self.trials
        ]
        return pl.DataFrame(rows, infer_schema_length=None, strict=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        complete = bool(self.trials) and self.trials[0].state == "complete"
        return {
            **self.about,
            "space": dict(self.space),
            "best": self.best.to_dict() if complete else None,
            "importances": dict(self.importances),
            "trials": [trial.to_dict() for trial in self.trials],
            "run": None if self.path is None else str(self.path),
        }

    def __str__(self) -> str:
        lines = table(_rows(self.trials[:SHOWN], list(self.space)))
        if len(self.trials) > SHOWN:
            lines.append(f"and {plural(len(self.trials) - SHOWN, 'more trial')}")
        for trial in self.trials[:SHOWN]:
            if trial.error:
                lines.append(f"trial {trial.number} failed: {trial.error}")
        if self.importances:
            shares = ", ".join(f"{name} {share:.2f}" for name, share in self.importances.items() if share >= CLEAR)
            lines += ["", f"what mattered: {shares or 'these trials do not tell'}"]
        return "\n".join(lines)


def in_order(trials: Sequence[TunedTrial]) -> tuple[TunedTrial, ...]:
    """The best first, then by state."""
    return tuple(sorted(trials, key=lambda t: (ORDER.index(t.state), -(t.valid_mrr or 0), t.number)))


def short_names(names: Sequence[str]) -> dict[str, str]:
    """'learning_rate' for 'training.learning_rate', where no other setting of these is called so."""
    last = [name.rpartition(".")[2] for name in names]
    return {name: key if last.count(key) == 1 else name for name, key in zip(names, last, strict=True)}


def as_text(value: Any) -> str:
    """A value of a setting for people."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return "+".join(map(str, value)) or "none" if isinstance(value, list | tuple) else str(value)


def _rows(trials: Sequence[TunedTrial], names: Sequence[str]) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = [("trial", "state", "valid MRR", "epochs", "minutes", *short_names(names).values())]
    for trial in trials:
        state = trial.state if trial.same_as is None else f"as trial {trial.same_as}"
        mrr = "" if trial.valid_mrr is None else f"{trial.valid_mrr:.4f}"
        cells = (str(trial.number), state, mrr, str(trial.epochs), f"{trial.minutes:.2f}")
        rows.append((*cells, *(as_text(trial.point.get(name, "")) for name in names)))
    return rows


def _figure(found: Tuning) -> Figure:
    names = short_names(list(found.space))
    return tuning_figure(
        [(t.state, t.valid_mrr, {names[name]: value for name, value in t.point.items()}) for t in found.trials],
        {names[name]: axis for name, axis in found.space.items()},
        {names[name]: share for name, share in found.importances.items()},
    )


FIGURES[Tuning] = partial(drawn, _figure)
