"""Time questions: metrics by hand, a perfect scorer, filters, and two baselines on a tiny set."""

import json

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from knowwhen.errors import BadRequest, NonFiniteScores
from knowwhen.evaluation import evaluate_times, precision, times
from knowwhen.evaluation.baselines import median_span, nearest_known
from knowwhen.evaluation.evaluate import time_scorer
from knowwhen.evaluation.intervals import aeiou, coalesce, gaeiou, tac
from knowwhen.evaluation.precision import average_precision, macro_average_precision
from knowwhen.evaluation.times import TimeTask, best_fits, softmax, time_errors, time_ranks
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.dates import Granularity
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.table import OPEN, Facts
from knowwhen.facts.timeline import Timeline
from knowwhen.facts.vocabulary import Vocabulary
from knowwhen.models import Sizes

YEARS = Timeline(Granularity.YEAR, np.array([2000, 2001, 2002, 2005, 2010]))
SIZES = Sizes(5, 2, 5)


def task(facts: Facts, known: Facts | None = None, reference: Facts | None = None) -> TimeTask:
    known = facts if known is None else Facts.concatenate(facts, known)
    index = KnownFacts(known, SIZES.predicates, SIZES.timestamps)
    return TimeTask(facts, index, facts if reference is None else reference, YEARS, SIZES)


def perfect(facts: Facts) -> np.ndarray:
    """High inside the span and nowhere else."""
    return np.where(task(facts).truth(facts), 0, -1000).astype(np.float32)


class TestIntervalMetrics:
    @pytest.mark.parametrize(
        ("predicted", "gold", "expected"),
        [
            # overlap 2 (2001, 2002), hull 4 (2000 … 2003)
            ((2000, 2002), (2001, 2003), (2 / 4, 2 / 4, (1 / 2 + 1 / 2) / 2)),
            # the same
            ((2000, 2003), (2000, 2003), (1, 1, 1)),
            # neighbours: no overlap, gap 1, hull 4
            ((2000, 2001), (2002, 2003), (1 / 4, 1 / 2 / 4, (1 / 3 + 1 / 3) / 2)),
            # far apart: gap 7, hull 10
            ((2000, 2001), (2008, 2009), (1 / 10, 1 / 8 / 10, (1 / 9 + 1 / 9) / 2)),
            # one inside the other: overlap 1, hull 5
            ((2002, 2002), (2000, 2004), (1 / 5, 1 / 5, (1 / 3 + 1 / 3) / 2)),
        ],
    )
    def test_by_hand(self, predicted, gold, expected):
        spans = [np.array(x) for x in (*predicted, *gold)]
        assert [float(metric(*spans)) for metric in (aeiou, gaeiou, tac)] == pytest.approx(expected)

    @given(*[st.integers(0, 20)] * 4)
    def test_laws(self, a, b, c, d):
        predicted, gold = (np.array(sorted(x)) for x in ((a, b), (c, d)))
        for metric in (aeiou, gaeiou, tac):
            value = metric(*predicted, *gold)
            assert 0 < value <= 1
            assert value == metric(*gold, *predicted)
            assert (value == 1) == ((predicted == gold).all())
        assert gaeiou(*predicted, *gold) <= aeiou(*predicted, *gold)


