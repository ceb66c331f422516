"""Points drawn by Optuna, in the values that its database can hold."""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np
import optuna
from optuna.distributions import CategoricalChoiceType
from optuna.trial import FrozenTrial, Trial, TrialState

from knowwhen.tuning.space import Axis, Choices, Point, Space

Sampler = Literal["grid", "random", "tpe"]


def sampler_of(kind: Sampler, seed: int, number: int) -> optuna.samplers.BaseSampler:
    """What draws the point of one trial.

    By its number: processes side by side, or one after the other, would begin the same sequence again.
    """
    own = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    if kind == "tpe":
        return optuna.samplers.TPESampler(seed=own, constant_liar=True)  # which keeps away from points that are running
    return optuna.samplers.RandomSampler(seed=own)


def draw(trial: Trial, space: Space) -> Point:
    """A value for each setting: those that the trial has already, else drawn."""
    return {name: _drawn(trial, name, axis) for name, axis in space.axes.items()}


def _drawn(trial: Trial, name: str, axis: Axis) -> Any:
    if isinstance(axis, Choices):
        codes = [_code(value) for value in axis.values]
        return axis.values[codes.index(trial.suggest_categorical(name, codes))]
    stepped = axis.grid() if axis.step else None
    high = stepped[-1] if stepped else axis.high
    if axis.whole:
        return trial.suggest_int(name, int(axis.low), int(high), step=int(axis.step or 1), log=axis.log)
    return trial.suggest_float(name, axis.low, high, step=axis.step, log=axis.log)


def encoded(point: Point) -> dict[str, Any]:
    """A point as the database holds it: lists are JSON there."""
    return {name: _code(value) for name, value in point.items()}


def decoded(values: dict[str, Any]) -> Point:
    """The point of what the database holds."""
    return {
        name: json.loads(value) if isinstance(value, str) and value.startswith("[") else value
        for name, value in values.items()
    }


def _code(value: Any) -> CategoricalChoiceType:
    code: CategoricalChoiceType = json.dumps(value) if isinstance(value, list | tuple) else value
    return code


def best_mrr(trial: FrozenTrial) -> float | None:
    """The best MRR on valid so far; None before the first validation."""
    if trial.state == TrialState.COMPLETE:
        return trial.value
    return max(trial.intermediate_values.values(), default=None)
