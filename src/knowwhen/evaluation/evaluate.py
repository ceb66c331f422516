"""A model and a split in, metrics out: what callers use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import torch

from knowwhen.console import Progress, counted
from knowwhen.errors import BadRequest
from knowwhen.evaluation.baselines import TimeCurves, TimeScorer, median_span, nearest_known
from knowwhen.evaluation.metrics import Metrics, kinds_of, summarise
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.questions import ask, check_finite, sample_facts
from knowwhen.evaluation.rank_table import rank_table
from knowwhen.evaluation.ranking import Ranks, rank_objects
from knowwhen.evaluation.scorers import Evaluated, ObjectScorer, scorer_of
from knowwhen.evaluation.support import supports
from knowwhen.evaluation.times import TimeMetrics, TimeScores, TimeTask, is_closed
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Bools, Facts
from knowwhen.models import TemporalModel

THRESHOLD_FACTS = 20_000  # enough for a mean by predicate, where train stands in for valid


def evaluate(
    model: Evaluated,
    dataset: Dataset | None = None,
    split: str = "test",
    protocol: Protocol | None = None,
    *,
    sample: int | None = None,
    progress: bool | Progress | None = None,
) -> Metrics:
    """The ranking metrics of a split, or of `sample` facts drawn from it with the protocol's seed.

    The model is a trained model, which brings its data, a bare model, or any object with `score(s, p, o, t)`, which is
    then called with every entity in the place of the unknown. `progress=True` shows a bar on stderr; a function is
    called with the number of queries done and the total.
    """
    scorer, dataset = scorer_of(model, dataset)
    ranks = rank_split(scorer, dataset, split, protocol or Protocol(), sample=sample, progress=progress)
    return summarise(ranks, dataset.predicates.keys.to_list(), support_of(ranks, dataset, split))


def ranks_of(
    model: Evaluated,
    dataset: Dataset | None = None,
    split: str = "test",
    protocol: Protocol | None = None,
    *,
    sample: int | None = None,
    progress: bool | Progress | None = None,
) -> pl.DataFrame:
    """The rank of each fact of a split in each direction, a row each: what `evaluate` takes its means of."""
    scorer, dataset = scorer_of(model, dataset)
    ranks = rank_split(scorer, dataset, split, protocol or Protocol(), sample=sample, progress=progress)
    return rank_table(ranks, dataset, support_of(ranks, dataset, split))


def rank_split(
    model: ObjectScorer,
    dataset: Dataset,
    split: str,
    protocol: Protocol,
    *,
    sample: int | None = None,
    progress: bool | Progress | None = None,
) -> Ranks:
    """The ranks of a split's facts, or of some of them."""
    questions = ask(sample_facts(dataset, split, sample, protocol.seed), model.sizes, protocol)
    with counted(progress, "queries") as told:
        return rank_objects(
            model, questions, dataset.known_to(split), protocol, seen=seen_entities(dataset), progress=told
        )


def support_of(ranks: Ranks, dataset: Dataset, split: str) -> dict[str, Bools]:
    """Which questions are of which group, by what train has about their pair."""
    return supports(dataset.train, ranks.questions, itself=split == "train")


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
    """The metrics of time questions about a split, or `sample` of its facts, next to two simple baselines.

    With the `head` of a model, the answers are its own, and the decomposition's curve is one more to compare with.
    """
    facts, sizes, timeline = sample_facts(dataset, split, sample, seed), model.sizes, dataset.timeline
    if not len(timeline):
        raise BadRequest(f"{dataset.name} has no times, so there are no time questions")
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
