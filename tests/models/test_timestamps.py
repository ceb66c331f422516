import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import Sizes
from knowwhen.models.timestamps import sample_timestamps

T = 6


def facts(*spans):
    begin, end = np.array(spans, dtype=np.int64).T.copy()
    zeros = np.zeros(len(begin), np.int64)
    return Facts(zeros, zeros, zeros, begin, end)


def draw(spans, seed=0, undated_row=False):
    return sample_timestamps(facts(*spans), Sizes(1, 1, T, undated_row), torch.Generator().manual_seed(seed))


@given(st.lists(st.tuples(st.integers(OPEN, T - 1), st.integers(OPEN, T - 1)), min_size=1), st.integers(0, 99))
def test_a_timestamp_lies_inside_its_span(ends, seed):
    spans = [(min(b, e), max(b, e)) if OPEN not in (b, e) else (b, e) for b, e in ends]
    for (begin, end), t in zip(spans, draw(spans, seed).tolist(), strict=True):
        assert (0 if begin == OPEN else begin) <= t <= (T - 1 if end == OPEN else end)


def test_every_id_of_a_span_is_as_likely_as_any_other():
    """The ends too: rounding instead of flooring would give them half their share."""
    counts = torch.bincount(draw([(1, 4)] * 40_000), minlength=T)
    assert counts[[0, 5]].tolist() == [0, 0]
    assert (counts[1:5] / 40_000 - 0.25).abs().max() < 0.01


def test_static_facts_take_the_whole_axis_or_their_own_row():
    assert set(draw([(OPEN, OPEN)] * 500).tolist()) == set(range(T))
    assert draw([(OPEN, OPEN), (2, 2), (OPEN, 0)], undated_row=True).tolist() == [T, 2, 0]


def test_the_draw_depends_on_the_seed_alone():
    spans = [(0, 5)] * 50
    assert (draw(spans, 1) == draw(spans, 1)).all()
    assert (draw(spans, 1) != draw(spans, 2)).any()
