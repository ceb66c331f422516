import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.evaluation.spans import best_spans, grow_spans

CURVES = st.lists(st.floats(0.001, 1), min_size=1, max_size=30).map(lambda x: np.array(x) / sum(x))


def test_a_span_holds_as_much_as_lies_above_the_share_of_the_peak():
    curve = np.array([[0.05, 0.05, 0.2, 0.4, 0.25, 0.05]])  # at half the peak: 0.2 + 0.4 + 0.25
    first, last = grow_spans(curve, 0.5)
    assert (first.tolist(), last.tolist()) == ([2], [4])
    first, last = grow_spans(curve, 0.6)
    assert (first.tolist(), last.tolist()) == ([3], [4])


def test_two_hills_are_two_spans_and_one_hill_is_one():
    two = best_spans(np.array([0.02, 0.15, 0.3, 0.15, 0.02, 0.02, 0.02, 0.02, 0.28, 0.02]), 0.6, 10)
    assert [(first, last) for first, last, _ in two] == [(1, 3), (8, 8)]
    assert [mass for _, _, mass in two] == pytest.approx([0.6, 0.28])
    one = best_spans(np.array([0.1, 0.3, 0.4, 0.1, 0.1]), 0.5, 10)
    assert one == [(1, 2, pytest.approx(0.7))]


@given(CURVES, st.floats(0.05, 1), st.integers(1, 5))
def test_spans_do_not_meet_hold_the_peak_and_know_their_mass(curve, share, top):
    found = best_spans(curve, share, top)
    assert 1 <= len(found) <= top
    taken = [i for first, last, _ in found for i in range(first, last + 1)]
    assert len(taken) == len(set(taken))
    assert int(curve.argmax()) in taken
    for first, last, mass in found:
        assert 0 <= first <= last < len(curve)
        assert mass == pytest.approx(curve[first : last + 1].sum())


def test_a_span_does_not_grow_through_one_that_was_told_before():
    curve = np.array([0.21, 0.01, 0.12, 0.3, 0.12, 0.01, 0.0, 0.25])  # 0.21 is high beside 0.25, not beside 0.3
    assert [span[:2] for span in best_spans(curve, 0.8, 10)] == [(2, 5), (6, 7)]
