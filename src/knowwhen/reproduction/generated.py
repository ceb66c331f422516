"""Knowledge bases with Wikidata's shape, at any size: for measurements where the real one is not at hand.

Entities and predicates are as unequal as in Wikidata (Zipf); a tenth of the facts have spans. What can be learned is
planted: an entity belongs to one of a few classes, and a predicate leads from a class to another (low rank); offices
are held by one person after the other (exclusive, by time). All of it depends on the seed alone.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from knowwhen.facts.dataset import Dataset
from knowwhen.facts.dates import Granularity
from knowwhen.facts.table import OPEN, Facts, Ints
from knowwhen.facts.timeline import Timeline
from knowwhen.facts.vocabulary import Vocabulary
from knowwhen.models import Sizes

ENTITIES, FACTS = 432_715, 7_200_000  # of the paper's Wikidata
PREDICATES, TIMESTAMPS, CLASSES = 407, 1726, 64
SPANS = 0.1  # share of facts with a time, all of them terms of office
OFFICES = 7  # the first predicates are held by one person after the other
EXPONENT = 0.8  # of Zipf's law
NOISE = 0.1  # share of facts whose object is any entity


def generate(entities: int, facts: int, seed: int = 0) -> Facts:
    """Distinct facts, at most as many as wanted."""
    rng = np.random.default_rng(seed)
    static, dated = _static(entities, round((1 - SPANS) * facts), rng), _terms(entities, round(SPANS * facts), rng)
    rows = np.unique(Facts.concatenate(static, dated).rows(), axis=0)
    return Facts(*rows[rng.permutation(len(rows))].T.copy())


def _zipf(n: int, count: int, rng: np.random.Generator) -> Ints:
    """Ids of which the first are the most frequent: that of rank k as often as k^-EXPONENT."""
    # The inverse of the distribution function, which is about k^(1 − a) / n^(1 − a).
    return np.minimum((n * rng.random(count) ** (1 / (1 - EXPONENT))).astype(np.int64), n - 1)


def _static(entities: int, count: int, rng: np.random.Generator) -> Facts:
    """Facts without a time: class of the subject and predicate say the class of the object."""
    s, p = rng.integers(0, entities, count), OFFICES + _zipf(PREDICATES - OFFICES, count, rng)
    leads_to = rng.integers(0, CLASSES, (CLASSES, PREDICATES))  # class and predicate to class
    wanted = np.where(rng.random(count) < NOISE, rng.integers(0, CLASSES, count), leads_to[s % CLASSES, p])
    o = _zipf(entities // CLASSES, count, rng) * CLASSES + wanted  # an entity's class is its id modulo CLASSES
    none = np.full(count, OPEN)
    return Facts(s, p, np.minimum(o, entities - 1), none, none)


def _terms(entities: int, count: int, rng: np.random.Generator) -> Facts:
    """Offices with a term after the other: the end of one is the begin of the next."""
    offices = max(1, count // 12)
    office = np.sort(rng.integers(0, offices, count))
    first = np.searchsorted(office, office)  # where an office's terms begin
    length = rng.integers(1, 30, count)
    elapsed = np.cumsum(length) - length
    begin = (rng.integers(0, TIMESTAMPS, offices)[office] + elapsed - elapsed[first]) % TIMESTAMPS
    end = np.minimum(begin + length, TIMESTAMPS - 1)
    return Facts(office % entities, office % OFFICES, rng.integers(0, entities, count), begin, end)


def sizes_of(entities: int) -> Sizes:
    return Sizes(entities, PREDICATES, TIMESTAMPS)


def dataset(entities: int, facts: int, seed: int = 0, held: int = 5000) -> Dataset:
    """The facts as a dataset, `held` of them in valid and as many in test."""
    found = generate(entities, facts, seed)
    names = [pl.Series([f"{kind}{i}" for i in range(n)]) for kind, n in (("Q", entities), ("P", PREDICATES))]
    timeline = Timeline(Granularity.YEAR, np.arange(TIMESTAMPS) + 300)
    vocabularies = Vocabulary("entity", names[0]), Vocabulary("predicate", names[1])
    parts = found[2 * held :], found[:held], found[held : 2 * held]
    return Dataset(f"generated-{entities}", *vocabularies, timeline, *parts)
