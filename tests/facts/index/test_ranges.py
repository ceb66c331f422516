import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.facts.index.ranges import numbered, ordered, ranges, spread


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
