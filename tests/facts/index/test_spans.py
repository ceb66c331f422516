"""The index of spans against its definition: a loop over all spans."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from knowwhen.facts.index import spans
from knowwhen.facts.index.spans import FAR, SpanIndex
from knowwhen.facts.table import OPEN

T = 5
ENDS = st.integers(OPEN, T - 1)
SPANS = st.tuples(ENDS, ENDS).filter(lambda span: OPEN in span or span[0] <= span[1])
BEYOND = 1 << 30  # so that two columns and a time do not fit one number: keys are then numbered


class Case:
    """An index beside the spans it was made of, and every question of a few keys and times."""

    def __init__(self, rows, gaps, by, far):
        self.positions = None if gaps is None else np.cumsum(gaps) - 4
        at = range(T) if gaps is None else self.positions.tolist()
        a, b, begin, end = np.array([(*key, *span) for key, span in rows], np.int64).reshape(-1, 4).T.copy()
        if far:  # one more span, with a key that is far from all others
            more = (BEYOND, BEYOND, 0, 0)
            a, b, begin, end = (np.append(*one) for one in zip((a, b, begin, end), more, strict=True))
        self.index = SpanIndex((a, b), begin, end, positions=self.positions, by=by)
        self.spans = []  # (key, begin, end, what it is sorted by), by row
        for *key, first, last in zip(*(column.tolist() for column in (a, b, begin, end)), strict=True):
            begins, ends = (-FAR if first == OPEN else at[first]), (FAR if last == OPEN else at[last])
            self.spans.append((tuple(key), begins, ends, ends if by == "anchor" and first == OPEN else begins))
        times = range(min(at) - 2, max(at) + 3)
        self.asked = [((a, b), t) for a in range(4) for b in range(4) for t in times]
        self.key = tuple(np.array([key for key, _ in self.asked]).T)
        self.t = np.array([t for _, t in self.asked])

    def rows_of(self, matches):
        """For every question the rows of the spans that match it."""
        return [[row for row, span in enumerate(self.spans) if matches(span, *one)] for one in self.asked]

    def found(self, rows, places):
        """The same of pairs (row of the batch, place)."""
        return [sorted(self.index.order[places[rows == i]].tolist()) for i in range(len(self.asked))]

    def found_between(self, start, stop):
        return [sorted(self.index.order[a:z].tolist()) for a, z in zip(start, stop, strict=True)]


@st.composite
def cases(draw):
    rows = draw(st.lists(st.tuples(st.tuples(st.integers(0, 2), st.integers(0, 2)), SPANS), max_size=15))
    if draw(st.booleans()):  # events only
        rows = [(key, (abs(begin), abs(begin))) for key, (begin, _) in rows]
    gaps = draw(st.none() | st.lists(st.integers(1, 4), min_size=T, max_size=T))
    return Case(rows, gaps, draw(st.sampled_from(["begin", "anchor"])), draw(st.booleans()))


@given(cases())
def test_spans_are_sorted_by_key_and_time(case):
    order = sorted(range(len(case.spans)), key=lambda row: (case.spans[row][0], case.spans[row][3]))
    assert case.index.order.tolist() == order and len(case.index) == len(order)
    columns = (case.index.begin, case.index.end, case.index.time)
    assert [column.tolist() for column in columns] == [[case.spans[row][i] for row in order] for i in (1, 2, 3)]
    keys = [case.spans[row][0] for row in order]
    assert case.index.starts.tolist() == [*(keys.index(key) for key in sorted(set(keys))), len(keys)]


@given(cases())
def test_all_spans_of_a_key(case):
    expected = case.rows_of(lambda span, key, t: span[0] == key)
    assert case.found(*case.index.of(case.key)) == expected
    assert case.found_between(*case.index.places(case.key)) == expected
    assert case.index.count(case.key).tolist() == [len(rows) for rows in expected]


@given(cases())
def test_spans_that_hold_at_a_time(case):
    expected = case.rows_of(lambda span, key, t: span[0] == key and span[1] <= t <= span[2])
    assert case.found(*case.index.holding(case.key, case.t)) == expected


@given(cases(), st.integers(0, 6))
def test_spans_between_two_times(case, length):
    expected = case.rows_of(lambda span, key, t: span[0] == key and t <= span[3] <= t + length)
    assert case.found_between(*case.index.between(case.key, case.t, case.t + length)) == expected


@given(cases(), st.integers(0, 6))
def test_spans_that_hold_at_some_time_are_counted(case, length):
    expected = case.rows_of(lambda span, key, t: span[0] == key and span[1] <= t + length and t <= span[2])
    counts = case.index.count_holding(case.key, case.t, case.t + length)
    assert_array_equal(counts, [len(rows) for rows in expected])


@given(cases(), st.integers(0, 6), st.booleans())
def test_spans_that_hold_near_timestamps_are_counted_by_table_or_search(case, reach, small):
    at = [*(range(T) if case.positions is None else case.positions.tolist()), None]
    if case.positions is None:  # as many timestamps as occur
        at = [*range(len(case.index.positions)), None]
    asked = [(key, t) for key in {key for key, _ in case.asked} | {(BEYOND + 1, 0)} for t in range(len(at))]
    expected = [
        sum(
            own == key and (begin == -FAR if at[t] is None else begin - reach <= at[t] <= end + reach)
            for own, begin, end, _ in case.spans
        )
        for key, t in asked
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spans, "LARGE_TABLE", 1 << 24 if small else 0)
        found = case.index.near(tuple(np.array([key for key, _ in asked]).T), np.array([t for _, t in asked]), reach)
    assert_array_equal(found, expected)


def test_an_axis_without_times_has_only_static_spans():
    never = np.full(2, OPEN)
    index = SpanIndex((np.array([3, 1]),), never, never, positions=np.empty(0, np.int64), by="anchor")
    key, t = (np.array([1, 2, 3]),), np.array([-7, 0, 7])
    assert index.holding(key, t)[1].tolist() == [0, 1]
    assert index.count_holding(key, t, t).tolist() == [1, 0, 1]
    start, stop = index.between(key, t - FAR, t + FAR)
    assert_array_equal(start, stop)


def test_arrays_cannot_be_changed():
    index = SpanIndex((np.zeros(3, np.int64),), np.array([0, 1, OPEN]), np.array([2, OPEN, OPEN]), by="anchor")
    index.holding((np.zeros(1, np.int64),), np.zeros(1, np.int64))
    index.count_holding((np.zeros(1, np.int64),), np.zeros(1, np.int64), np.zeros(1, np.int64))
    arrays = [array for array in (*vars(index).values(), index.starts) if isinstance(array, np.ndarray)]
    assert len(arrays) > 8
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3


@given(cases())
def test_the_rows_of_one_key_are_those_of_the_loop(case):
    for key in {key for key, _ in case.asked} | {(BEYOND, BEYOND), (BEYOND + 1, 0)}:
        rows = [row for row, (own, *_) in enumerate(case.spans) if own == key]
        assert case.index.rows_of(*key).tolist() == rows