class TestCoalescing:
    P = np.array([[0.1, 0.2, 0.4, 0.25, 0.05]])

    @pytest.mark.parametrize(
        ("threshold", "span"),
        [(0.3, (2, 2)), (0.4, (2, 2)), (0.5, (2, 3)), (0.7, (1, 3)), (0.9, (0, 3)), (0.96, (0, 4)), (2, (0, 4))],
    )
    def test_it_grows_to_the_better_side_until_the_threshold(self, threshold, span):
        first, last = coalesce(self.P, np.array([[2]]), np.array([threshold]))
        assert (int(first[0, 0]), int(last[0, 0])) == span

    def test_the_kth_span_starts_at_the_kth_best_timestamp(self):
        first, last = coalesce(self.P, np.array([[2, 3, 1]]), np.array([0.5]))
        assert list(zip(first[0].tolist(), last[0].tolist(), strict=True)) == [(2, 3), (2, 3), (1, 2)]

    def test_it_stops_at_the_ends_of_the_axis(self):
        first, last = coalesce(np.array([[0.7, 0.2, 0.1]]), np.array([[0, 2]]), np.array([0.25]))
        assert list(zip(first[0].tolist(), last[0].tolist(), strict=True)) == [(0, 0), (1, 2)]

    def test_a_rounding_error_does_not_make_it_grow(self):
        probability = np.array([[0.1] * 10 + [0.0]])  # ten tenths add up to less than 1 in floating point
        first, last = coalesce(probability, np.array([[0]]), np.array([1.0]))
        assert (first.item(), last.item()) == (0, 9)

    def test_on_a_tie_it_takes_the_later_side(self):
        first, last = coalesce(np.array([[0.3, 0.4, 0.3]]), np.array([[1]]), np.array([0.5]))
        assert (first.item(), last.item()) == (1, 2)

    def test_lengths_are_real_years_and_the_best_of_k_counts(self, tools):
        facts = tools.table((0, 0, 1, 2, 3))  # 2002 … 2005
        probability = np.array([[0.0, 0.45, 0.05, 0.3, 0.2]])
        fits = best_fits(probability, facts, np.array([0.3]), YEARS.positions)
        assert fits["aeIOU@1"] == pytest.approx(1 / 5)  # 2001 alone: hull 2001 … 2005
        assert fits["aeIOU@5"] == pytest.approx(1 / 4)  # 2005 alone: hull 2002 … 2005
        assert fits["TAC@5"] == pytest.approx((1 / 4 + 1) / 2)

    def test_thresholds_are_mean_masses_and_that_of_all_for_a_new_predicate(self, tools):
        reference = tools.table((0, 0, 1, 0, 1), (0, 0, 1, 3, 3))
        scores = np.log(np.array([0.1, 0.2, 0.3, 0.3, 0.1], np.float32))
        thresholds = task(reference).thresholds(lambda facts: np.tile(scores, (len(facts), 1)))
        assert_allclose(thresholds, [(0.3 + 0.3) / 2, (0.3 + 0.3) / 2], rtol=1e-6)
        reference = tools.table((0, 0, 1, 0, 1), (0, 1, 1, 3, 4))
        thresholds = task(reference).thresholds(lambda facts: np.tile(scores, (len(facts), 1)))
        assert_allclose(thresholds, [0.3, 0.4], rtol=1e-6)


class TestAveragePrecision:
    def test_by_hand(self):
        truth, scores = np.array([True, False, True, False]), np.array([4.0, 3, 2, 1])
        assert average_precision(truth, scores) == pytest.approx((1 / 1 + 2 / 3) / 2)

    def test_ties_come_together(self):
        truth, scores = np.array([True, False, True, False]), np.array([2.0, 2, 1, 0])
        assert average_precision(truth, scores) == pytest.approx((1 / 2 + 2 / 3) / 2)
        assert average_precision(truth, np.zeros(4)) == pytest.approx(1 / 2)  # the base rate

    @given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=12))
    def test_it_is_the_sum_of_recall_steps_times_precision(self, rows):
        truth, scores = np.array([t for t, _ in rows]), np.array([s for _, s in rows])
        if not truth.any():
            return
        expected, recall = 0.0, 0.0
        for threshold in sorted(set(scores.tolist()), reverse=True):
            at = scores >= threshold
            now = truth[at].sum() / truth.sum()
            expected += (now - recall) * truth[at].mean()
            recall = now
        assert average_precision(truth, scores) == pytest.approx(expected)

    def test_the_macro_mean_is_over_columns_with_anything_true(self, monkeypatch):
        truth = np.array([[True, False, True], [False, False, True]])
        scores = np.array([[1.0, 0, 0], [2.0, 0, 1]])
        expected = (1 / 2 + 1) / 2
        for block in (1, 2, 100):
            monkeypatch.setattr(precision, "BLOCK", block)
            assert macro_average_precision(lambda some: (truth[:, some], scores[:, some]), 2, 3) == expected


class TestEvents:
    def test_ranks_and_errors_by_hand(self):
        scores, t = np.array([[1.0, 5, 5, 2, 0], [0, 0, 0, 0, 0]]), np.array([3, 4])
        assert time_ranks(scores, t).tolist() == [3, 3]
        # the best are 2001 and 2002, the truth 2005; all tie, the truth is 2010
        assert time_errors(scores, t, YEARS.positions).tolist() == [3.5, (10 + 9 + 8 + 5 + 0) / 5]

    def test_other_known_times_are_no_rivals(self, tools):
        facts = tools.table((0, 0, 1, 4, 4))
        known = tools.table((0, 0, 1, 0, 0), (0, 0, 1, 2, 3), (0, 1, 1, 1, 1), (0, 0, 1, OPEN, OPEN))
        scores = lambda facts: np.array([[9, 1, 9, 9, 5]], np.float32)  # noqa: E731
        alone, filtered = task(facts).measure(scores), task(facts, known).measure(scores)
        assert (alone.events.mrr, filtered.events.mrr) == (1 / 4, 1)
        assert filtered.events.mean_absolute_error == 0
        assert (alone.average_precision, filtered.average_precision) == (1 / 4, 1)
        assert task(facts, known).base_rate() == 1 / 2  # of the timestamps 1 and 4

    def test_a_fact_is_not_hidden_by_another_that_holds_at_the_same_time(self, tools):
        facts = tools.table((0, 0, 1, 4, 4))
        assert task(facts, tools.table((0, 0, 1, 3, OPEN))).measure(perfect).events.mrr == 1


