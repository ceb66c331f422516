"""What callers use: a model and a split in, metrics and their text out."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import knowwhen as kw
from knowwhen.errors import BadRequest
from knowwhen.evaluation import Protocol, evaluate, evaluate_times, rank_report, time_report
from knowwhen.evaluation.evaluate import seen_entities
from knowwhen.evaluation.questions import sample_facts
from knowwhen.models import Sizes, Specification, build
from knowwhen.text import table


@pytest.fixture(scope="module")
def leaders():
    return kw.load("leaders")


@pytest.fixture(scope="module")
def model(leaders):
    spec = Specification("tntcomplex", Sizes.of(leaders), {"rank": 4})
    return build(spec).initialise(torch.Generator().manual_seed(0))


def test_a_split_is_evaluated_under_the_default_protocol(leaders, model):
    metrics = evaluate(model, leaders)
    assert metrics.count == 2 * len(leaders.test)
    assert metrics.protocol == Protocol()
    assert metrics == evaluate(model, leaders)
    assert set(metrics.groups["predicate"]) <= set(leaders.predicates.keys)
    unseen = (~seen_entities(leaders)[np.stack([leaders.test.subject, leaders.test.object])]).any(0).sum()
    assert metrics.groups["entities"]["seen"].count == 2 * (len(leaders.test) - unseen)


def test_groups_by_support_are_reported(leaders, model):
    metrics = evaluate(model, leaders)
    support = metrics.groups["support"]
    assert set(support) == {"same_time", "other_time", "none"}
    assert sum(group.count for group in support.values()) == metrics.count
    text = rank_report(metrics)
    assert all(name in text for name in ("same pair, same time", "same pair, other time", "pair not in train"))


def test_facts_of_train_do_not_support_themselves(leaders, model):
    """A dataset of the facts whose pair occurs once has no support, though each fact is in train."""
    pairs = np.sort(np.stack([leaders.train.subject, leaders.train.object]), axis=0)
    _, place, counts = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    train = leaders.train[counts[place.ravel()] == 1]
    lonely = kw.Dataset("lonely", leaders.entities, leaders.predicates, leaders.timeline, train, test=train)
    assert set(evaluate(model, lonely, "train", sample=50).groups["support"]) == {"none"}
    assert set(evaluate(model, lonely, "test", sample=50).groups["support"]) == {"same_time"}  # a leak is redundancy


def test_a_sample_is_drawn_by_seed(leaders, model):
    first, again, other = (sample_facts(leaders, "test", 20, seed).rows().tolist() for seed in (0, 0, 1))
    assert first == again != other
    assert len({tuple(row) for row in first}) == 20
    assert evaluate(model, leaders, sample=20).count == 40
    assert sample_facts(leaders, "test", 10**9, 0) is leaders.test


@pytest.mark.parametrize(
    ("split", "sample", "message"),
    [
        ("tset", None, "unknown split 'tset'"),
        ("test", 0, "sample is 0; expected at least 1"),
        ("valid", None, "bare has no facts in valid"),
    ],
)
def test_what_cannot_be_evaluated_is_named(leaders, model, split, sample, message):
    bare = kw.Dataset("bare", leaders.entities, leaders.predicates, leaders.timeline, leaders.train, test=leaders.test)
    with pytest.raises(BadRequest, match=message):
        evaluate(model, bare, split, sample=sample)


def test_the_report_has_the_protocol_beside_the_numbers(leaders, model):
    metrics = evaluate(model, leaders, protocol=Protocol(filter="static", times=2, seed=3), sample=50)
    text = rank_report(metrics, predicates=2)
    assert f"{metrics.mrr:.4f}" in text
    assert (
        "filtered at any time, ties half, both directions, mean over 2 sampled times with seed 3, 100 queries" in text
    )
    assert "many ties" not in text


def test_the_report_says_where_ties_matter(leaders, model):
    constant = build(Specification("tntcomplex", model.sizes, {"rank": 1}))
    with torch.no_grad():
        for values in constant.parameters():
            values.zero_()
    assert "many ties: MRR is 0.0" in rank_report(evaluate(constant, leaders, sample=20))


def test_the_report_of_times_has_baselines_and_base_rate(leaders, model):
    metrics = evaluate_times(model, leaders, sample=50)
    text = time_report(metrics)
    header, *_ = text.splitlines()
    assert all(name in header for name in ("model", "median span", "nearest known", "base rate"))
    assert f"{metrics.base_rate:.4f}" in text
    assert text.endswith(metrics.describe())


def test_tables_are_aligned():
    assert table([("", "a", "bc"), ("a long heading",), ("x", "1.0", "2")]) == [
        "     a  bc",
        "a long heading",
        "x  1.0   2",
    ]


def test_a_filter_knows_its_split_and_those_before_so_that_test_reaches_nothing_chosen_on_valid(leaders, model):
    def facts(*splits: str) -> list[list[int]]:
        return [row for split in splits for row in leaders.facts(split).rows().tolist()]

    assert leaders.known_to("test") is leaders.known
    assert leaders.known_to("valid") is leaders.known_to("valid")
    assert leaders.known_to("valid").facts.rows().tolist() == facts("train", "valid")
    assert leaders.known_to("train").facts.rows().tolist() == facts("train")
    with pytest.raises(BadRequest, match="unknown split 'dev'; expected train, valid, test"):
        leaders.known_to("dev")
    for other in (leaders.train, leaders.test[:0]):  # whatever test holds
        assert evaluate(model, replace(leaders, test=other), "valid") == evaluate(model, leaders, "valid")
