import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.facts.index.names import Lookup, Match, normalise

NAMES = [
    "François Mitterrand",
    "Barack Obama",
    "George W. Bush",
    "George H. W. Bush",
    "São_Paulo",
    "Łódź",
    "Q76",
    "France",
]
PEOPLE = Lookup(NAMES)
TEXT = st.text(st.characters(codec="utf-8"), min_size=1)


def names(matches):
    return [match.name for match in matches]


def test_case_accents_and_underscores_do_not_matter():
    assert names(PEOPLE.exact("francois MITTERRAND")) == ["François Mitterrand"]
    assert names(PEOPLE.exact("sao paulo")) == ["São_Paulo"]
    assert names(PEOPLE.exact("lodz")) == ["Łódź"]
    assert PEOPLE.exact("franc") == []


def test_beginnings_find_the_shortest_names_first():
    assert names(PEOPLE.prefix("fran")) == ["France", "François Mitterrand"]
    assert names(PEOPLE.prefix("fran", limit=1)) == ["France"]
    assert PEOPLE.prefix("x") == []


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("francois miterrand", ["François Mitterrand"]),
        ("Barak Obana", ["Barack Obama"]),
        ("Obama", ["Barack Obama"]),
        ("Bush", ["George H. W. Bush", "George W. Bush"]),
        ("zzzz", []),
        ("", []),
    ],
)
def test_near_names_and_parts_of_names_are_found(typed, meant):
    assert sorted(names(PEOPLE.fuzzy(typed))) == meant


def test_keys_and_labels_are_one_thing_each():
    lookup = Lookup(["Q76", "Q142"], ["Barack Obama", None])
    assert lookup.exact("q76") == [Match(0, "Q76")]
    assert lookup.exact("barack obama") == [Match(0, "Barack Obama")]
    assert lookup.search("q") == [Match(0, "Q76"), Match(1, "Q142")]
    same = Lookup(["Obama"], ["obama"])
    assert len(same.exact("obama")) == len(same.search("obama")) == 1


def test_a_search_has_equal_names_before_beginnings_before_near_ones():
    lookup = Lookup(["Gare de Paris", "Madrid", "Paris Hilton", "Paris"])
    assert names(lookup.search("paris")) == ["Paris", "Paris Hilton", "Gare de Paris"]
    assert names(lookup.search("paris", limit=2)) == ["Paris", "Paris Hilton"]


@given(st.lists(TEXT, min_size=1, max_size=20, unique=True))
def test_every_name_finds_itself(some):
    lookup = Lookup(some)
    for i, name in enumerate(some):
        assert i in [match.id for match in lookup.exact(name)]
        assert lookup.search(name, limit=len(some))
        assert i in [match.id for match in lookup.prefix(normalise(name)[:1], limit=len(some))]


@given(st.lists(TEXT, max_size=30), TEXT)
def test_beginnings_are_those_of_a_look_at_each_name(some, start):
    lookup = Lookup(some)
    wanted = {i for i, name in enumerate(some) if normalise(name).startswith(normalise(start))}
    assert {match.id for match in lookup.prefix(start, limit=len(some) + 1)} == wanted


def test_an_empty_vocabulary_finds_nothing():
    assert Lookup([]).search("x") == []


@pytest.mark.slow
def test_half_a_million_names_are_searched_in_milliseconds():
    rng = random.Random(0)
    parts = ["ba", "ra", "ck", "o", "ma", "fran", "cis", "mit", "ter", "and", "lu", "sti", "són", "ville", " ", "de "]
    some = ["".join(rng.choice(parts) for _ in range(rng.randint(3, 9))) for _ in range(500_000)]
    lookup = Lookup(some)
    lookup.search("warm up")
    taken = []
    for name in rng.sample(some, 25):
        before = time.process_time()  # which others do not lengthen
        lookup.search(name[:-1] + "x")
        taken.append(time.process_time() - before)
    assert sorted(taken)[len(taken) // 2] < 0.2  # some 15 ms on a quiet core


def naive_completion(names, typed, weights):
    """All names with a word that begins so, heaviest first."""
    fitting = [i for i, name in enumerate(names) if f" {normalise(typed)}" in f" {normalise(name)}"]
    return sorted(fitting, key=lambda i: -weights[i])


def test_completion_puts_the_heaviest_names_with_such_a_word_first():
    weights = np.array([5, 9, 3, 4, 1, 1, 1, 2])
    assert names(PEOPLE.complete("bush", weights)) == ["George H. W. Bush", "George W. Bush"]
    assert names(PEOPLE.complete("fran", weights, limit=2)) == ["François Mitterrand", "France"]
    assert names(PEOPLE.complete("b", weights)) == ["Barack Obama"]  # of one letter, only names that begin with it
    assert names(PEOPLE.complete("obana", weights)) == ["Barack Obama"]
    assert names(PEOPLE.complete("", weights, limit=2)) == ["Barack Obama", "François Mitterrand"]
    assert names(PEOPLE.complete("q76", weights)) == ["Q76"]


@given(
    st.lists(st.text("ab é_", min_size=1, max_size=8), min_size=1, max_size=8, unique=True), st.text("ab ", min_size=2)
)
def test_completion_is_that_of_a_loop(some, typed):
    weights = np.arange(len(some))[::-1].copy()
    expected = naive_completion(some, typed, weights) if len(normalise(typed)) > 1 else []
    found = [match.id for match in Lookup(some).complete(typed, weights, limit=100)]
    equal = [i for i in range(len(some)) if normalise(some[i]) == normalise(typed)]
    assert sorted(found[: len(equal)]) == equal
    rest = [i for i in expected if i not in equal]
    assert found[len(equal) : len(equal) + len(rest)] == rest