def test_a_perfect_scorer_gets_one_everywhere(tools):
    facts = tools.table(
        (0, 0, 1, 1, 1), (1, 1, 2, 0, 0), (2, 0, 3, 1, 3), (3, 1, 4, 0, 4), (4, 0, 0, 3, OPEN), (4, 1, 1, OPEN, 2)
    )
    scores = task(facts, reference=facts[:4]).measure(perfect)
    assert (scores.events.mrr, scores.events.mean_absolute_error, scores.events.count) == (1, 0, 2)
    assert scores.intervals.count == 2 and scores.closed.count == 4
    for fits in (scores.intervals, scores.closed):
        assert len(fits.best_of) == 9
        assert list(fits.best_of.values()) == pytest.approx([1] * 9)
    assert scores.average_precision == 1 and scores.auc_pr_paper == 1


def test_the_papers_auc_counts_undated_facts_as_true_at_all_times(tools):
    facts = tools.table((0, 0, 1, OPEN, OPEN), (0, 0, 2, 0, 0))
    scores = lambda facts: np.where(facts.is_static, 0, 1)[:, None] * np.ones((1, 5), np.float32)  # noqa: E731
    measured = task(facts).measure(scores)
    # Timestamp 0: both true. Timestamps 1 … 4: the static fact is true and scores below the other.
    assert measured.auc_pr_paper == pytest.approx((1 + 4 / 2) / 5)
    assert task(facts).base_rate_paper() == pytest.approx((1 + 4 / 2) / 5)
    assert task(facts[:1]).measure(scores).average_precision is None


def test_batches_change_nothing(tools, monkeypatch):
    @given(tools.facts_of(SIZES, 1), tools.facts_of(SIZES), st.integers(0, 99))
    def run(facts, known, seed):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 4, (5, 2, 5, 5)).astype(np.float32)
        scores = lambda facts: X[facts.subject, facts.predicate, facts.object]  # noqa: E731
        whole = task(facts, known).measure(scores).to_dict()
        with monkeypatch.context() as patch:
            patch.setattr(times, "BATCH_SCORES", 1)
            patch.setattr(precision, "BLOCK", 3)
            assert str(task(facts, known).measure(scores).to_dict()) == str(whole)

    run()


def test_constant_scores_have_the_base_rates(tools):
    @given(tools.facts_of(SIZES, 1), tools.facts_of(SIZES))
    def run(facts, known):
        constant = task(facts, known).measure(lambda facts: np.zeros((len(facts), 5), np.float32))
        assert constant.average_precision == pytest.approx(task(facts, known).base_rate())
        assert constant.auc_pr_paper == pytest.approx(task(facts, known).base_rate_paper())

    run()


class TestBaselines:
    def test_the_median_span_by_hand(self, tools):
        train = tools.table((0, 0, 1, 0, 1), (0, 0, 2, 1, 2), (0, 0, 3, 4, 4), (0, 0, 3, 3, OPEN))
        score = median_span(train, 2, YEARS)
        # begins 0 1 3 4: the lower median is 1, 2001; ends 1 2 4: 2, 2002
        assert score(tools.table((4, 0, 4, 0, 0))).tolist() == [[-1, 0, 0, -3, -8]]
        # predicate 1 has no fact in training: all facts decide
        assert score(tools.table((4, 1, 4, 0, 0))).tolist() == [[-1, 0, 0, -3, -8]]

    def test_ends_before_begins_become_a_point(self, tools):
        train = tools.table((0, 0, 1, 3, OPEN), (0, 0, 1, OPEN, 1))
        assert median_span(train, 2, YEARS)(train[:1]).tolist() == [[-5, -4, -3, 0, -5]]

    def test_without_any_date_the_whole_axis_is_as_good(self, tools):
        train = tools.table((0, 0, 1, OPEN, OPEN))
        assert median_span(train, 2, YEARS)(train).tolist() == [[0] * 5]
        assert nearest_known(train, YEARS)(train).tolist() == [[0] * 5]

    def test_the_nearest_known_time_by_hand(self, tools):
        train = tools.table(
            (0, 0, 2, 0, 1), (3, 1, 0, 1, 1), (1, 0, 4, 3, OPEN), (2, 0, 4, 2, 2), (0, 1, 2, OPEN, OPEN)
        )
        score = nearest_known(train, YEARS)
        # Of 0: 2000 … 2001 and 2001; of 1: 2005, whose end is open. 2002 is 1 year from 2001, 2010 is 5 from 2005.
        assert score(tools.table((0, 0, 1, 0, 0))).tolist() == [[1, 2, -1, 1, -5]]
        # Between 0 and 2 there is a fact: it counts for both.
        assert score(tools.table((0, 0, 2, 3, 3))).tolist() == [[2, 3, 1, -3, -8]]

    def test_a_fact_of_training_does_not_help_itself(self, tools):
        train = tools.table((0, 0, 2, 0, 1), (3, 1, 0, 1, 1), (4, 0, 4, 2, 2))
        score = nearest_known(train, YEARS)
        assert score(train).tolist() == [[-1, 1, -1, -4, -9], [1, 1, -1, -4, -9], [0] * 5]


