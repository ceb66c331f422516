"""The counting baseline: by hand, by its definition, and tuned without a look at test."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import knowwhen as kw
from knowwhen.errors import BadRequest
from knowwhen.evaluation import PairCounts, Protocol, ask, evaluate, pair_counts, rank_objects, summarise
from knowwhen.evaluation.pair_counts import DISTANCES, WEIGHTS, TuningSample, climb
from knowwhen.facts.dates import Granularity
from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import Sizes


def dataset_of(train: Facts, entities: int, predicates: int, positions: list[int]) -> kw.Dataset:
    words = [
        kw.Vocabulary.of(kind, pl.Series([f"{kind}{i}" for i in range(n)]))
        for kind, n in (("entity", entities), ("predicate", predicates))
    ]
    return kw.Dataset("small", *words, kw.Timeline(Granularity.YEAR, np.array(positions)), train)


def scores_of(model: PairCounts, s: int, p: int, t: int) -> list[float]:
    return model.objects(*(torch.tensor([i]) for i in (s, p, t))).matrix[0].tolist()


@pytest.fixture(scope="module")
def leaders():
    return kw.load("leaders")


def test_by_hand(tools):
    """Entity 0 has with 1 the facts p0 and p1 at time 0 and p0 one unit later, and with 2 a fact p1 at time 5.

    One unit apart are p0 and p0, asked for from both ends, and p1 and p0: beside p0 there are 2 p0 and 1 p1.
    """
    train = tools.table((0, 0, 1, 0, 0), (0, 1, 1, 0, 0), (0, 0, 1, 1, 1), (0, 1, 2, 2, 2))
    model = PairCounts.count(dataset_of(train, 3, 2, [0, 1, 5]))
    assert_allclose(model.shares[0, :2, :2], [[0, 1], [1, 0]])  # at the same time
    assert_allclose(model.shares[1, :2, :2], [[2 / 3, 1 / 3], [1, 0]], rtol=1e-6)  # one unit apart
    assert_allclose(model.shares[:, 2:, 2:], model.shares[:, :2, :2])  # from the other side
    assert model.shares[2:].sum() == 0
    model = replace(model, weights=np.array([10.0, 3, 6, 100, 100, 100, 100, 100]))
    # (0, p1, ?, time 1): for 1 the p0 of that time, and of the p0 and the p1 one unit before the former.
    assert scores_of(model, 0, 1, 1) == pytest.approx([0, 10 / 2 + 3 * 1 + 6 / 3, 10 / 2])
    # The same asked for from 1: p1 has no other subject than 0.
    assert scores_of(model, 1, 1 + 2, 1) == pytest.approx([10 + 3 + 2, 0, 0])


@dataclass(frozen=True)
class Naive:
    """The definition, one fact after the other."""

    train: Facts
    predicates: int
    positions: list[int]
    window: int | None

    def facts(self) -> list[tuple[int, ...]]:
        return [tuple(row) for side in (self.train, self.train.reciprocal(self.predicates)) for row in side.rows()]

    def distance(self, begin: int, end: int, t: int) -> int | None:
        """The step from a fact to a time, None where it is too far; OPEN at both is no time, as is T."""
        static, undated = begin == end == OPEN, t == len(self.positions)
        if undated and not static and self.window is not None:
            return None
        if undated or static:
            return 6
        x = self.positions[t]
        first = -np.inf if begin == OPEN else self.positions[begin]
        last = np.inf if end == OPEN else self.positions[end]
        if self.window is not None and abs((first if begin != OPEN else last) - x) > self.window:
            return None
        units = max(0, first - x, x - last)
        return next(i for i, most in enumerate((0, 1, 3, 7, 30, np.inf)) if units <= most)

    def others(self, s: int, p: int, t: int) -> list[tuple[int, int, int]]:
        """Object, predicate and distance of the facts that speak of (s, p, ?, t)."""
        found = []
        for subject, predicate, object, begin, end in self.facts():
            d = self.distance(begin, end, t)
            if subject != s or d is None:
                continue
            holds = d == 0 or begin == end == OPEN
            inverse = (p + self.predicates) % (2 * self.predicates)
            if holds and (predicate == p or (predicate == inverse and object == s)):
                continue
            found.append((object, predicate, d))
        return found

    def shares(self) -> np.ndarray:
        counts = np.zeros((7, 2 * self.predicates, 2 * self.predicates))
        for s, p, o, begin, end in self.facts():
            t = len(self.positions) if begin == end == OPEN else end if begin == OPEN else begin
            for object, predicate, d in self.others(s, p, t):
                counts[d, predicate, p] += object == o
        return counts / np.maximum(1, counts.sum(-1, keepdims=True))

    def score(self, shares: np.ndarray, weights: np.ndarray, s: int, p: int, o: int, t: int) -> float:
        objects = [fact[2] for fact in self.facts() if fact[1] == p]
        found = [weights[1 + d] * shares[d, q, p] for object, q, d in self.others(s, p, t) if object == o]
        return weights[0] * objects.count(o) / max(1, len(objects)) + sum(found)


@pytest.fixture(scope="session")
def cases(tools):
    @st.composite
    def draw_case(draw):
        E, P, T = draw(st.integers(1, 4)), draw(st.integers(1, 2)), draw(st.integers(1, 5))
        gaps = draw(st.lists(st.sampled_from([1, 2, 5, 40]), min_size=T, max_size=T))
        positions = np.cumsum(gaps).tolist()
        train = draw(tools.facts_of(Sizes(E, P, T), 1))
        window = draw(st.sampled_from([None, 0, 2]))
        weights = np.random.default_rng(draw(st.integers(0, 99))).random(len(WEIGHTS))
        return dataset_of(train, E, P, positions), Naive(train, P, positions, window), weights

    return draw_case()


def test_scores_are_those_of_the_definition(cases):
    @given(cases)
    def run(case):
        data, naive, weights = case
        model = replace(PairCounts.count(data, naive.window), weights=weights)
        shares = naive.shares()
        assert_allclose(model.shares, shares, rtol=1e-6)
        sizes = model.sizes
        shape = (sizes.entities, 2 * sizes.predicates, sizes.timestamps + sizes.undated_row)
        s, p, t = (torch.from_numpy(ids.ravel()) for ids in np.indices(shape))
        expected = [
            [naive.score(shares, weights, *ids[:2], o, ids[2]) for o in range(sizes.entities)]
            for ids in zip(s.tolist(), p.tolist(), t.tolist(), strict=True)
        ]
        assert_allclose(model.objects(s, p, t).matrix.numpy(), expected, rtol=1e-5)

    run()


def test_pieces_change_nothing(leaders, monkeypatch):
    queries = ask(leaders.test[:100], PairCounts.count(leaders).sizes, Protocol())
    asked = [torch.from_numpy(column) for column in (queries.s, queries.p, queries.t)]
    whole = PairCounts.count(leaders)
    monkeypatch.setattr(pair_counts, "ENTRIES", 100)
    pieces = PairCounts.count(leaders)
    assert_array_equal(whole.shares, pieces.shares)
    assert_array_equal(whole.objects(*asked).matrix, pieces.objects(*asked).matrix)


def test_tuning_sees_the_mrr_of_the_ranking(leaders):
    model = PairCounts.count(leaders)
    queries = ask(leaders.valid, model.sizes, Protocol())
    sample = TuningSample.of(model, queries, leaders.known)
    for seed in range(5):
        weights = 10 ** np.random.default_rng(seed).uniform(-6, 0, len(WEIGHTS))
        weights[seed % len(weights)] = 0
        ranks = rank_objects(replace(model, weights=weights), queries, leaders.known, Protocol())
        assert sample.mrr(weights) == pytest.approx(summarise(ranks).mrr, abs=1e-4)  # a tie may be broken by rounding


def test_a_sample_that_is_too_large_is_cut(leaders, monkeypatch):
    model = PairCounts.count(leaders)
    queries = ask(leaders.valid, model.sizes, Protocol())
    monkeypatch.setattr(pair_counts, "ENTRIES", 1000)
    monkeypatch.setattr(pair_counts, "CELLS", 5000)
    sample = TuningSample.of(model, queries, leaders.known)
    b = len(sample.answer)
    assert 0 < b < len(queries) and 5000 <= len(sample.row) < 10_000
    ranks = rank_objects(model, queries[:b], leaders.known, Protocol())
    assert sample.mrr(model.weights) == pytest.approx(summarise(ranks).mrr, abs=1e-4)


def test_tuning_does_not_see_test(leaders):
    parts = (leaders.name, leaders.entities, leaders.predicates, leaders.timeline, leaders.train, leaders.valid)
    without = kw.Dataset(*parts)
    # As rivals of valid's answers: what the filter would leave out, if it knew them.
    shuffled = np.random.default_rng(0).permutation(leaders.valid.object)
    valid = leaders.valid
    other = kw.Dataset(*parts, test=Facts(valid.subject, valid.predicate, shuffled, valid.begin, valid.end))
    tuned = [PairCounts.tune(data) for data in (leaders, without, other)]
    assert len({model.tuned_mrr for model in tuned}) == 1
    for model in tuned[1:]:
        assert_array_equal(model.weights, tuned[0].weights)


def test_tuning_gains_what_the_ranking_then_finds(leaders):
    parts = (leaders.entities, leaders.predicates, leaders.timeline, leaders.train, leaders.valid)
    data = kw.Dataset("no test", *parts)  # so that both filters know the same
    plain, tuned = PairCounts.count(data), PairCounts.tune(data)
    found = evaluate(tuned, data, "valid").mrr
    assert found == pytest.approx(tuned.tuned_mrr, abs=1e-4)
    assert found > evaluate(plain, data, "valid").mrr + 0.001
    assert tuned.weights.sum() == pytest.approx(1)


def test_what_was_chosen_is_said(leaders):
    model = replace(PairCounts.count(leaders, 9), weights=np.array([0.25, 0.75, *[0] * 6]))
    assert model.describe() == "weights by distance in time (object: 0.25, same time: 0.75)"
    assert model.to_dict() == {
        "baseline": "pair-counts",
        "weights": {"object": 0.25, "same time": 0.75, **dict.fromkeys(DISTANCES[1:], 0)},
        "window": 9,
        "tuned_mrr": None,
    }


def test_climbing_finds_the_top_and_leaves_what_is_not_free():
    def value(w):
        return -((np.log(w[:2]) - np.log([0.01, 5])) ** 2).sum()

    best, top = climb(value, np.ones(3), np.array([True, True, False]))
    assert_allclose(best, [0.01, 5, 0], rtol=0.15)
    assert top == value(best)


def test_what_cannot_be_counted_or_tuned_is_said(leaders, monkeypatch):
    bare = kw.Dataset("bare", leaders.entities, leaders.predicates, leaders.timeline, leaders.train, test=leaders.test)
    with pytest.raises(BadRequest, match="bare has no facts in valid"):
        PairCounts.tune(bare)
    monkeypatch.setattr(pair_counts, "TABLE", 10)
    with pytest.raises(BadRequest, match=r"leaders has \d+ predicates, which is too many for the counting baseline"):
        PairCounts.count(leaders)


@pytest.mark.slow
def test_counting_is_near_large_models_on_icews14(real_data, monkeypatch):
    monkeypatch.setattr(pair_counts, "TUNING_FACTS", 500)
    data = kw.load(real_data("icews14"))
    assert evaluate(PairCounts.tune(data), data, "test").mrr == pytest.approx(0.626, abs=0.006)
