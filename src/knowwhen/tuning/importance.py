"""What mattered: how well one setting alone tells which trials are good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from knowwhen.evaluation.questions import Floats
from knowwhen.tuning.results import TunedTrial

ENOUGH = 8  # trials that say what mattered
WIDTH = 0.12  # of a range: values closer than that are alike
DOUBT = 0.5  # trials of which the mean of all counts as many


def importances(trials: Sequence[TunedTrial], space: Mapping[str, Any]) -> dict[str, float]:
    """For each setting, the share of the variance in the order of the trials that it predicts by itself; largest first.

    The place of a trial is predicted by those of the others with the same or a similar value: 0 for a setting that does
    not matter, 1 for one that decides alone. By places, not by MRR: those of pruned and failed trials are known too.
    `trials` has the best first; with fewer than `ENOUGH`, nothing is known.
    """
    own = [trial for trial in trials if trial.state != "running" and trial.same_as is None]
    if len(own) < ENOUGH:
        return {}
    place = np.arange(len(own), 0, -1) / len(own)
    found = {name: _explained(_likeness([t.point[name] for t in own], axis), place) for name, axis in space.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _likeness(values: Sequence[Any], axis: Any) -> Floats:  # (n, n)
    """How alike the values of each two trials are: the same or not, or by their distance in a range."""
    if isinstance(axis, list):
        codes = np.array([axis.index(value) for value in values])
        return np.asarray(codes[:, None] == codes, float)
    scale = np.log if axis.get("log") else np.asarray
    at, ends = scale(np.array(values, float)), scale(np.array([axis["low"], axis["high"]], float))
    distance = (at[:, None] - at) / (ends[1] - ends[0])
    return np.asarray(np.exp(-0.5 * (distance / WIDTH) ** 2))


def _explained(likeness: Floats, place: Floats) -> float:  # (n, n), (n,)
    """1 - Σ (place - prediction)² / Σ (place - mean)², where both come from the other trials alone; at least 0."""
    others = likeness * (1 - np.eye(len(place)))
    mean = (place.sum() - place) / (len(place) - 1)
    predicted = (others @ place + DOUBT * mean) / (others.sum(1) + DOUBT)
    return max(0.0, 1 - float(((place - predicted) ** 2).sum() / ((place - mean) ** 2).sum()))