@pytest.fixture
def dataset(tools):
    return Dataset(
        "tiny",
        Vocabulary("entity", pl.Series([f"e{i}" for i in range(5)])),
        Vocabulary("predicate", pl.Series(["p0", "p1"])),
        YEARS,
        train=tools.table((0, 0, 1, 0, 2), (1, 0, 2, 1, 1), (2, 1, 3, 2, OPEN)),
        valid=tools.table((0, 0, 3, 0, 1)),
        test=tools.table((0, 0, 4, 1, 2), (1, 1, 3, 3, 3), (1, 0, 4, OPEN, 2), (3, 1, 4, OPEN, OPEN)),
    )


def planted(tools, facts: Facts, undated_row: bool = False):
    X = torch.full((5, 4, 5, 5 + undated_row), -1000.0)
    for s, p, o, begin, end in facts.rows().tolist():
        X[s, p, o, max(begin, 0) : (4 if end == OPEN else end) + 1] = 0
    return tools.TensorModel(X, undated_row)


@pytest.mark.parametrize("undated_row", [False, True])
def test_a_planted_model_is_found_perfect_beside_its_baselines(tools, dataset, undated_row):
    calls = []
    found = evaluate_times(
        planted(tools, dataset.all_facts, undated_row), dataset, progress=lambda *done: calls.append(done)
    )
    assert found.model.events.mrr == found.model.average_precision == found.model.auc_pr_paper == 1
    assert found.model.intervals.best_of["aeIOU@1"] == 1
    assert set(found.baselines) == {"median_span", "nearest_known"}
    assert all(scores.events.mrr < 1 for scores in found.baselines.values())
    assert found.counts == {"event": 1, "interval": 1, "half_open": 1, "static": 1}
    assert calls == [(1, 3), (2, 3), (3, 3)]
    assert "1 half-open and 1 static ones have no interval" in found.describe()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["unit"] == "year"


def test_twice_is_once(tools, dataset):
    model = planted(tools, dataset.train)
    assert evaluate_times(model, dataset).to_dict() == evaluate_times(model, dataset).to_dict()


def test_thresholds_come_from_train_where_valid_has_none(tools, dataset):
    bare = Dataset("bare", dataset.entities, dataset.predicates, YEARS, train=dataset.train, test=dataset.test)
    assert evaluate_times(planted(tools, bare.train), bare).thresholds == "train"


def test_time_scores_that_are_not_finite_are_an_error(tools, dataset):
    model = planted(tools, dataset.test)
    model.X[0, 0, 4, 0] = float("nan")
    with pytest.raises(NonFiniteScores, match=r"tensor gave scores that are not finite; lower training\.learning_rate"):
        time_scorer(model)(dataset.test)


def test_a_dataset_without_time_is_an_error(tools, dataset):
    timeless = Timeline(Granularity.YEAR, np.empty(0, np.int64))
    static = tools.table((0, 0, 1, OPEN, OPEN))
    data = Dataset("timeless", dataset.entities, dataset.predicates, timeless, train=static, test=static)
    with pytest.raises(BadRequest, match="timeless has no times, so there are no time questions"):
        evaluate_times(tools.TensorModel(torch.zeros(5, 4, 5, 1)), data)


def test_probabilities_sum_to_one_however_large_the_scores():
    found = softmax(np.array([[1e4, 0, -1e4], [3, 3, 3]], np.float32))
    assert_array_equal(found[0], [1, 0, 0])
    assert_allclose(found[1], 1 / 3)
