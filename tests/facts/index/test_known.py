import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.facts.index.known import KnownFacts
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


def test_known_facts_cannot_be_changed():
    known = KnownFacts(Facts(*np.zeros((5, 1), np.int64)), P)
    for array in (known.facts.object, known._objects):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3


@given(facts(), st.booleans())
def test_known_predicates_are_those_of_a_loop_over_the_facts(facts, timed):
    asked = [(s, o, t) for s in range(E + 1) for o in range(E + 1) for t in range(T + 3)]
    s, o, t = np.array(asked).T
    rows, predicates = KnownFacts(facts, P).predicates(s, o, t if timed else None)
    for i, (s_, o_, t_) in enumerate(asked):
        expected = {p for p in range(P) if o_ in naive_objects(facts, s_, p, t_ if timed else None)}
        assert set(predicates[rows == i].tolist()) == expected


@given(facts(), st.sampled_from([None, T, T + 4]))
def test_known_times_are_the_spans_cut_at_the_ends_of_the_axis(facts, timestamps):
    """Static facts have none."""
    asked = [(s, p, o) for s in range(E + 1) for p in range(P + 1) for o in range(E + 1)]
    found = KnownFacts(facts, P, timestamps).times(*np.array(asked).T)
    table = facts.rows().tolist()
    last = max([OPEN, *(max(row[3:]) for row in table)]) if timestamps is None else timestamps - 1
    expected = [
        (i, max(begin, 0), last if end == OPEN else end)
        for i, key in enumerate(asked)
        for *known, begin, end in table
        if tuple(known) == key and (begin, end) != (OPEN, OPEN)
    ]
    assert sorted(zip(*(column.tolist() for column in found), strict=True)) == sorted(expected)


@given(facts(), st.tuples(*(st.integers(0, n) for n in (E, P - 1, E))))
def test_facts_are_found_as_by_a_look_at_each(facts, asked):
    s, p, o = asked
    known, rows = KnownFacts(facts, P), facts.rows().tolist()
    assert known.with_subject(s, p).rows().tolist() == [row for row in rows if row[:2] == [s, p]]
    assert known.with_object(p, o).rows().tolist() == [row for row in rows if row[1:3] == [p, o]]
    assert known.between(s, o).rows().tolist() == [row for row in rows if [row[0], row[2]] == [s, o]]
    assert known.of(s, p, o).rows().tolist() == [row for row in rows if row[:3] == [s, p, o]]


@given(facts(), st.integers(0, E))
def test_facts_about_an_entity_are_those_of_a_look_at_each(facts, e):
    rows = facts.rows().tolist()
    sides = KnownFacts(facts, P).about(e)
    assert [side.rows().tolist() for side in sides] == [[row for row in rows if row[i] == e] for i in (0, 2)]


def test_nothing_is_indexed_before_it_is_asked_for():
    known = KnownFacts(Facts(*np.zeros((5, 1), np.int64)), P)
    known.with_subject(0, 0)
    assert {name for name in vars(known) if name.startswith("_by")} == {"_by_side"}
