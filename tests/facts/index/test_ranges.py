import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.facts.index.ranges import numbered, ordered, ranges, rows_in_order, spread


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=6))
def test_ranges_are_a_loop(pairs):
    start, stop = (np.array([a + i * b for a, b in pairs], np.int64) for i in (0, 1))
    rows, places = ranges(start, stop)
    expected = [(i, j) for i, (a, b) in enumerate(pairs) for j in range(a, a + b)]
    assert list(zip(rows.tolist(), places.tolist(), strict=True)) == expected


@given(st.lists(st.one_of(st.integers(0, 5), st.integers(0, 1 << 62)), max_size=30))
def test_numbered_is_unique(keys):
    ours = numbered(np.array(keys, np.int64))
    for mine, theirs in zip(ours, np.unique(np.array(keys, np.int64), return_inverse=True), strict=True):
        assert mine.tolist() == theirs.tolist()


@given(st.lists(st.integers(0, 5)))
def test_spread_is_indexing(rows):
    values, rows = np.array([3, 1, 4, 1, 5, 9]), np.array(sorted(rows), np.int64)
    assert spread(values, rows).tolist() == values[rows].tolist()


@given(st.lists(st.one_of(st.integers(0, 5), st.integers(0, 1 << 62)), max_size=30))
def test_ordered_is_a_stable_sort(keys):
    found, order = ordered(np.array(keys, np.int64))
    assert found.tolist() == sorted(keys)
    assert order.tolist() == sorted(range(len(keys)), key=keys.__getitem__)


# Small columns share one number, large ones take one each, and the largest leave no room for a place.
@given(st.lists(st.tuples(*[st.one_of(st.integers(-1, 2), st.integers(-1, 1 << bits)) for bits in (3, 40, 20, 58)])))
def test_rows_in_order_are_a_stable_sort_of_tuples(rows):
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    assert rows_in_order(list(columns)).tolist() == sorted(range(len(rows)), key=rows.__getitem__)


def test_large_columns_of_a_small_range_share_a_number():
    columns = [np.array([1, 0, 1, 0]), (1 << 62) + np.array([3, 5, 1, 5]), (1 << 61) + np.array([0, 9, 2, 1])]
    assert rows_in_order(columns).tolist() == [3, 1, 2, 0]


def test_rows_with_a_column_of_63_bits_are_ordered_too():
    columns = [np.array([1, 0, 1, 0]), np.array([(1 << 63) - 1, 5, 3, 5])]
    assert rows_in_order(columns).tolist() == [1, 3, 2, 0]
