"""A baseline without embeddings: what the training facts about subject and object near a time say, by counting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from knowwhen.chunks import slices_by
from knowwhen.errors import BadRequest
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.questions import Floats, Questions, ask, sample_facts
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.index.history import History, Lags
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.index.ranges import ranges
from knowwhen.facts.table import OPEN, Bools, Facts, Ints
from knowwhen.models import Sizes
from knowwhen.models.scores import Matrix

LAGS = Lags((1, 3, 7, 30))
DISTANCES = ("same time", "1", "2 to 3", "4 to 7", "8 to 30", "beyond 30", "without time")  # in units of the time axis
WEIGHTS = ("object", *DISTANCES)
# Lags have a sign, distances have none; facts and questions without time are one distance.
DISTANCE_OF_LAG = np.array([0, *2 * [*range(1, LAGS.steps + 1)], LAGS.steps + 1, LAGS.steps + 1])

ENTRIES = 1 << 20  # facts that are looked at at once
TABLE = 32 << 20  # numbers in the table of shares, at most
TUNING_FACTS = 2000  # of valid
CELLS = 4 << 20  # scores that are kept to tune
FACTORS = (8.0, 3.0, 1.5, 1.2)  # by which a weight is tried larger and smaller
GAIN = 1e-5  # of MRR, below which a step is none


class Terms(NamedTuple):
    """Addends of scores: a value for an object as the answer of a query, of one kind."""

    row: Ints  # the query
    object: Ints
    kind: Ints  # a place in WEIGHTS
    value: Floats


@dataclass(frozen=True, eq=False)
class PairCounts:
    """X[s, p, o, t] = w_o P(o | p) + Σ w_d P_d(p | p')    over the other facts (s, p', o, t'), d the step of |t − t'|

    P(o | p): the share of o among the objects of p. P_d(p | p'): the share of p among all that is said of a pair at
    distance d from something else with p', see `count_pairs`. Facts from the other side are those of inverse predicates
    p + P. Facts with the asked predicate that hold at t are never among the others. All of it is counted in train.
    """

    name: ClassVar[str] = "pair-counts"
    sizes: Sizes
    history: History
    popularity: ObjectShares
    shares: NDArray[np.float32]  # (D, 2P, 2P), P_d(p | p') at [d, p', p]
    weights: Floats  # (1 + D,), as in WEIGHTS
    window: int | None = None
    tuned_mrr: float | None = None  # on the facts by which the weights were chosen

    @classmethod
    def count(cls, dataset: Dataset, window: int | None = None) -> PairCounts:
        """The baseline with all weights 1; facts that begin more than `window` units from a time say nothing of it."""
        train, P = dataset.train, len(dataset.predicates)
        if len(DISTANCES) * (2 * P) ** 2 > TABLE:
            raise BadRequest(f"{dataset.name} has {P:,} predicates, which is too many for the counting baseline")
        sizes = Sizes.of(dataset, undated_row=bool(train.is_static.any()))
        history = History(train, sizes.entities, P, dataset.timeline.positions, lags=LAGS, window=window)
        counts = count_pairs(history, train, sizes)
        shares = (counts / np.maximum(1, counts.sum(-1, keepdims=True))).astype(np.float32)
        return cls(sizes, history, ObjectShares.of(train, P), shares, np.ones(len(WEIGHTS)), window)

    @classmethod
    def tune(cls, dataset: Dataset, window: int | None = None, seed: int = 0) -> PairCounts:
        """The baseline with the weights that are best on a sample of valid; test is unseen, also by the filter."""
        counted = cls.count(dataset, window)
        facts = sample_facts(dataset, "valid", TUNING_FACTS, seed)
        known = dataset.known_to("valid")
        queries = ask(facts, counted.sizes, Protocol(seed=seed))
        order = np.random.default_rng(seed).permutation(len(queries))
        sample = TuningSample.of(counted, queries[order], known)
        weights, mrr = climb(sample.mrr, counted.weights, sample.occurs)
        return replace(counted, weights=weights / weights.sum(), tuned_mrr=mrr)

    def describe(self) -> str:
        """The weights in one line, those that weigh nothing left out."""
        weights = ", ".join(
            f"{name}: {weight:.3g}" for name, weight in zip(WEIGHTS, self.weights, strict=True) if weight
        )
        return f"weights by distance in time ({weights})"

    def to_dict(self) -> dict[str, Any]:
        """What was chosen, as JSON types."""
        weights = dict(zip(WEIGHTS, self.weights.tolist(), strict=True))
        return {"baseline": self.name, "weights": weights, "window": self.window, "tuned_mrr": self.tuned_mrr}

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Matrix:  # (b, E)
        """X[s, p, :, t]."""
        E = self.sizes.entities
        scores = np.zeros((len(s), E), np.float32)
        for rows, terms in self.terms(*(column.cpu().numpy() for column in (s, p, t))):
            # The sums are of 64 bits, so that equal ones, in whatever order, are equal when rounded.
            cells, n = (terms.row - rows.start) * E + terms.object, rows.stop - rows.start
            sums = np.bincount(cells, self.weights[terms.kind] * terms.value, minlength=n * E)
            scores[rows] = sums.reshape(n, E)
        return Matrix(torch.from_numpy(scores).to(s.device))

    def terms(self, s: Ints, p: Ints, t: Ints) -> Iterator[tuple[slice, Terms]]:
        """What X[s, p, :, t] is the sum of, for some rows after the other."""
        about = np.bincount(self.history.subject, minlength=self.sizes.entities)[s]
        for rows in slices_by(about + self.popularity.stop[p] - self.popularity.start[p], ENTRIES):
            yield rows, self._terms(rows.start, s[rows], p[rows], t[rows])

    def _terms(self, first: int, s: Ints, p: Ints, t: Ints) -> Terms:
        background, place = ranges(self.popularity.start[p], self.popularity.stop[p])
        row, fact = self.history.around(s, t)
        row, fact, distance = others(self.history, row, fact, s, p, t)
        value = self.shares[distance, self.history.predicate[fact], p[row]]
        says, some = value > 0, np.zeros(len(background), np.int64)
        return Terms(
            first + np.concatenate([background, row[says]]),
            np.concatenate([self.popularity.object[place], self.history.object[fact[says]]]),
            np.concatenate([some, 1 + distance[says]]),
            np.concatenate([self.popularity.share[place], value[says]]),
        )


def others(history: History, row: Ints, place: Ints, s: Ints, p: Ints, t: Ints) -> tuple[Ints, Ints, Ints]:
    """Of pairs (row, place) of questions and facts those that are not what is asked for, with their distances."""
    lag = history.lag(row, place, t)
    other = ~history.is_left_out(row, place, s, p, lag)
    return row[other], place[other], DISTANCE_OF_LAG[lag[other]]


def count_pairs(history: History, train: Facts, sizes: Sizes) -> Ints:  # (D, 2P, 2P)
    """How often a fact (s, p, o, t) and another (s, p', o, t') of its pair are at distance d, at [d, p', p].

    A fact is looked at from both sides, at its begin (its end where the begin is unknown), so that it is counted as it
    is asked for: by the other facts within the window, of which those with its own predicate at that time are none.
    """
    P = sizes.predicates
    shape = (len(DISTANCES), 2 * P, 2 * P)
    counts = np.zeros(np.prod(shape), np.int64)
    s, p, o = train.subject, train.predicate, train.object
    t = np.where(train.is_static, sizes.timestamps, np.where(train.begin == OPEN, train.end, train.begin))
    _, pair, size = np.unique(s * sizes.entities + o, return_inverse=True, return_counts=True)
    for rows in slices_by(size[pair], ENTRIES):
        row, place = history.between(s[rows], o[rows])
        near = history.sees(place, t[rows][row])
        row, place, distance = others(history, row[near], place[near], s[rows], p[rows], t[rows])
        key = (distance * 2 * P + history.predicate[place]) * 2 * P + p[rows][row]
        counts += np.bincount(key, minlength=len(counts))
    one_side = counts.reshape(shape)
    return one_side + np.roll(one_side, (P, P), axis=(1, 2))  # from the other side both predicates are inverted


@dataclass(frozen=True, eq=False)
class ObjectShares:
    """P(o | p) where it is not 0, predicates and inverse predicates after each other."""

    start: Ints  # (2P,), where those of a predicate begin
    stop: Ints  # (2P,)
    object: Ints
    share: Floats

    @classmethod
    def of(cls, train: Facts, predicates: int) -> ObjectShares:
        both = Facts.concatenate(train, train.reciprocal(predicates))
        E, total = int(both.object.max(initial=0)) + 1, np.bincount(both.predicate, minlength=2 * predicates)
        key, count = np.unique(both.predicate * E + both.object, return_counts=True)
        stop = np.searchsorted(key // E, np.arange(2 * predicates), side="right")
        return cls(np.concatenate([[0], stop[:-1]]), stop, key % E, count / total[key // E])


@dataclass(frozen=True, eq=False)
class TuningSample:
    """The scores of some queries as functions of the weights: a cell is an entity that may have any for a query."""

    row: Ints  # (n,), the query of each cell, b where it is neither answer nor rival
    by_object: Floats  # (n,), P(o | p)
    spoken: Ints  # (m,), the cells of which facts say something
    by_distance: Floats  # (m, D), the sums of P_d(p | p') of those
    answer: Ints  # (b,), the cell of each answer, n where it has none
    rest: Ints  # (b,), rivals without a cell

    @classmethod
    def of(cls, model: PairCounts, queries: Questions, known: KnownFacts) -> TuningSample:
        """Of the first queries, as many as have CELLS in all."""
        E, n, stop, parts = model.sizes.entities, 0, 0, []
        for rows, terms in model.terms(queries.s, queries.p, queries.t):
            cells, by_object, spoken, by_distance = _add_up(terms, E)
            parts.append((cells, by_object, n + spoken, by_distance))
            n, stop = n + len(cells), rows.stop
            if n >= CELLS:
                break
        cells, by_object, spoken, by_distance = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        other, entity = queries[:stop].others(known)
        left, answer = (_find(cells, ids) for ids in (other * E + entity, np.arange(stop) * E + queries.o[:stop]))
        row = cells // E
        taken = np.bincount(row, minlength=stop) + np.bincount(other[left == n], minlength=stop) + (answer == n)
        row[left[left < n]] = stop
        return cls(row, by_object, spoken, by_distance, answer, E - taken)

    def mrr(self, weights: Floats) -> float:
        """As evaluation/ranking.py has it: filtered at the query's time, ties half."""
        n, b = len(self.row), len(self.answer)
        sums = np.append(weights[0] * self.by_object, 0)
        sums[self.spoken] += self.by_distance @ weights[1:]
        score = sums.astype(np.float32)
        target = np.append(score[self.answer], np.inf)  # out of reach for what is no rival
        above = score[:n] - target[self.row]
        better = np.bincount(self.row[above > 0], minlength=b)
        equal = np.bincount(self.row[above == 0], minlength=b) - (self.answer < n)
        equal += np.where(target[:b] == 0, self.rest, 0)
        return float((1 / (1 + better + equal / 2)).mean())

    @property
    def occurs(self) -> Bools:  # (1 + D,)
        """Which weights have anything to weigh."""
        return np.append(self.by_object.any(), self.by_distance.any(axis=0))


def _add_up(terms: Terms, entities: int) -> tuple[Ints, Floats, Ints, Floats]:
    """Cells in order, their P(o | p), the places of those of which facts say something, and the sums by distance."""
    cells, place = np.unique(terms.row * entities + terms.object, return_inverse=True)
    by_object, fact, D = np.zeros(len(cells)), terms.kind > 0, len(DISTANCES)
    by_object[place[~fact]] = terms.value[~fact]
    spoken, which = np.unique(place[fact], return_inverse=True)
    sums = np.zeros(len(spoken) * D)
    sums += np.bincount(which * D + terms.kind[fact] - 1, terms.value[fact], minlength=len(sums))
    return cells, by_object, spoken, sums.reshape(-1, D)


def _find(cells: Ints, wanted: Ints) -> Ints:
    """The places of numbers in an increasing column, its length for those that are not in it."""
    place = np.searchsorted(cells, wanted)
    return np.where(np.append(cells, -1)[place] == wanted, place, len(cells))


def climb(value: Callable[[Floats], float], start: Floats, free: Bools) -> tuple[Floats, float]:
    """The weights that are best, and their value, by steps of one weight at a time, coarse ones first."""
    best = np.where(free, start, 0)
    top = value(best)
    for factor in FACTORS:
        before = -np.inf
        while top > before + GAIN:
            before = top
            for i in np.flatnonzero(free):
                for step in (factor, 1 / factor):
                    trial = best.copy()
                    trial[i] *= step
                    reached = value(trial)
                    if reached > top:
                        best, top = trial, reached
                        break
    return best, top
