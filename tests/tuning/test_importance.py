"""What mattered, on planted results."""

import numpy as np
import pytest

from knowwhen.tuning.importance import importances
from knowwhen.tuning.results import TunedTrial, in_order

SPACE = {
    "weight": {"low": 1e-4, "high": 1.0, "log": True},
    "rank": {"low": 2, "high": 64},
    "model": ["a", "b", ["c"]],
    "noise": {"low": 0.0, "high": 1.0},
}


def study(mrr_of, count, seed=0, state_of=lambda mrr: "complete"):
    rng = np.random.default_rng(seed)
    trials = []
    for number in range(count):
        point = {
            "weight": 10 ** rng.uniform(-4, 0),
            "rank": int(rng.integers(2, 65)),
            "model": SPACE["model"][rng.integers(3)],
            "noise": rng.uniform(),
        }
        mrr = mrr_of(point) + 0.005 * rng.normal()
        trials.append(TunedTrial(number, state_of(mrr), point, mrr, 1, 0.0, ()))
    return in_order(trials)


def naive(trials, likeness):
    """1 - squared error of leave-one-out predictions over that of leave-one-out means."""
    n, ours, means = len(trials), 0.0, 0.0
    place = [(n - i) / n for i in range(n)]
    for i in range(n):
        others = [k for k in range(n) if k != i]
        mean = sum(place[k] for k in others) / len(others)
        weights = {k: likeness(trials[i], trials[k]) for k in others}
        predicted = (sum(w * place[k] for k, w in weights.items()) + 0.5 * mean) / (sum(weights.values()) + 0.5)
        ours, means = ours + (place[i] - predicted) ** 2, means + (place[i] - mean) ** 2
    return max(0.0, 1 - ours / means)


def test_importances_are_as_the_naive_loop_finds_them():
    trials = study(lambda p: 0.4 - 0.1 * (np.log10(p["weight"]) + 2) ** 2, 15)
    found = importances(trials, SPACE)
    by_weight = naive(
        trials, lambda a, b: np.exp(-0.5 * (np.log(a.point["weight"] / b.point["weight"]) / np.log(1e4) / 0.12) ** 2)
    )
    assert found["weight"] == pytest.approx(by_weight)
    assert found["model"] == pytest.approx(naive(trials, lambda a, b: float(a.point["model"] == b.point["model"])))


@pytest.mark.parametrize(
    ("mrr_of", "matters"),
    [
        (lambda p: 0.4 - 0.1 * (np.log10(p["weight"]) + 2) ** 2, "weight"),
        (lambda p: 0.1 + 0.005 * p["rank"], "rank"),
        (lambda p: {"a": 0.1, "b": 0.3}.get(p["model"] if isinstance(p["model"], str) else "", 0.5), "model"),
    ],
)
def test_what_was_planted_is_found_and_noise_is_not(mrr_of, matters):
    for seed in range(5):
        found = importances(study(mrr_of, 40, seed), SPACE)
        assert next(iter(found)) == matters and found[matters] > 0.5
        assert max(share for name, share in found.items() if name != matters) < 0.3
    assert max(importances(study(lambda p: 0.3, 40), SPACE).values()) < 0.2


def test_pruned_and_failed_trials_tell_what_is_bad():
    def mrr_of(point):
        return 0.5 if point["model"] == "a" else 0.1

    trials = study(mrr_of, 20, state_of=lambda mrr: "complete" if mrr > 0.3 else "failed")
    assert importances(trials, SPACE)["model"] > 0.4
    alike = [trial for trial in trials if trial.state == "complete"]
    assert len(alike) >= 8 or importances(alike, SPACE) == {}


def test_few_trials_say_nothing():
    assert importances(study(lambda p: 0.1 + 0.005 * p["rank"], 7), SPACE) == {}
