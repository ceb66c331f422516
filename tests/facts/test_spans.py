import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.facts.spans import KnownSpans, holding, span_labels
from knowwhen.facts.table import OPEN, Facts

E, P, T = 4, 3, 5
IDS = st.tuples(*(st.integers(0, n - 1) for n in (E, P, E)), st.integers(OPEN, T - 1), st.integers(OPEN, T - 1))
ROWS = st.lists(IDS.filter(lambda row: OPEN in row[3:] or row[3] <= row[4]), max_size=15)


def table(rows):
    return Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy())


def rows_of(facts):
    return sorted(map(tuple, facts.rows().tolist()))


@given(ROWS, IDS)
def test_facts_are_found_as_by_a_look_at_each(rows, asked):
    s, p, o, _, _ = asked
    spans = KnownSpans(table(rows), P)
    assert rows_of(spans.with_subject(s, p)) == sorted(row for row in rows if row[:2] == (s, p))
    assert rows_of(spans.with_object(p, o)) == sorted(row for row in rows if row[1:3] == (p, o))
    assert rows_of(spans.between(s, o)) == sorted(row for row in rows if (row[0], row[2]) == (s, o))
    assert rows_of(spans.of(s, p, o)) == sorted(row for row in rows if row[:3] == (s, p, o))


@given(ROWS, st.integers(0, T - 1), st.integers(1, T))
def test_facts_hold_where_their_span_meets_the_timestamps(rows, first, length):
    ids = range(first, min(first + length, T))

    def holds(row):
        begin, end = row[3], T - 1 if row[4] == OPEN else row[4]
        return any(begin <= t <= end for t in ids)

    assert rows_of(holding(table(rows), ids)) == sorted(row for row in rows if holds(row))
    assert rows_of(holding(table(rows), None)) == sorted(rows)


def test_spans_are_dates_in_order_of_time():
    facts = table([(0, 0, 0, 2, OPEN), (0, 0, 0, 0, 1), (0, 0, 0, OPEN, OPEN)])
    assert span_labels(facts, ["2000", "2001", "2002"]) == [(None, None), ("2000", "2001"), ("2002", None)]
