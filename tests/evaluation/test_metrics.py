"""Numbers from ranks: by hand, and groups that partition."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.errors import BadRequest
from knowwhen.evaluation import Protocol, Ranks, ask, summarise
from knowwhen.evaluation.metrics import RankScores, group_rows
from knowwhen.facts.table import OPEN
from knowwhen.models import Sizes

SIZES = Sizes(4, 2, 5)


@pytest.fixture(scope="session")
def ranked(tools):
    @st.composite
    def draw_ranks(draw):
        facts = draw(tools.facts_of(SIZES, 1))
        protocol = Protocol(
            times=draw(st.sampled_from(["sample", "all", 2])), directions=draw(st.sampled_from(["both", "objects"]))
        )
        queries = ask(facts, SIZES, protocol)
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        better, equal = (rng.integers(0, 20, len(queries)) for _ in range(2))
        unseen = (rng.random(len(facts)) < 0.3)[queries.fact]
        return Ranks(queries, better, equal, unseen, protocol)

    return draw_ranks()


def ranks_of(tools, better, equal, protocol=None, **columns):
    """Ranks of events, one query each."""
    n = len(better)
    facts = columns.pop("facts", None) or tools.table(*[(0, 0, 0, 0, 0)] * n)
    queries = ask(facts, SIZES, Protocol(directions="objects"))
    unseen = np.array(columns.pop("unseen", [False] * n))
    return Ranks(queries, np.array(better), np.array(equal), unseen, protocol or Protocol(directions="objects"))


def test_three_ranks_by_hand(tools):
    metrics = summarise(ranks_of(tools, better=[0, 1, 9], equal=[0, 2, 2]))  # ranks 1, 3, 11
    assert metrics.mrr == pytest.approx((1 + 1 / 3 + 1 / 11) / 3)
    assert (metrics.hits_at_1, metrics.hits_at_3, metrics.hits_at_10) == pytest.approx((1 / 3, 2 / 3, 2 / 3))
    assert metrics.mean_rank == pytest.approx(5)
    assert metrics.count == 3
    assert metrics.mrr_pessimistic == pytest.approx((1 + 1 / 4 + 1 / 12) / 3)
    assert metrics.mrr_optimistic == pytest.approx((1 + 1 / 2 + 1 / 10) / 3)


@pytest.mark.parametrize(("ties", "mrr"), [("half", 1 / 2), ("pessimistic", 1 / 3), ("optimistic", 1)])
def test_ties_are_counted_as_the_protocol_says(tools, ties, mrr):
    assert summarise(ranks_of(tools, [0], [2], Protocol(ties=ties, directions="objects"))).mrr == pytest.approx(mrr)


def test_the_mean_over_a_span_is_the_mean_of_reciprocal_ranks_and_hits(tools):
    facts = tools.table((0, 0, 1, 0, 1), (0, 0, 1, 3, 3))
    protocol = Protocol(times="all", directions="objects")
    queries = ask(facts, SIZES, protocol)  # the first fact at 0 and 1, the second at 3
    metrics = summarise(Ranks(queries, np.array([0, 3, 1]), np.zeros(3), np.zeros(3, bool), protocol))
    assert metrics.mrr == pytest.approx(((1 + 1 / 4) / 2 + 1 / 2) / 2)
    assert metrics.hits_at_1 == pytest.approx((1 / 2 + 0) / 2)
    assert metrics.count == 2


def test_groups_of_one_kind_hold_every_query_once(ranked):
    @given(ranked)
    def run(ranks):
        for groups in group_rows(ranks).values():
            assert (np.sum(list(groups.values()), axis=0) == 1).all()

    run()


def test_group_means_recombine_to_the_mean(ranked):
    @given(ranked)
    def run(ranks):
        metrics = summarise(ranks)
        for groups in metrics.groups.values():
            assert sum(group.count for group in groups.values()) == metrics.count
            for field in fields(RankScores):
                mean = sum(getattr(g, field.name) * g.count for g in groups.values()) / metrics.count
                assert field.name == "count" or mean == pytest.approx(getattr(metrics, field.name))

    run()


def test_groups_are_named(tools):
    facts = tools.table((0, 0, 1, 0, 0), (0, 1, 1, 0, 2), (0, 1, 1, 2, OPEN), (0, 1, 1, OPEN, OPEN))
    ranks = ranks_of(tools, [0, 1, 2, 3], [0] * 4, facts=facts, unseen=[False, False, False, True])
    metrics = summarise(ranks, ["born in", "knows"])
    mrr = {kind: {name: g.mrr for name, g in groups.items()} for kind, groups in metrics.groups.items()}
    assert mrr["kind"] == pytest.approx({"event": 1, "interval": 1 / 2, "half_open": 1 / 3, "static": 1 / 4})
    assert mrr["predicate"] == pytest.approx({"born in": 1, "knows": (1 / 2 + 1 / 3 + 1 / 4) / 3})
    assert mrr["entities"] == pytest.approx({"seen": (1 + 1 / 2 + 1 / 3) / 3, "unseen": 1 / 4})
    assert mrr["direction"] == pytest.approx({"objects": metrics.mrr})
    assert metrics.t_mrr == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert metrics.nt_mrr == pytest.approx(1 / 4)


def test_support_is_a_kind_of_group_where_it_is_known(tools):
    ranks = ranks_of(tools, [0, 1, 3], [0] * 3)
    same, other = np.array([True, False, False]), np.array([False, True, True])
    metrics = summarise(ranks, None, {"same_time": same, "other_time": other, "none": np.zeros(3, bool)})
    assert metrics.to_dict()["groups"]["support"]["other_time"]["mrr"] == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert set(metrics.groups["support"]) == {"same_time", "other_time"}  # the empty one is left out
    assert "support" not in summarise(ranks).groups


def test_a_begin_at_the_first_timestamp_is_time_information(tools):
    metrics = summarise(ranks_of(tools, [0], [0], facts=tools.table((0, 0, 1, 0, OPEN))))
    assert metrics.t_mrr == 1 and metrics.nt_mrr is None


def test_metrics_are_json_with_their_protocol(tools):
    found = json.loads(json.dumps(summarise(ranks_of(tools, [0, 1], [0, 0])).to_dict(), allow_nan=False))
    assert {"mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "count", "protocol", "groups"} <= set(found)
    assert found["protocol"]["text"] == (
        "filtered at the query's time, ties half, objects only, times sampled with seed 0, 2 queries"
    )
    assert found["groups"]["direction"]["objects"]["hits@1"] == 0.5


def test_no_facts_are_an_error(tools):
    ranks = ranks_of(tools, [0], [0])
    with pytest.raises(BadRequest, match="no facts to evaluate"):
        summarise(replace(ranks, questions=ranks.questions[:0]))
