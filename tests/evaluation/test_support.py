"""Support of a question in training: by its definition, by hand, and on a benchmark."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import knowwhen as kw
from knowwhen.evaluation import Protocol, ask
from knowwhen.evaluation.support import supports
from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import Sizes

SIZES = Sizes(4, 2, 5)


def naive_support(train: Facts, fact: list[int], t: int, itself: bool) -> str:
    """The definition, one training fact after the other."""
    rows = train.rows().tolist()
    if itself:
        rows.remove(fact)  # once
    s, _, o, begin, end = fact
    about = [(b, e) for s_, _, o_, b, e in rows if {s_, o_} == {s, o}]
    if not about:
        return "none"
    for b, e in about:
        static = b == e == OPEN
        if static if begin == end == OPEN else not static and b <= t and (e == OPEN or t <= e):
            return "same_time"
    return "other_time"


@pytest.fixture(scope="session")
def cases(tools):
    @st.composite
    def draw_case(draw):
        sizes = Sizes(draw(st.integers(1, 4)), 2, draw(st.integers(1, 5)), draw(st.booleans()))
        protocol = Protocol(times=draw(st.sampled_from(["sample", "all", 2])))
        train = draw(tools.facts_of(sizes, 1))
        itself = draw(st.booleans())
        return sizes, protocol, train, train if itself else draw(tools.facts_of(sizes, 1)), itself

    return draw_case()


def test_support_is_its_definition(cases):
    @given(cases)
    def run(case):
        sizes, protocol, train, facts, itself = case
        queries = ask(facts, sizes, protocol)
        groups = supports(train, queries, itself=itself)
        assert (np.sum(list(groups.values()), axis=0) == 1).all()  # a partition
        rows = facts.rows().tolist()
        for i, (fact, t) in enumerate(zip(queries.fact.tolist(), queries.t.tolist(), strict=True)):
            assert groups[naive_support(train, rows[fact], t, itself)][i]

    run()


def test_by_hand(tools):
    train = tools.table((0, 0, 1, 2, 2), (2, 0, 3, OPEN, OPEN), (3, 1, 1, 3, OPEN))
    asked = {
        (1, 1, 0, 2, 2): "same_time",  # the other way round, under another predicate
        (0, 0, 1, 3, 3): "other_time",
        (2, 1, 3, 0, 0): "other_time",  # without time is at no time
        (3, 1, 2, OPEN, OPEN): "same_time",  # both are without
        (1, 0, 3, 4, 4): "same_time",  # the open end
        (1, 0, 3, 2, 2): "other_time",
        (0, 0, 2, 2, 2): "none",
    }
    facts = tools.table(*asked)
    groups = supports(train, ask(facts, SIZES, Protocol(directions="objects")))
    assert [[name for name, rows in groups.items() if rows[i]] for i in range(len(facts))] == [
        [name] for name in asked.values()
    ]


def test_both_directions_of_a_fact_have_the_same_support(cases):
    @given(cases)
    def run(case):
        sizes, protocol, train, facts, itself = case
        queries = ask(facts, sizes, protocol)
        for rows in supports(train, queries, itself=itself).values():
            assert rows[queries.asks_subject].tolist() == rows[~queries.asks_subject].tolist()

    run()


def test_most_of_icews14_is_supported(real_data):
    data = kw.load(real_data("icews14"))
    sizes = Sizes(len(data.entities), len(data.predicates), len(data.timeline))
    groups = supports(data.train, ask(data.test, sizes, Protocol()))
    shares = {name: rows.mean() for name, rows in groups.items()}
    assert shares == pytest.approx({"same_time": 0.42, "other_time": 0.43, "none": 0.15}, abs=0.01)
