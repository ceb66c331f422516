"""Answers read off a distribution over spans, by hand and by enumeration."""

import numpy as np
import pytest

from knowwhen.dating.beliefs import Belief, median, shortest_range
from knowwhen.evaluation.intervals import aeiou


def belief(spans, weights, T=10):
    begin, end = (np.array([[span[k] for span in spans]]) for k in (0, 1))
    weight, none = np.array([weights], float), np.zeros((1, T))
    one = np.ones(1)
    return Belief(begin, end, weight, one, one, one, none, none, none, np.arange(T))


def test_the_best_span_is_expected_to_overlap_most_not_the_most_probable():
    # Alone, 0 to 1 is the most probable; but three others agree on about 5 to 8.
    found = belief([(0, 1), (5, 8), (5, 9), (4, 8)], [0.31, 0.23, 0.23, 0.23])
    first, last, chance = found.spans(1)
    assert (first[0, 0], last[0, 0]) == (5, 8) and chance[0, 0] == pytest.approx(0.23)


@pytest.mark.parametrize("seed", range(4))
def test_each_span_adds_most_to_the_best_so_far(seed):
    rng = np.random.default_rng(seed)
    begin = rng.integers(0, 8, 6)
    spans = [(int(b), int(b + rng.integers(0, 3))) for b in begin]
    weights = rng.dirichlet(np.ones(6))
    first, last, _ = belief(spans, weights).spans(3)
    chosen = list[int]()
    for k in range(3):

        def gain(i):
            fits = [max(aeiou(*spans[j], *spans[m]) for j in [*chosen, i]) for m in range(6)]
            return sum(w * f for w, f in zip(weights, fits, strict=True))

        best = max((i for i in range(6) if i not in chosen), key=gain)
        chosen.append(best)
        assert (first[0, k], last[0, k]) == spans[best]


def test_the_median_and_the_shortest_range_by_hand():
    mass = np.array([[0.1, 0.1, 0.5, 0.2, 0.1], [0, 0, 1, 0, 0]])
    assert median(mass).tolist() == [2, 2]
    first, last = shortest_range(mass, 0.7, np.array([0, 1, 2, 3, 10]))
    assert (first.tolist(), last.tolist()) == ([2, 2], [3, 2])
    first, last = shortest_range(mass[:1], 0.8, np.array([0, 1, 2, 3, 10]))
    assert (first[0], last[0]) == (1, 3)
