"""A model and a split in, metrics out: what callers use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from knowwhen.console import Progress, counted
from knowwhen.errors import BadRequest
from knowwhen.evaluation.baselines import TimeCurves, TimeScorer, median_span, nearest_known
from knowwhen.evaluation.metrics import Metrics, kinds_of, summarise
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.questions import ask, check_finite, sample_facts
from knowwhen.evaluation.ranking import ObjectScorer, rank_objects
from knowwhen.evaluation.support import supports
from knowwhen.evaluation.times import TimeMetrics, TimeScores, TimeTask, is_closed
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Bools, Facts
from knowwhen.models import TemporalModel

THRESHOLD_FACTS = 20_000  # enough for a mean by predicate, where train stands in for valid


def evaluate(
    model: ObjectScorer,
    dataset: Dataset,
    split: str = "test",
    protocol: Protocol | None = None,
    *,
    sample: int | None = None,
    progress: bool | Progress | None = None,
) -> Metrics:
    """The ranking metrics of a split, or of `sample` facts drawn from it with the protocol's seed.

    `progress=True` shows a bar on stderr; a function is called with what is done and what there is.
    """
    protocol = protocol or Protocol()
    facts = sample_facts(dataset, split, sample, protocol.seed)
    questions = ask(facts, model.sizes, protocol)
    known = dataset.known_to(split)
    with counted(progress, "queries") as told:
        ranks = rank_objects(model, questions, known, protocol, seen=seen_entities(dataset), progress=told)
    support = supports(dataset.train, questions, itself=split == "train")
    return summarise(ranks, dataset.predicates.keys.to_list(), support)


def evaluate_times(
    model: TemporalModel,
    dataset: Dataset,
    split: str = "test",
    *,
    sample: int | None = None,
    seed: int = 0,
    progress: bool | Progress | None = None,
    head: Callable[[TimeTask], TimeScores] | None = None,
) -> TimeMetrics:
    """How well time questions about a split, or `sample` facts of it, are answered, beside two trivial baselines.

    With the `head` of a model, the answers are its own, and the decomposition's curve is one more to compare with.
    """
    facts, sizes, timeline = sample_facts(dataset, split, sample, seed), model.sizes, dataset.timeline
    if not len(timeline):
        raise BadRequest(f"{dataset.name} has no times to ask for")
    thresholds = "valid" if is_closed(dataset.valid).any() else "train"
    reference = dataset.facts(thresholds)
    task = TimeTask(facts, dataset.known_to(split), reference[is_closed(reference)][:THRESHOLD_FACTS], timeline, sizes)
    scorers = {
        "model": time_scorer(model),
        "median_span": median_span(dataset.train, sizes.predicates, timeline),
        "nearest_known": nearest_known(dataset.train, timeline),
    }
    measured = {}
    with counted(progress, "time questions") as told:
        for name, scorer in scorers.items():
            measured[name] = task.measure(scorer)
            if told:
                told(len(measured), len(scorers))
    if head is not None:
        measured = {
            "model": head(task),
            "median_span": measured["median_span"],
            "nearest_known": measured["nearest_known"],
            "greedy": measured["model"],
        }
    counts = {kind: int(rows.sum()) for kind, rows in kinds_of(facts).items()}
    own = measured.pop("model")
    return TimeMetrics(
        own, measured, task.base_rate(), task.base_rate_paper(), counts, timeline.granularity, thresholds
    )


def time_scorer(model: TemporalModel) -> TimeScorer:
    """The model's scores of all timestamps."""

    @torch.no_grad()
    def score(facts: Facts) -> TimeCurves:
        s, p, o = (torch.tensor(ids, device=model.device) for ids in (facts.subject, facts.predicate, facts.object))
        found: TimeCurves = check_finite(model.times(s, p, o).whole(), model.name).float().cpu().numpy()
        return found

    return score


def seen_entities(dataset: Dataset) -> Bools:  # (E,)
    """Whether training saw each entity."""
    seen = np.zeros(len(dataset.entities), np.bool_)
    seen[dataset.train.subject] = seen[dataset.train.object] = True
    return seen
