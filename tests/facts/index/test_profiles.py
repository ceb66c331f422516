"""Profiles against loops over all facts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.facts.index import profiles as module
from knowwhen.facts.index.history import Lags
from knowwhen.facts.index.profiles import Profiles
from knowwhen.facts.index.spans import FAR
from knowwhen.facts.table import OPEN, Facts
from tests.facts.index.test_links import POSITIONS, ROWS, E, P, T, both_sides


def profiles_of(rows):
    return Profiles(Facts(*np.array(rows, np.int64).reshape(-1, 5).T.copy()), E, P, POSITIONS, Lags((1, 3)))


def naive(rows, p, o, t, without=None):
    """Since the last end, until the next begin, how many hold, how many have no time, and how many there are."""
    spans = [fact[4] for fact in both_sides(rows) if fact[1:3] == (p, o) and fact[0] != without]
    static = spans.count((OPEN, OPEN))
    if t == T:
        return FAR, FAR, static, static, len(spans)
    where, dated = POSITIONS[t], [span for span in spans if span != (OPEN, OPEN)]
    since = [where - POSITIONS[e] for _, e in dated if e != OPEN and POSITIONS[e] < where]
    until = [POSITIONS[b] - where for b, _ in dated if b != OPEN and POSITIONS[b] > where]
    holding = sum((b == OPEN or POSITIONS[b] <= where) and (e == OPEN or POSITIONS[e] >= where) for b, e in dated)
    return min(since, default=FAR), min(until, default=FAR), holding, static, len(spans)


@given(ROWS, st.integers(0, T), st.integers(0, E - 1))
def test_profiles_with_and_without_a_subject_are_those_of_a_loop(rows, t, s):
    profiles = profiles_of(rows)
    pair = np.arange(len(profiles))
    p, o = profiles.pairs // E, profiles.object
    assert {*zip(p.tolist(), o.tolist(), strict=True)} == {fact[1:3] for fact in both_sides(rows)}
    whole = profiles.around(pair, np.full_like(pair, t))
    but, left = profiles.around_but(pair, np.full_like(pair, s), np.full_like(pair, t))
    for i in pair:
        assert (*(column[i] for column in whole), profiles.total[i]) == naive(rows, p[i], o[i], t)
        assert (*(column[i] for column in but), left[i]) == naive(rows, p[i], o[i], t, without=s)


@given(ROWS)
def test_classes_are_the_same_from_a_table_and_without(rows):
    pairs, t = (ids.ravel() for ids in np.indices((len(profiles_of(rows)), T + 1)))
    kept = profiles_of(rows).classes_at(pairs, t)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TABLE", 0)
        assert (profiles_of(rows).classes_at(pairs, t) == kept).all()
    assert (kept < profiles_of(rows).count).all()


def test_facts_behind_a_profile_are_the_nearest_and_those_that_hold():
    rows = [(0, 0, 3, 0, 0), (1, 0, 3, 1, 1), (2, 0, 3, 4, 4), (2, 0, 3, 2, 3), (1, 0, 3, OPEN, OPEN)]
    profiles = profiles_of(rows)
    (pair,), (known,) = profiles.find(np.array([0]), np.array([3]))
    assert known and sorted(profiles.behind(pair, 0, 2)) == [1, 2, 3]  # the last, the next, and what holds
    assert sorted(profiles.behind(pair, 2, 2)) == [1]
    assert sorted(profiles.behind(pair, 0, T)) == [4]
    assert not profiles.find(np.array([1]), np.array([3]))[1].any()
