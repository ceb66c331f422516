import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.facts.table import OPEN, Facts, span_labels

E, P, T = 4, 3, 5
IDS = st.tuples(*(st.integers(0, n - 1) for n in (E, P, E)), st.integers(OPEN, T - 1), st.integers(OPEN, T - 1))
ROWS = st.lists(IDS.filter(lambda row: OPEN in row[3:] or row[3] <= row[4]), max_size=15)


def table(rows):
    return Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy())


def test_spans_are_dates_in_order_of_time():
    facts = table([(0, 0, 0, 2, OPEN), (0, 0, 0, 0, 1), (0, 0, 0, OPEN, OPEN)])
    assert span_labels(facts, ["2000", "2001", "2002"]) == [(None, None), ("2000", "2001"), ("2002", None)]


def test_a_begin_at_the_first_timestamp_is_not_an_unknown_begin():
    columns = np.array([[0, 0, 1, 0, 2], [0, 0, 2, OPEN, 2]]).T.copy()
    facts = Facts(*columns)
    assert facts.is_interval.tolist() == [True, False]
    assert facts.is_half_open.tolist() == [False, True]


@given(ROWS)
def test_every_fact_is_of_exactly_one_kind(rows):
    facts = table(rows)
    kinds = [facts.is_event, facts.is_interval, facts.is_half_open, facts.is_static]
    assert (np.sum(kinds, axis=0) == 1).all()
