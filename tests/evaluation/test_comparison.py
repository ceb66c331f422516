"""Comparisons by ranks: the same metrics as an evaluation has, also where models ask differently."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.evaluation import Protocol, Ranks, ask, summarise
from knowwhen.evaluation.bootstrap import Difference
from knowwhen.evaluation.comparison import METRICS, ComparedRun, compare_ranks
from knowwhen.evaluation.support import supports
from knowwhen.models import Sizes

PREDICATES = ["knows", "leads"]
RUNS = [ComparedRun(name, "tensor", 100 * i, 1.5 if i else None) for i, name in enumerate("abc")]


def ranks_of(facts, protocol, seed, undated_row=False):
    questions = ask(facts, Sizes(4, 2, 5, undated_row), protocol)
    rng = np.random.default_rng(seed)
    better, equal = (rng.integers(0, 12, len(questions)) for _ in range(2))
    return Ranks(questions, better, equal, np.zeros(len(questions), np.bool_), protocol)


def compared(facts, train, protocol, undated=(False, False, True), **options):
    ranks = [ranks_of(facts, protocol, seed, row) for seed, row in enumerate(undated)]
    groups = [supports(train, one.questions) for one in ranks]
    found = compare_ranks(RUNS[: len(ranks)], ranks, groups, PREDICATES, "test", resamples=5, **options)
    return found, [summarise(one, PREDICATES, group) for one, group in zip(ranks, groups, strict=True)]


def test_values_and_groups_are_those_of_an_evaluation(tools):
    sizes = Sizes(4, 2, 5)

    @given(
        tools.facts_of(sizes, 1),
        tools.facts_of(sizes),
        st.sampled_from(["sample", "all", 2]),
        st.sampled_from(["both", "objects"]),
    )
    def check(facts, train, times, directions):
        found, metrics = compared(facts, train, Protocol(times=times, directions=directions))
        for i, one in enumerate(metrics):
            assert found.all.values[i] == pytest.approx({key: one.to_dict()[key] for key in METRICS})
            for kind, groups in found.groups.items():
                for name, group in groups.items():
                    theirs = one.groups[kind][name].to_dict()
                    assert group.values[i] == pytest.approx({key: theirs[key] for key in METRICS})
                    assert group.count == pytest.approx(theirs["count"], abs=1)  # several times of a fact may be split
        assert sum(group.facts for group in found.groups["predicate"].values()) == len(facts) == found.all.facts
        for name, one in found.all.differences[1].items():
            assert one.value == pytest.approx(found.all.values[2][name] - found.all.values[0][name])

    check()


@pytest.fixture
def found(tools):
    rows = [(i % 4, i % 2, (i + 1) % 4, i % 5, i % 5) for i in range(40)] + [(0, 0, 1, 0, 3)] * 22
    return compared(tools.table(*rows), tools.table((0, 0, 1, 0, 0)), Protocol())[0]


def test_a_row_for_each_run_in_each_group(found):
    frame = found.to_polars()
    groups = 1 + sum(map(len, found.groups.values()))
    assert len(frame) == 3 * groups
    assert frame.columns[:6] == ["kind", "group", "run", "queries", "facts", "mrr"]
    first = frame.row(0, named=True)
    assert (first["run"], first["mrr_difference"], first["mrr_low"]) == ("a", 0.0, None)
    second = frame.filter(kind="all", run="b").row(0, named=True)
    one = found.all.differences[0]["mrr"]
    assert (second["mrr_difference"], second["mrr_low"], second["mrr_high"]) == (one.value, one.low, one.high)
    few = frame.filter(group="leads", run="b").row(0, named=True)
    assert (few["facts"], few["mrr_low"]) == (20, None)  # too few for an interval


def test_json_has_everything(found):
    values = json.loads(json.dumps(found.to_dict()))
    assert [run["name"] for run in values["runs"]] == ["a", "b", "c"]
    assert values["runs"][1]["mrr"] == found.all.values[1]["mrr"] and values["runs"][1]["parameters"] == 100
    assert Difference(**values["all"]["differences"][1]["hits@10"]) == found.all.differences[1]["hits@10"]
    assert set(values["groups"]) == {"support", "predicate"} and values["resamples"] == 5
    assert values["protocol"]["text"] == found.protocol.describe(124)


def test_the_table_for_people(found):
    lines = str(found).splitlines()
    assert lines[0].split() == ["MRR", "Hits@1", "Hits@3", "Hits@10", "parameters", "minutes"]
    assert lines[1].split() == ["a", *(f"{found.all.values[0][metric]:.4f}" for metric in METRICS), "0"]  # no minutes
    assert lines[2].split()[-2:] == ["100", "1.5"]
    assert "b against a" in lines and "c against a" in lines
    one = found.all.differences[0]["mrr"]
    row = next(line for line in lines if line.startswith("  all"))
    assert row.split()[3:] == [f"{one.value:+.4f}", f"{one.low:+.4f}", "to", f"{one.high:+.4f}", "124"]
    few = next(line for line in lines if line.startswith("  leads"))
    assert len(few.split()) == 5  # without an interval
    assert lines[-1] == "95 % intervals from 5 paired resamples of the facts"
