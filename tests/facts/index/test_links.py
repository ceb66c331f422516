"""Links against loops over all facts: groups, windows of bounded size, and classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.facts.index import links as module
from knowwhen.facts.index.history import Lags
from knowwhen.facts.index.links import Links, count_class
from knowwhen.facts.table import OPEN, Facts

E, P, T = 4, 2, 5
POSITIONS = np.array([0, 1, 2, 5, 9])
ENDS = st.one_of(st.just(OPEN), st.integers(0, T - 1))
ROWS = st.lists(
    st.tuples(st.integers(0, E - 1), st.integers(0, P - 1), st.integers(0, E - 1), ENDS, ENDS).filter(
        lambda row: OPEN in row[3:] or row[3] <= row[4]
    ),
    max_size=12,
)


def links_of(rows):
    return Links(Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy()), E, P, POSITIONS, Lags((1, 3)))


def anchor(row):
    """Its begin, or its end where that is unknown; None without time."""
    at = row[3] if row[3] != OPEN else row[4]
    return None if at == OPEN else POSITIONS[at]


def told(links, place):
    return links.subject[place], links.predicate[place], links.object[place], links.fact[place]


def both_sides(rows):
    return [fact for i, (s, p, o, b, e) in enumerate(rows) for fact in ((s, p, o, i, (b, e)), (o, p + P, s, i, (b, e)))]


@pytest.mark.parametrize("table", [0, module.LARGE_TABLE], ids=["searched for", "in a table"])
@given(ROWS)
def test_groups_hold_the_facts_of_their_subject_and_predicate(table, rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGE_TABLE", table)
        links = links_of(rows)
        for s, p in np.ndindex(E, 2 * P):
            (start,), (stop,) = links.group(np.array([s]), np.array([p]))
            found = sorted(told(links, place) for place in range(start, stop))
            assert found == sorted(fact[:4] for fact in both_sides(rows) if fact[:2] == (s, p))
        for place, (start, stop) in enumerate(zip(*links.siblings, strict=True)):
            keys = {(int(links.subject[i]), int(links.predicate[i])) for i in range(start, stop)}
            assert keys == {(int(links.object[place]), int(links.inverse(links.predicate[place])))}
        assert all(links.fact[links.places_of[side][i]] == i for side in (0, 1) for i in range(len(rows)))


@given(ROWS, st.integers(0, E - 1), st.integers(0, T), st.integers(1, 3))
def test_of_a_busy_subject_the_nearest_facts_are_found_and_no_more(rows, s, t, most):
    links = links_of(rows)
    where, undated = links.at(np.array([t]))
    _, places = links.near(np.array([s]), where, undated, most)
    own = [(fact[:4], anchor((0, 0, 0, *fact[4]))) for fact in both_sides(rows) if fact[0] == s]
    found = {told(links, place): links.static[place] for place in places}
    assert set(found) <= {fact for fact, _ in own} and len(found) == len(places)
    dated = [at for _, at in own if at is not None]
    assert sum(not static for static in found.values()) == min(most, len(dated))
    assert sum(found.values()) == min(most, len(own) - len(dated))
    _, every = links.near(np.array([s]), where, undated, 0)
    assert sorted(told(links, place) for place in every) == sorted(fact for fact, _ in own)


@given(ROWS, st.integers(0, 2 * P - 1), st.integers(0, T - 1), st.integers(1, 3))
def test_a_window_is_a_stretch_around_a_time(rows, p, t, most):
    links = links_of(rows)
    where, undated = links.at(np.full(E, t))
    start, stop = links.group(np.arange(E), np.full(E, p))
    first, last = links.window(start, stop, where, undated, most)
    assert (last - first == np.minimum(stop - start, most)).all()
    assert (first >= start).all() and (last <= stop).all()
    for i in np.flatnonzero(stop - start > most):
        before = (links.anchor[start[i] : stop[i]] < where[i]).sum() + start[i]
        # The time lies inside, as long as there are facts on either side.
        assert first[i] <= before <= last[i]


def test_classes_of_spans_and_counts():
    rows = [(0, 0, 1, 0, 1), (0, 0, 2, 2, 2), (0, 0, 3, 4, OPEN), (1, 0, 2, OPEN, OPEN), (1, 1, 2, 1, 3)]
    links = links_of(rows)
    place = links.places_of[0]
    pairs = [(0, 1), (0, 2), (0, 4), (0, 3), (1, 2), (2, 2)]  # apart by 1, by 8, not, no time, by 7, not
    found = links.overlap(*(place[list(ids)] for ids in zip(*pairs, strict=True)))
    assert found.tolist() == [1, 4, 0, 6, 4, 0]
    assert count_class(np.array([0, 1, 2, 3, 4, 2047, 2048, 9999])).tolist() == [0, 0, 1, 1, 2, 10, 11, 11]
    assert links.between(np.array([0, 1, 0]), np.array([0, 2, 1]), np.array([1, 0, 1])).tolist() == [1, 1, 0]
