"""How good the answers of a time head are, by the metrics of all others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from knowwhen import chunks
from knowwhen.dating.beliefs import Belief, shortest_range
from knowwhen.dating.head import BATCH, TimeHead
from knowwhen.dating.neighbours import Asked
from knowwhen.evaluation.bins import reliability
from knowwhen.evaluation.intervals import INTERVAL_METRICS
from knowwhen.evaluation.precision import average_precision, macro_average_precision
from knowwhen.evaluation.times import (
    BEST_OF,
    Ends,
    EventTimes,
    IntervalTimes,
    TimeScores,
    TimeTask,
    is_closed,
    time_ranks,
)
from knowwhen.facts.table import OPEN, Facts, Ints
from knowwhen.models import TemporalModel

KEPT = 200_000_000  # probabilities along time that are kept for the paper's AUC


def believed(head: TimeHead, model: TemporalModel | None) -> Callable[[TimeTask], TimeScores]:
    """Measures the head on a task; a fact that training knows is left out of its own evidence."""

    def measure(task: TimeTask) -> TimeScores:
        found: dict[str, list[Any]] = defaultdict(list)
        asked = Asked.of(task.facts, head.rows.of(task.facts))
        beliefs = head.believe(asked, model)
        for part, belief in zip(chunks.slices(len(task.facts), BATCH), beliefs, strict=True):
            _look(task, task.facts[part], belief, head, found)
        columns = {name: np.concatenate(parts) for name, parts in found.items()}
        return _scores(task, columns)

    return measure


def _look(task: TimeTask, facts: Facts, belief: Belief, head: TimeHead, found: dict[str, list[Any]]) -> None:
    """Adds what a batch of facts gives, a number a fact."""
    at, truth, known = belief.positions, task.truth(facts), task.known_times(facts)
    events, closed = facts.is_event, is_closed(facts)
    scores = np.where(known & ~truth, -np.inf, belief.begins)
    if events.any():
        found["reciprocal"].append(1 / time_ranks(scores[events], facts.begin[events]))
    first, last, _ = belief.spans(max(BEST_OF))
    gold = at[facts.begin][:, None], at[facts.end][:, None]
    for name, metric in INTERVAL_METRICS.items():
        fits = metric(at[first], at[last], *gold)
        for k in BEST_OF:
            found[f"{name}@{k}"].append(fits[closed, :k].max(-1))
    for name, middle, level, ids in (
        ("begins", belief.middle_begin(), head.fitted.begin_level, facts.begin),
        ("ends", belief.middle_end(), head.fitted.end_level, facts.end),
    ):
        low, high = shortest_range(getattr(belief, name), level, at)
        inside = (low <= ids) & (ids <= high)
        values = {"error": abs(at[middle] - at[ids]), "inside": inside, "length": at[high] - at[low] + 1}
        for key, column in values.items():
            found[f"{name} {key}"].append(column[ids != OPEN])
    begun, ended = facts.begin != OPEN, facts.end != OPEN
    sure = belief.spans(1)
    same = (sure[0][:, 0] == facts.begin) & (sure[1][:, 0] == facts.end)
    for name, rows, confidence, right in (
        ("begin", begun, belief.begins.max(1), belief.begins.argmax(1) == facts.begin),
        ("end", ended, belief.ends.max(1) * belief.covered, belief.ends.argmax(1) == facts.end),
        ("span", closed, sure[2][:, 0], same),
    ):
        found[f"{name} confidence"].append(confidence[rows])
        found[f"{name} right"].append(right[rows])
    dated = np.flatnonzero(~facts.is_static)
    asks = truth | ~known
    precision = [average_precision(truth[i][asks[i]], belief.holds[i][asks[i]].astype(np.float32)) for i in dated]
    found["precision"].append(np.array(precision))
    if len(task.facts) * len(at) <= KEPT:
        found["holds"].append(belief.holds.astype(np.float32))


def _scores(task: TimeTask, columns: dict[str, Any]) -> TimeScores:
    facts = task.facts
    closed = facts[is_closed(facts)]
    fits = {name: values for name, values in columns.items() if "@" in name}
    rows = {"intervals": closed.is_interval, "closed": np.ones(len(closed), np.bool_)}
    spans = {
        name: IntervalTimes({key: float(values[some].mean()) for key, values in fits.items()}, int(some.sum()))
        for name, some in rows.items()
        if closed.is_interval.any()
    }
    events = facts.is_event[facts.begin != OPEN]
    found = None
    if events.any():
        found = EventTimes(_mean(columns["reciprocal"]), _mean(columns["begins error"][events]), int(events.sum()))
    return TimeScores(
        events=found,
        intervals=spans.get("intervals"),
        closed=spans.get("closed"),
        average_precision=_mean(columns["precision"]) if len(columns["precision"]) else None,
        auc_pr_paper=_paper(task, columns.get("holds")),
        begins=_ends(columns, "begins"),
        ends=_ends(columns, "ends"),
        reliability={
            name: reliability(np.clip(columns[f"{name} confidence"], 0, 1), columns[f"{name} right"])
            for name in ("begin", "end", "span")
            if len(columns[f"{name} right"])
        },
    )


def _paper(task: TimeTask, holds: Any) -> float | None:
    """The paper's AUC of the chances that facts hold; None where they are too many to keep."""
    if holds is None:
        return None
    truth = task.truth(task.facts)
    found = macro_average_precision(lambda some: (truth[:, some], holds[:, some]), len(holds), holds.shape[1])
    return None if np.isnan(found) else found


def _ends(columns: dict[str, Any], name: str) -> Ends | None:
    errors: Ints = columns[f"{name} error"]
    if not len(errors):
        return None
    cover, length = (_mean(columns[f"{name} {key}"]) for key in ("inside", "length"))
    return Ends(_mean(errors), float(np.median(errors)), cover, length, len(errors))


def _mean(values: Any) -> float:
    return float(np.mean(values))
