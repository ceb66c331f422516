"""The probability that facts hold at times: learned on valid, measured on any split."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from knowwhen.dating.head import TimeHead
from knowwhen.dating.judging import Half, judge_inputs, learn_judge
from knowwhen.dating.moments import KINDS, Moments, draw_moments
from knowwhen.dating.neighbours import Asked
from knowwhen.evaluation.bins import reliability
from knowwhen.evaluation.questions import Floats, span_ids
from knowwhen.evaluation.times import HoldsScores
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.index.ranges import numbered
from knowwhen.facts.table import OPEN, Bools, Facts
from knowwhen.models import Sizes, TemporalModel

FACTS = 1_000  # of valid: more hardly move the network
LEAST = 30  # fewer would be learned by heart


def new_facts_hold(head: TimeHead, model: TemporalModel, moments: Moments) -> Floats:  # (n,)
    """The probability that facts hold, of which nothing is known at that time."""
    assert head.judge is not None, "checked by whoever asks"
    return head.judge.new(_inputs(head, model, moments), moments.predicate)


def learn_holding(head: TimeHead, model: TemporalModel, dataset: Dataset, seed: int = 0) -> TimeHead:
    """The head with a judge, learned on valid; as it was where valid has too few dated facts."""
    if (~dataset.valid.is_static).sum() < LEAST:
        return head
    drawn = draw_moments(model, dataset, "valid", FACTS, seed)
    halves = _half_known(head, model, dataset, seed)
    judge = learn_judge(
        _inputs(head, model, drawn.moments),
        drawn.moments.predicate,
        drawn.truth,
        drawn.group,
        halves,
        predicates=len(dataset.predicates),
        seed=seed,
    )
    return replace(head, judge=judge)


def measure_holding(
    head: TimeHead, model: TemporalModel, dataset: Dataset, split: str, *, facts: int | None = None, seed: int = 0
) -> HoldsScores | None:
    """Probabilities of moments drawn from a split, beside the truth; None where nothing can be drawn or judged.

    Facts of train are known: they are not judged.
    """
    if head.judge is None or split == "train" or dataset.facts(split).is_static.all():
        return None
    drawn = draw_moments(model, dataset, split, min(FACTS, facts or FACTS), seed)
    probability = new_facts_hold(head, model, drawn.moments)
    kinds = {name: probability[drawn.kind == i] for i, name in enumerate(KINDS)}
    return HoldsScores(
        reliability(probability, drawn.truth),
        float(((probability - drawn.truth) ** 2).mean()),
        area_under_roc(probability, drawn.truth),
        {name: float(values.mean()) for name, values in kinds.items() if len(values)},
        len(drawn),
    )


def area_under_roc(probability: Floats, truth: Bools) -> float:
    """Naive equivalent: `mean((a > b) + (a == b) / 2 for a in probability[truth] for b in probability[~truth])`."""
    true, false = np.sort(probability[truth]), np.sort(probability[~truth])
    below, up_to = (np.searchsorted(false, true, side=side) for side in ("left", "right"))
    return float(((below + up_to) / 2).mean() / max(1, len(false))) if len(true) else float("nan")


def _inputs(head: TimeHead, model: TemporalModel, moments: Moments) -> Floats:
    assert head.counted is not None, "recall comes first"
    # Moments of one fact share its curve.
    E, P = model.sizes.entities, model.sizes.predicates
    different, number = numbered((moments.subject * P + moments.predicate) * E + moments.object)
    s, p, o = different // E // P, different // E % P, different % E
    along = head.curves(Asked(s, p, o, np.full(len(s), -1)), model)
    return judge_inputs(model, head.counted, moments, along[number])


def _half_known(head: TimeHead, model: TemporalModel, dataset: Dataset, seed: int) -> dict[Half, tuple[Floats, Bools]]:
    """Curves of facts of valid at times drawn from the axis, and whether they hold then.

    "open" gives the begin, and asks for later times; "undated" gives nothing but that the fact is true at some time.
    """
    rng, T = np.random.default_rng(seed), len(head.axis)
    dated = dataset.valid[~dataset.valid.is_static]
    dated = dated[np.sort(rng.permutation(len(dated))[:FACTS])]
    begun = dated[(dated.begin != OPEN) & (dated.begin < T - 1)]
    found: dict[Half, tuple[Floats, Bools]] = {}
    for name, facts, first in (("open", begun, begun.begin + 1), ("undated", dated, np.zeros(len(dated), np.int64))):
        time = rng.integers(first, T)
        curve = head.curves(Asked.of(facts), model, facts.begin if name == "open" else None)
        found[name] = (curve[np.arange(len(facts)), time], _holds(facts, time, T))  # type: ignore[index]
    return found


def _holds(facts: Facts, time: Any, timestamps: int) -> Bools:
    first, last = span_ids(facts, Sizes(0, 0, timestamps))
    return np.asarray((first <= time) & (time <= last))
