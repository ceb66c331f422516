"""Counts against their definition: a loop over all facts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from knowwhen.facts.index.counts import COUNTED, REACHES, Counts
from knowwhen.facts.table import OPEN, Facts

E, P, T = 4, 2, 5
POSITIONS = np.array([10, 11, 12, 17, 30])


def counts_of(rows):
    return Counts(Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy()), P, POSITIONS)


def holds(begin, end, t, reach=0):
    """Whether a fact holds within a distance of a time; without time, what has no begin does."""
    if t == T:
        return begin == OPEN
    after = begin != OPEN and POSITIONS[begin] > POSITIONS[t] + reach
    before = end != OPEN and POSITIONS[end] < POSITIONS[t] - reach
    return not after and not before


def naive(rows, s, p, o, t, without=None):
    """By the rule that leaves out all that holds; or all but the row `without`, by the other."""
    kept = [row for i, row in enumerate(rows) if i != without]
    both = [row for s_, p_, o_, b, e in kept if s_ != o_ for row in ((s_, p_, o_, b, e), (o_, p_ + P, s_, b, e))]
    inverse = (p + P) % (2 * P)
    rest = [] if without is None else both
    for row in both if without is None else ():
        asked = row[:2] == (s, p) or row[1:3] == (inverse, s)
        if not (asked and holds(*row[3:], t)):
            rest.append(row)
    patterns = [
        lambda row: row[0] == o,
        lambda row: row[:2] == (o, inverse),
        lambda row: row[0] == s and row[2] == o,
        lambda row: row[:3] == (s, p, o),
    ]
    found = [
        sum(pattern(row) and holds(*row[3:], t, reach) for row in rest) for reach in REACHES for pattern in patterns
    ]
    ever = [
        *patterns,
        lambda row: row[:3] == (s, inverse, o),
        lambda row: row[0] == s,
        lambda row: row[:2] == (s, p),
    ]
    found += [sum(pattern(row) for row in rest) for pattern in ever]
    return found if s != o else [0] * len(found)


ENDS = st.one_of(st.just(OPEN), st.integers(0, T - 1))
ROWS = st.lists(
    st.tuples(st.integers(0, E - 1), st.integers(0, P - 1), st.integers(0, E - 1), ENDS, ENDS).filter(
        lambda row: OPEN in row[3:] or row[3] <= row[4]
    ),
    max_size=12,
)


@given(ROWS)
def test_counts_are_those_of_a_loop(rows):
    s, p, o, t = (ids.ravel() for ids in np.indices((E, 2 * P, E, T + 1)))
    expected = [naive(rows, *query) for query in zip(s.tolist(), p.tolist(), o.tolist(), t.tolist(), strict=True)]
    assert_array_equal(counts_of(rows).of(s, p, o, t), expected)


def test_counts_by_hand():
    rows = [(0, 0, 1, 0, 0), (0, 0, 1, 1, 1), (0, 1, 1, 0, 0), (2, 0, 1, 3, 3), (0, 0, 3, 0, 0)]
    found = counts_of(rows).of(*(np.array([i]) for i in (0, 0, 1, 0)))[0]
    # Asked at day 10 of 0 under 0: (0, 0, 1) and (0, 0, 3) of that day are what is asked for, and do not count.
    assert dict(zip(COUNTED, found.tolist(), strict=True)) == {
        "o within 0": 1,
        "p o within 0": 0,
        "s o within 0": 1,
        "s p o within 0": 0,
        "o within 7": 3,
        "p o within 7": 2,
        "s o within 7": 2,
        "s p o within 7": 1,
        "o ever": 3,
        "p o ever": 2,
        "s o ever": 2,
        "s p o ever": 1,
        "o p s ever": 0,
        "s ever": 2,
        "s p ever": 1,
    }


@given(ROWS, st.data())
def test_a_fact_does_not_count_itself(rows, data):
    """What is counted for a fact of the data is what is counted without it."""
    if not rows:
        return
    fact = data.draw(st.sampled_from(rows))
    s, p, o, begin, end = fact
    t = begin if begin != OPEN else end if end != OPEN else T
    query = [np.array([i]) for i in (s, p, o, t)]
    without = [row for row in rows if row != fact]
    assert_array_equal(counts_of(rows).of(*query), counts_of(without).of(*query))


def test_without_facts_or_times_there_is_nothing_to_count():
    query = [np.array([i]) for i in (0, 0, 1, 0)]
    assert not counts_of([]).of(*query).any()
    timeless = Counts(Facts(*(np.array([i]) for i in (0, 0, 1, OPEN, OPEN))), P, np.empty(0, np.int64))
    assert not timeless.of(*query).any()
    assert timeless.of(*(np.array([i]) for i in (2, 0, 1, 0)))[0, COUNTED.index("p o ever")] == 1


@given(ROWS.filter(len), st.integers(0, 99), st.integers(0, T))
def test_a_training_fact_leaves_itself_out_and_later_nothing_is(rows, number, t):
    asked = number % len(rows)
    s, p, right, begin, end = rows[asked]
    counts, every = counts_of(rows), np.arange(E)
    ids = [np.full(E, i) for i in (s, p, t)]
    found = counts.of(ids[0], ids[1], every, ids[2], itself=True)
    assert_array_equal(found, [naive(rows, s, p, o, t, without=-1) for o in range(E)])
    if s != right and holds(begin, end, t):
        found = counts.of(ids[0], ids[1], every, ids[2], itself=True, right=np.full(E, right))
        assert_array_equal(found, [naive(rows, s, p, o, t, without=asked) for o in range(E)])
