"""Intervals of paired differences: against a naive loop, on planted data, and where they must not be given."""

import numpy as np
import pytest

from knowwhen import chunks
from knowwhen.evaluation.bootstrap import ENOUGH, Difference, paired_differences


def planted(n, seed, gain=0.05, models=2):
    """Reciprocal ranks of facts with two questions each, which agree; hard facts are hard for all models."""
    rng = np.random.default_rng(seed)
    hardness = rng.gamma(1.0, 8.0, size=(n, 1, 1))
    rank = 1 + rng.poisson(hardness * rng.gamma(4.0, 0.25, size=(n, models, 1)), size=(n, models, 2))
    values = np.clip(1 / rank, 0, 1)  # (n, M, 2): by side
    values[:, 1:] = np.clip(values[:, 1:] + gain * rng.random((n, models - 1, 1)), 0, 1)
    return values.sum(-1)[..., None], np.full((n, models), 2.0)  # (n, M, 1), (n, M)


def naive(sums, weights, resamples, seed):
    rng, n, found = np.random.default_rng(seed), len(sums), []
    for _ in range(resamples):
        facts = rng.integers(n, size=n)
        totals, shares = sum(sums[i] for i in facts), sum(weights[i] for i in facts)
        values = totals / shares[:, None]
        found.append(values[1:] - values[0])
    return np.quantile(found, [0.025, 0.975], axis=0)


def numbers(differences):
    return [x for row in differences for one in row for x in (one.value, one.low, one.high)]


def test_intervals_are_those_of_the_naive_loop(monkeypatch):
    rng = np.random.default_rng(1)
    sums, weights = rng.random((40, 3, 2)), rng.integers(1, 4, size=(40, 3)).astype(float)
    found = paired_differences(sums, weights, resamples=60, seed=7)
    low, high = naive(sums, weights, 60, 7)
    means = sums.sum(0) / weights.sum(0)[:, None]
    for i, row in enumerate(found):
        for k, one in enumerate(row):
            assert one.value == pytest.approx(means[i + 1, k] - means[0, k])
            assert (one.low, one.high) == pytest.approx((low[i, k], high[i, k]))
    monkeypatch.setattr(chunks, "SCORE_BYTES", 24 * 40 * 7)  # seven resamples at once
    assert numbers(paired_differences(sums, weights, resamples=60, seed=7)) == pytest.approx(numbers(found), rel=1e-12)
    assert numbers(paired_differences(sums, weights, resamples=60, seed=8)) != pytest.approx(numbers(found), rel=1e-3)


def test_nineteen_in_twenty_intervals_hold_the_truth():
    many = planted(200_000, seed=999)
    truth = (many[0][:, 1] - many[0][:, 0]).mean() / 2
    found = [paired_differences(*planted(150, seed), resamples=300)[0][0] for seed in range(300)]
    covered = np.mean([one.low <= truth <= one.high for one in found])
    assert 0.91 <= covered <= 0.98


def test_drawing_questions_apart_would_give_intervals_that_are_too_short():
    """The two questions of a fact agree: what is drawn are facts."""
    rng = np.random.default_rng(0)
    gain = rng.normal(0.02, 0.2, size=60)  # of a fact, the same from both sides
    both = np.stack([np.zeros(60), 2 * gain], axis=1)[..., None]
    apart = np.repeat(both / 2, 2, axis=0)
    facts = paired_differences(both, np.full((60, 2), 2.0))[0][0]
    questions = paired_differences(apart, np.ones((120, 2)))[0][0]
    assert facts.value == pytest.approx(questions.value)
    assert facts.high - facts.low == pytest.approx(2**0.5 * (questions.high - questions.low), rel=0.1)


def test_pairing_cancels_what_is_hard_for_all():
    """A gain far smaller than the spread of the facts is clear, because both models have the same facts."""
    rng = np.random.default_rng(0)
    base = rng.random(100)
    sums = np.stack([base, base + 0.01 + 0.001 * rng.normal(size=100)], axis=1)[..., None]
    (one,) = paired_differences(sums, np.ones((100, 2)))[0]
    assert 0.009 < one.low < one.value < one.high < 0.011 and one.is_clear


def test_a_model_against_itself_differs_by_nothing():
    sums, weights = planted(50, 0, models=1)
    (one,) = paired_differences(np.repeat(sums, 2, axis=1), np.repeat(weights, 2, axis=1))[0]
    assert (one.value, one.low, one.high, one.is_clear) == (0, 0, 0, False)


def test_few_facts_give_no_interval():
    few, enough = (paired_differences(*planted(n, 0))[0][0] for n in (ENOUGH - 1, ENOUGH))
    assert few == Difference(few.value, None, None) and not few.is_clear
    assert enough.low < enough.value < enough.high
