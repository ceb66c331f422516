"""Results of several machines merged: run folders of earlier versions, folders of results, and what wins."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from knowwhen.cli.main import app
from knowwhen.errors import BadRequest, RunError
from knowwhen.reproduction import running
from knowwhen.reproduction.experiments import Experiment
from knowwhen.reproduction.link_prediction import TABLE2
from knowwhen.reproduction.merging import check_merged, merge
from knowwhen.reproduction.numbers import NUMBERS
from knowwhen.reproduction.results import read_all
from knowwhen.reproduction.table import Request

LATER = ("numbers", "memory_gb", "origin", "valid", "curve", "facts_per_second", "threads", "versions", "series")


@pytest.fixture
def one(of_plan):
    """A result of table 2 as it is measured today."""
    (experiment,) = TABLE2.plan(Request(["icews14"], ["tntcomplex"]))
    return of_plan(experiment)


def merged(store, *folders):
    return [(one.fate, one.about) for one in merge(list(folders), store)]


def test_folders_of_results_are_added_once(one, plant, tmp_path):
    """A store, or a folder of runs that has its results beside them."""
    here, there, beside = tmp_path / "here", tmp_path / "there", tmp_path / "runs"
    plant(there, one, replace(one, seed=1))
    plant(beside / "results", replace(one, seed=2))
    assert merged(here, there, beside) == [("added", "")] * 3
    assert {r.seed for r in read_all(here)} == {0, 1, 2}
    assert merged(here, there) == [("same", "")] * 2


def test_a_run_folder_of_earlier_versions_is_completed_from_its_files(tmp_path):
    """result.json lay in the folder of a run, and lacked what the folder tells."""
    small = {"model.rank": 4, "training.epochs": 2, "training.batch_size": 500, "validation.every": 1}
    experiment = Experiment("table2", "tntcomplex", "leaders", small, "knowwhen reproduce x", recipe="leaders")
    whole = running.run(experiment, tmp_path / "runs", tmp_path / "measured")
    values = {name: value for name, value in whole.to_dict().items() if name not in LATER}
    (tmp_path / "runs" / whole.name / "result.json").write_text(json.dumps(values))
    assert merged(tmp_path / "store", tmp_path / "runs") == [("added", "")]
    (read,) = read_all(tmp_path / "store")
    assert replace(read, memory_gb=whole.memory_gb, versions=whole.versions) == whole
    assert set(read.versions) >= {"python", "torch"}, "as the run noted them"
    alone = tmp_path / "moved" / "run"
    alone.mkdir(parents=True)
    (alone / "result.json").write_text(json.dumps(values))
    assert merged(tmp_path / "other", alone) == [("added", "")], "without the rest of the folder"
    assert read_all(tmp_path / "other")[0].curve == []


def test_the_newer_numbers_win(one, plant, tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    plant(here, one)
    monkeypatch.setitem(NUMBERS, "training", 2)
    plant(there, replace(one, numbers={**one.numbers, "training": 2}, valid_mrr=0.9))
    assert merged(here, there) == [("replaced", "measured by newer code")]
    assert read_all(here)[0].valid_mrr == 0.9
    plant(there, one)
    assert merged(here, there) == [("older", "the stored one was measured by newer code")]


def test_todays_settings_win(one, plant, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    old = replace(one, settings={**one.settings, "training.learning_rate": 0.7}, valid_mrr=0.9)
    plant(here, old), plant(there, one)
    assert merged(here, there) == [("replaced", "today's settings")] and read_all(here) == [one]
    plant(there, old)
    assert merged(here, there) == [("older", "the stored one has today's settings")] and read_all(here) == [one]


def test_two_values_of_an_experiment_are_an_error_beyond_rounding(one, plant, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    plant(here, one)
    plant(there, replace(one, valid_mrr=one.valid_mrr + 9e-5))
    assert merged(here, there) == [("same", "")] and read_all(here) == [one]
    plant(there, replace(one, test={**one.test, "mrr": 0.5512}))
    fates = merge([there], here)
    kept = "test MRR 0.5500 stored, 0.5512 there; kept the stored one: delete it and merge again to take the other"
    assert [(one.fate, one.about) for one in fates] == [("differs", kept)] and read_all(here) == [one]
    with pytest.raises(RunError, match=rf"table2-icews14-tntcomplex-seed0 differs in .*there.*: {kept}"):
        check_merged(fates)


def test_a_measured_result_replaces_what_was_read_off_a_page(one, plant, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    plant(here, replace(one, origin="page", test={**one.test, "hits@1": None}))
    plant(there, one)
    assert merged(here, there) == [("replaced", "all digits")] and read_all(here) == [one]
    plant(there, replace(one, origin="page"))
    assert merged(here, there) == [("same", "")] and read_all(here) == [one]


def test_the_command_merges_and_says_what_became_of_each(one, plant, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    plant(here, one)
    plant(there, replace(one, seed=1), replace(one, valid_mrr=0.1))
    asked = ["reproduce", "merge", str(there), "--results", str(here)]
    printed = CliRunner().invoke(app, [*asked, "--json"])
    assert json.loads(printed.stdout)["counts"] == {"differs": 1, "added": 1} and isinstance(
        printed.exception, RunError
    )
    again = CliRunner().invoke(app, asked)
    assert "differs: table2-icews14-tntcomplex-seed0 (valid MRR 0.5600 stored, 0.1000 there; kept " in again.stdout
    assert again.stdout.splitlines()[-1] == "1 differs, 1 same"


@pytest.mark.parametrize("is_checkout", [True, False])
def test_results_go_to_the_docs_of_a_checkout_or_beside_the_runs(one, plant, tmp_path, is_checkout):
    plant(tmp_path / "there", one)
    if is_checkout:
        (tmp_path / "docs" / "results").mkdir(parents=True)
    CliRunner().invoke(app, ["reproduce", "merge", "there"], catch_exceptions=False)
    assert read_all(tmp_path / ("docs/results" if is_checkout else "runs/reproduce/results")) == [one]


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("nowhere", "no folder .*nowhere; expected one of runs, such as runs/reproduce, or of results"),
        ("", "has no results: neither NAME/result.json nor TABLE/NAME.json"),
    ],
)
def test_folders_without_results(folder, message, tmp_path):
    with pytest.raises(BadRequest, match=message):
        merge([tmp_path / folder], tmp_path / "store")


def test_merge_needs_a_folder(tmp_path):
    with pytest.raises(BadRequest, match="name the folders to merge: knowwhen reproduce merge runs/reproduce"):
        merge([], tmp_path)
