"""`kw.compare` and `knowwhen compare` on trained models."""

import json
from dataclasses import replace

import numpy as np
import pytest

import knowwhen as kw
from knowwhen.errors import BadRequest
from knowwhen.evaluation import Protocol

SMALL = {"training.epochs": 1, "training.batch_size": 500, "dating.passes": 0}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs on leaders: a small one, and one that learned more."""
    folder, data = tmp_path_factory.mktemp("runs"), kw.load("leaders")
    for name, more in (("a", {"model.rank": 4}), ("b", {"model.rank": 16, "model.undated": "own"})):
        kw.train(data, overrides={**SMALL, **more}, run=folder / name)
    return folder


@pytest.fixture(scope="module")
def found(runs):
    return kw.compare(runs / "a", kw.open(runs / "b"), split="valid", resamples=200)


def test_metrics_are_those_of_an_evaluation(runs, found):
    for name, run, values in zip("ab", found.runs, found.all.values, strict=True):
        model = kw.open(runs / name)
        metrics = model.evaluate("valid").to_dict()
        assert values == pytest.approx({key: metrics[key] for key in values})
        assert (run.name, run.parameters) == (str(runs / name), model.info()["parameters"])
        assert run.minutes is not None and 0 <= run.minutes < 5
        for kind, groups in found.groups.items():
            assert {key: group.count for key, group in groups.items()} == {
                key: group["count"] for key, group in metrics["groups"][kind].items()
            }
    one = found.all.differences[0]["mrr"]
    assert one.value > 0 and one.low < one.value < one.high


def test_the_same_seed_gives_the_same_intervals(runs, found):
    again = kw.compare(runs / "a", runs / "b", split="valid", resamples=200)
    assert again.all == found.all and again.groups == found.groups
    other = kw.compare(runs / "a", runs / "b", split="valid", resamples=200, protocol=Protocol(seed=1))
    assert other.all.differences != found.all.differences


def test_a_sample_of_facts_and_models_without_a_folder(runs, tmp_path):
    models = [replace(kw.open(runs / name), path=None) for name in "ab"]
    told = []
    found = kw.compare(*models, sample=50, resamples=20, progress=lambda *one: told.append(one))
    assert [run.name for run in found.runs] == ["model 1", "model 2"]
    assert (found.all.facts, found.split, found.runs[0].minutes) == (50, "test", None)
    assert [one for one in told if one[1] == one[2]] == [("model 1", 100, 100), ("model 2", 100, 100)]
    assert [run.name for run in kw.compare(*models, sample=50, resamples=1, names=("x", "y")).runs] == ["x", "y"]


def test_what_was_added_later_does_not_count(runs):
    model = replace(kw.open(runs / "b"), path=None)
    more = model.add([("France", "has president", "Somebody New", 2024)])
    assert len(more.dataset.added) == 1
    both = kw.compare(model, more, sample=50, resamples=5)
    assert both.all.values[0] == both.all.values[1]


def resplit(model):
    data = model.dataset
    order = np.random.default_rng(0).permutation(len(data.valid))
    valid, test = data.valid[order], data.test
    n = min(len(valid), len(test)) // 2
    mixed = kw.Facts.concatenate(valid[n:], test[:n]), kw.Facts.concatenate(test[n:], valid[:n])
    return replace(model, dataset=replace(data, valid=mixed[0], test=mixed[1]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (resplit, r"b and \S+a have the same facts in different splits; compare runs of one split"),
        (
            lambda model: replace(model, dataset=model.dataset.without_test),
            r"b has other data than \S+a: leaders with hash \w{12}, not leaders with hash \w{12}; compare runs on",
        ),
    ],
)
def test_other_data_or_splits_are_refused(runs, change, message):
    with pytest.raises(BadRequest, match=message):
        kw.compare(runs / "a", change(kw.open(runs / "b")))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ("x",)}, "1 names for 2 models; expected as many"),
        ({"resamples": 0}, "resamples is 0; expected at least 1"),
        ({"split": "dev"}, "unknown split 'dev'"),
    ],
)
def test_mistakes_are_said(runs, options, message):
    with pytest.raises(BadRequest, match=message):
        kw.compare(runs / "a", runs / "b", **options)
    with pytest.raises(BadRequest, match="1 run to compare; expected at least two"):
        kw.compare(runs / "a")


def test_the_command_prints_a_table_or_json_and_draws(forks, runs, found):
    command = ("compare", "a", "b", "--split", "valid", "--resamples", "200")
    done = forks.run(*command, "--json", "--figure", "f.svg", cwd=runs)
    assert (done.code, done.err) == (0, "")
    values = json.loads(done.out)
    assert values["all"] == json.loads(json.dumps(found.all.to_dict()))
    assert [run["name"] for run in values["runs"]] == ["a", "b"]
    assert "difference in MRR on valid" in (runs / "f.svg").read_text()
    printed = forks.run(*command, cwd=runs).out.splitlines()
    assert printed[1].startswith("a  0.") and "b against a" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a"], "knowwhen: 1 run to compare; expected at least two\n"),
        (["a", "nowhere"], "knowwhen: nowhere holds no run and no model: there is no such folder\n"),
        (["a", "b", "--ties", "won"], "knowwhen: ties is 'won'; expected half, pessimistic, optimistic\n"),
        (["a", "b", "--figure", "f.gif"], "knowwhen: cannot write a figure to 'f.gif'"),
    ],
)
def test_mistakes_on_the_command_line_are_one_line(forks, runs, arguments, message):
    done = forks.run("compare", *arguments, cwd=runs)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(message) and done.err.count("\n") == 1
