"""Experiments that are run once, by training or by counting, and their results read again."""

import json
from dataclasses import replace

import pytest

from knowwhen.errors import RunError
from knowwhen.reproduction import results
from knowwhen.reproduction.experiments import Experiment, Setting
from knowwhen.reproduction.link_prediction import TABLE2
from knowwhen.reproduction.table import Request
from knowwhen.training.notes import sealed, unsealed

SMALL = {"model.rank": 4, "training.epochs": 2, "training.batch_size": 500, "dating.passes": 0}


@pytest.fixture(scope="module")
def small():
    return Experiment("table2", "tntcomplex", "leaders", SMALL, "knowwhen reproduce x", seed=1, recipe="leaders")


def test_an_experiment_is_run_once_and_then_read(small, tmp_path):
    first = results.run(small, tmp_path)
    assert (first.seed, first.rank, first.epochs, first.point) == (1, 4, 2, SMALL)
    assert (first.command, first.folder) == ("knowwhen reproduce x", tmp_path / small.name)
    assert 0 < first.test["mrr"] < 1 and first.test["times"] is None
    assert (first.settings["recipe"], first.settings["training.seed"]) == ("leaders", 1)
    assert "cores" in first.machine and first.commit
    weights = tmp_path / small.name / "model" / "weights.safetensors"
    weights.unlink()  # a second training would write it again
    assert results.run(small, tmp_path) == first
    assert not weights.exists()
    assert results.read_all(tmp_path) == [first]


def test_time_questions_are_asked_where_the_table_wants_them(small, tmp_path, quick_time_head):
    asked = replace(small, asks_times=True, directions="objects", point={**SMALL, **quick_time_head})
    measured = results.run(asked, tmp_path)
    assert set(measured.test["times"]["baselines"]) == {"median_span", "nearest_known", "greedy"}
    assert measured.test["protocol"]["directions"] == "objects"
    static = replace(asked, row="complex", point={**SMALL, "model.name": "complex"})
    assert results.run(static, tmp_path).test["times"] is None


@pytest.mark.parametrize("is_done", [True, False], ids=["done", "begun"])
def test_a_run_of_other_settings_is_not_taken_for_this_one(small, tmp_path, is_done):
    """Also where it is the recipe that has changed since."""
    results.run(small, tmp_path)
    folder = tmp_path / small.name
    if not is_done:
        (folder / results.FILE).unlink()
    config = folder / "config.toml"
    config.write_text(sealed(unsealed(config.read_text())[0].replace("learning_rate = 0.1", "learning_rate = 0.2")))
    with pytest.raises(RunError, match=r"was run with other settings \(training.learning_rate\); move it away"):
        results.run(small, tmp_path)


def test_an_experiment_that_was_begun_goes_on(small, tmp_path):
    whole = results.run(small, tmp_path / "whole")
    half = replace(small, point={**SMALL, "training.epochs": 1})
    results.run(half, tmp_path / "half")
    folder = tmp_path / "half" / small.name
    (folder / results.FILE).unlink()
    config, _ = unsealed((folder / "config.toml").read_text())
    (folder / "config.toml").write_text(sealed(config.replace("epochs = 1", "epochs = 2")))
    resumed = results.run(small, tmp_path / "half")
    assert resumed.test == whole.test


def test_counting_gives_a_result_without_training(tmp_path):
    (planned,) = TABLE2.plan(Request(["icews14"], ["pair-counts"]))
    first = results.run(replace(planned, data="leaders"), tmp_path)
    assert (first.row, first.rank, first.epochs, first.point) == ("pair-counts", 0, 0, {Setting.WINDOW: None})
    assert 0 < first.test["mrr"] < 1 and 0 < first.valid_mrr < 1
    assert first.settings["weights"]["same time"] > 0
    assert first.command == "knowwhen reproduce table2 --dataset icews14 --model pair-counts"
    assert results.read_all(tmp_path) == [first] == [results.run(replace(planned, data="leaders"), tmp_path)]


def test_a_result_of_an_earlier_version_is_refused(small, tmp_path):
    done = results.run(small, tmp_path)
    path = tmp_path / small.name / results.FILE
    path.write_text(json.dumps({"table": "table2", "row": "tntcomplex", "choice": "", "cores": 2, "gigabytes": 24}))
    with pytest.raises(RunError, match=r"result.json is of an earlier version; delete it, and its run is measured aga"):
        results.read_all(tmp_path)
    path.unlink()
    assert results.run(small, tmp_path).test == done.test
