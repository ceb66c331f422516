"""The index behind evidence: what is found near a time, how far away it is, and what is left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.errors import BadRequest
from knowwhen.facts.index.history import History, Lags
from knowwhen.facts.table import OPEN, Facts

LAGS = Lags((1, 3, 7))


def facts_of(*rows):
    return Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy())


def history_of(*rows, entities=4, predicates=2, positions=range(100), **options):
    return History(facts_of(*rows), entities, predicates, np.array(positions, np.int64), lags=LAGS, **options)


def found(history, s, t):
    """(predicate, object, class of lag) of what is found for a subject at a time."""
    rows, places = history.around(np.array([s]), np.array([t]))
    assert (rows == 0).all()
    lag = history.lag(rows, places, np.array([t]))
    return sorted(zip(history.predicate[places].tolist(), history.object[places].tolist(), lag.tolist(), strict=True))


def ids(*values):
    return np.array(values)


def test_a_fact_is_in_the_history_of_both_sides():
    history = history_of((0, 1, 2, 5, 5))
    assert found(history, 0, 5) == [(1, 2, 0)]
    assert found(history, 2, 5) == [(3, 0, 0)]  # 1 + P
    assert found(history, 1, 5) == []


def test_lags_by_hand():
    # At once; after by 1, 3, 4, 8 and more; before by the same.
    assert LAGS.classes(ids(0, 1, 2, 3, 4, 8, 500)).tolist() == [0, 1, 2, 2, 3, 4, 4]
    assert LAGS.classes(ids(-1, -2, -3, -4, -8, -500)).tolist() == [5, 6, 6, 7, 8, 8]
    assert LAGS.count == 11 and (LAGS.undated_fact, LAGS.undated_question) == (9, 10)


def test_lags_are_named():
    names = [LAGS.name(lag, "day") for lag in range(LAGS.count)]
    assert names[:5] == [
        "at that time",
        "1 day after",
        "2 to 3 days after",
        "4 to 7 days after",
        "more than 7 days after",
    ]
    assert names[5] == "1 day before" and names[8] == "more than 7 days before"
    assert names[9] == names[10] == "without a date"


@pytest.mark.parametrize("edges", [(), (0, 1), (3, 1), (1, 1)])
def test_lags_increase_from_one(edges):
    with pytest.raises(BadRequest, match="increasing numbers from 1"):
        Lags(edges)


def test_spans_are_at_their_nearest_end():
    history = history_of((0, 0, 1, 10, 20), (0, 0, 2, OPEN, 10), (0, 0, 3, 20, OPEN), predicates=1)
    assert found(history, 0, 15) == [(0, 1, 0), (0, 2, 7), (0, 3, 3)]  # 10 was 5 before, 20 is 5 after
    assert found(history, 0, 5) == [(0, 1, 3), (0, 2, 0), (0, 3, 4)]
    assert found(history, 0, 50) == [(0, 1, 8), (0, 2, 8), (0, 3, 0)]


def test_facts_and_questions_without_time_have_their_classes():
    history = history_of((0, 0, 1, OPEN, OPEN), (0, 0, 2, 3, 3))
    assert found(history, 0, 3) == [(0, 1, LAGS.undated_fact), (0, 2, 0)]
    assert found(history, 0, 100) == [(0, 1, LAGS.undated_fact), (0, 2, LAGS.undated_question)]


def test_lags_count_units_not_timestamps():
    history = history_of((0, 0, 1, 0, 0), positions=[1900, 1950, 1951])
    assert found(history, 0, 1) == [(0, 1, 8)]  # one timestamp before, but 50 years


def test_only_what_begins_in_the_window_is_found():
    history = history_of((0, 0, 1, 10, 10), (0, 0, 2, 14, 14), (0, 0, 3, 15, 15), window=4)
    assert [o for _, o, _ in found(history, 0, 10)] == [1, 2]
    assert [o for _, o, _ in found(history, 0, 19)] == [3]
    assert found(history, 0, 99) == []


def test_a_busy_subject_has_a_shorter_window():
    rows = [(0, 0, 1 + i % 2, i, i) for i in range(100)] + [(3, 0, 3, 0, 0), (3, 1, 3, 99, 99)]
    history = history_of(*rows, window=40, cap=20)
    assert history.reach.tolist() == [5, 10, 10, 40]  # halved until 2w + 1 days hold at most 20
    rows, _ = history.around(np.zeros(100, np.int64), np.arange(100))
    assert np.bincount(rows).max() <= 20


def test_of_many_facts_without_time_the_first_are_kept():
    history = history_of(*((0, 0, 1 + i % 3, OPEN, OPEN) for i in range(9)), cap=2)
    assert len(found(history, 0, 0)) == 2 and len(found(history, 1, 0)) == 2


def test_the_fact_that_is_asked_for_is_no_evidence():
    history = history_of((0, 0, 1, 5, 5), (0, 0, 1, 6, 6), (0, 1, 1, 5, 5), (2, 0, 2, 5, 5))
    rows, places = history.around(ids(0, 2, 2), ids(5, 5, 5))
    lag = history.lag(rows, places, ids(5, 5, 5))
    left_out = history.is_left_out(rows, places, ids(0, 2, 2), ids(0, 0, 2), lag)
    kept = {
        (int(r), int(q), int(b)) for r, q, b in zip(rows, history.predicate[places], history.begin[places], strict=True)
    }
    gone = {
        (int(rows[i]), int(history.predicate[places[i]]), int(history.begin[places[i]]))
        for i in np.flatnonzero(left_out)
    }
    # Of 0 it is (0, 0, 1, 5); of 2, whose fact is about itself, that fact from both sides, however it is asked.
    assert gone == {(0, 0, 5), (1, 0, 5), (1, 2, 5), (2, 0, 5), (2, 2, 5)}
    assert kept - gone == {(0, 0, 6), (0, 1, 5)}


def test_facts_between_two():
    history = history_of((0, 0, 1, 5, 5), (1, 1, 0, 9, 9), (0, 0, 2, 5, 5))
    rows, places = history.between(ids(0, 1, 2, 1, 3), ids(1, 0, 1, 3, 3))
    assert list(
        zip(rows.tolist(), history.predicate[places].tolist(), history.begin[places].tolist(), strict=True)
    ) == [
        (0, 0, 5),
        (0, 3, 9),
        (1, 2, 5),
        (1, 1, 9),
    ]


def test_an_axis_too_long_for_32_bits():
    """Years of the universe in days: distances are exact, and open ends lie beyond them."""
    history = history_of((0, 0, 1, 0, 0), (0, 0, 2, 2, OPEN), (0, 0, 3, OPEN, 1), positions=[-(1 << 38), 0, 2, 1 << 38])
    assert found(history, 0, 0) == [(0, 1, 0), (0, 2, 4), (0, 3, 0)]
    assert found(history, 0, 1) == [(0, 1, 8), (0, 2, 2), (0, 3, 0)]
    assert found(history, 0, 3) == [(0, 1, 8), (0, 2, 0), (0, 3, 8)]


def test_no_facts_at_all():
    history = history_of(positions=[])
    assert found(history, 0, 0) == []
    assert len(history.between(ids(0), ids(1))[0]) == 0


@st.composite
def cases(draw):
    ends = st.one_of(st.just(OPEN), st.integers(0, 5))
    row = st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3), ends, ends)
    rows = draw(st.lists(row.filter(lambda r: OPEN in r[3:] or r[3] <= r[4]), max_size=12))
    positions = np.cumsum(draw(st.lists(st.integers(1, 5), min_size=6, max_size=6)))
    by = draw(st.sampled_from(["subject", "predicate"]))
    return rows, positions, draw(st.sampled_from([None, 0, 3, 9])), draw(st.sampled_from([None, 1, 4])), by


def test_by_predicate_the_facts_of_others_are_found():
    history = history_of(
        (0, 1, 2, 5, 5), (3, 1, 2, 7, 7), (3, 0, 2, 5, 5), (1, 1, 0, OPEN, OPEN), by="predicate", window=2
    )
    assert found(history, 1, 5) == [(1, 2, 0), (1, 2, 2)]  # not what is under 0, nor what has no time
    assert found(history, 3, 5) == [(3, 0, 0), (3, 3, 2)]  # 1 + P: from the other side
    assert found(history, 1, 9) == [(1, 2, 6)]
    rows, places = history.around(ids(1), ids(5))
    of_subject = history.is_left_out(rows, places, ids(0), ids(1), history.lag(rows, places, ids(5)))
    assert of_subject.tolist() == [True, False]  # only others are looked at
    assert history.fact[places].tolist() == [0, 1]


@given(cases())
def test_both_ways_to_look_find_the_same(case):
    """`around` by owner and time, and `between` by pair with `sees`, agree for every query."""
    rows, positions, window, cap, by = case
    history = history_of(*rows, positions=positions, window=window, cap=cap, by=by)
    for t in range(7):
        for s in range(4):
            _, places = history.around(ids(s), ids(t))
            _, all_places = history.between(np.full(4, s), np.arange(4))
            seen = all_places[history.sees(all_places, np.full(len(all_places), t))]
            assert sorted(places.tolist()) == sorted(seen.tolist())
            assert len(places) == history.counts(ids(s), ids(t))[0]
            if cap is not None and t < 6 and (reach := history.reach[s]) > 0:
                assert (~history.static[places]).sum() <= cap, reach
