"""A model and a split in, metrics out: what callers use."""

from __future__ import annotations

import numpy as np

from knowwhen.errors import BadRequest
from knowwhen.evaluation.metrics import Metrics, summarise
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.queries import ask
from knowwhen.evaluation.ranking import Progress, rank_objects
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Bools, Facts
from knowwhen.models import TemporalModel


def evaluate(
    model: TemporalModel,
    dataset: Dataset,
    split: str = "test",
    protocol: Protocol | None = None,
    *,
    sample: int | None = None,
    progress: Progress | None = None,
) -> Metrics:
    """The ranking metrics of a split, or of `sample` facts drawn from it with the protocol's seed."""
    protocol = protocol or Protocol()
    facts = sample_facts(dataset, split, sample, protocol.seed)
    queries = ask(facts, model.sizes, protocol)
    known = dataset.known
    ranks = rank_objects(model, facts, queries, known, protocol, seen=seen_entities(dataset), progress=progress)
    return summarise(ranks, dataset.predicates.keys.to_list())


def sample_facts(dataset: Dataset, split: str, sample: int | None, seed: int) -> Facts:
    """The facts of a split, or some of them, each as likely as any other, in their order."""
    facts = dataset.facts(split)
    if not len(facts):
        raise BadRequest(f"{dataset.name} has no facts in {split}")
    if sample is None or sample >= len(facts):
        return facts
    if sample < 1:
        raise BadRequest(f"a sample of {sample} facts; expected at least 1")
    return facts[np.sort(np.random.default_rng(seed).choice(len(facts), sample, replace=False))]


def seen_entities(dataset: Dataset) -> Bools:  # (E,)
    """Whether training saw each entity."""
    seen = np.zeros(len(dataset.entities), np.bool_)
    seen[dataset.train.subject] = seen[dataset.train.object] = True
    return seen
