import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.facts.known import KnownFacts
from knowwhen.facts.table import OPEN, Facts

E, P, T = 4, 2, 5


@st.composite
def facts(draw):
    """Points, intervals, half-open and static facts over few ids, so that they meet."""
    rows = draw(
        st.lists(
            st.tuples(*(st.integers(0, n - 1) for n in (E, P, E)), st.integers(OPEN, T - 1), st.integers(OPEN, T - 1)),
            max_size=30,
        )
    )
    rows = [(s, p, o, min(b, e), max(b, e)) if OPEN not in (b, e) else (s, p, o, b, e) for s, p, o, b, e in rows]
    return Facts(*np.array(rows, dtype=np.int64).reshape(-1, 5).T.copy())


def naive_objects(facts: Facts, s: int, p: int, t: int | None) -> set[int]:
    """The definition: every fact whose span holds t, asked from the subject's side or, for p + P, the object's."""
    found = set()
    for subject, predicate, object, begin, end in facts.rows().tolist():
        holds = t is None or ((begin == OPEN or begin <= t) and (end == OPEN or t <= end))
        if holds and (subject, predicate) == (s, p):
            found.add(object)
        if holds and (object, predicate + P) == (s, p):
            found.add(subject)
    return found


@given(facts(), st.booleans())
def test_known_objects_are_those_of_a_loop_over_the_facts(facts, timed):
    known = KnownFacts(facts, P)
    # T + 2 lies after everything that is known: only open ends reach it.
    queries = [(s, p, t) for s in range(E) for p in range(2 * P) for t in (range(T + 3) if timed else [0])]
    s, p, t = np.array(queries).T
    rows, objects = known.objects(s, p, t if timed else None)
    for i, query in enumerate(queries):
        assert set(objects[rows == i].tolist()) == naive_objects(facts, *query[:2], query[2] if timed else None)


def test_a_begin_at_the_first_timestamp_is_not_an_unknown_begin():
    columns = np.array([[0, 0, 1, 0, 2], [0, 0, 2, OPEN, 2]]).T.copy()
    facts = Facts(*columns)
    assert facts.is_interval.tolist() == [True, False]
    assert facts.is_half_open.tolist() == [False, True]


def test_known_facts_cannot_be_changed():
    known = KnownFacts(Facts(*np.zeros((5, 1), np.int64)), P)
    with pytest.raises(ValueError, match="read-only"):
        known._event_objects[0] = 3


@given(facts())
def test_every_fact_is_of_exactly_one_kind(facts):
    kinds = [facts.is_event, facts.is_interval, facts.is_half_open, facts.is_static]
    assert (np.sum(kinds, axis=0) == 1).all()
