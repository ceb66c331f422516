"""Experiments that are run once, by training or by counting, and go on where they were begun."""

import json
from dataclasses import replace

import pytest

from knowwhen.reproduction import running
from knowwhen.reproduction.experiments import Experiment, Setting, notes_of
from knowwhen.reproduction.link_prediction import TABLE2
from knowwhen.reproduction.machine import commit, peak_memory
from knowwhen.reproduction.numbers import NUMBERS
from knowwhen.reproduction.results import path_of, read_all, write_result
from knowwhen.reproduction.table import Request
from knowwhen.training.notes import sealed, unsealed
from knowwhen.training.run import RunFolder

SMALL = {"model.rank": 4, "training.epochs": 2, "training.batch_size": 500, "validation.every": 1}


@pytest.fixture(scope="module")
def small():
    return Experiment("table2", "tntcomplex", "leaders", SMALL, "knowwhen reproduce x", seed=1, recipe="leaders")


@pytest.fixture
def run(tmp_path):
    return lambda experiment: running.run(experiment, tmp_path / "runs", tmp_path / "results")


def test_an_experiment_is_run_once_and_then_read(small, run, tmp_path):
    first = run(small)
    assert (first.seed, first.rank, first.epochs, first.point) == (1, 4, 2, SMALL)
    assert 0 < first.test["mrr"] < 1 and first.test["times"] is None
    assert (first.settings["recipe"], first.settings["training.seed"]) == ("leaders", 1)
    assert first.settings["dating.passes"] == 0, "no time head is learned where no times are asked for"
    weights = tmp_path / "runs" / small.name / "model" / "weights.safetensors"
    weights.unlink()  # a second training would write it again
    assert run(small) == first
    assert not weights.exists()
    assert read_all(tmp_path / "results") == [first]


def test_a_result_says_how_it_was_made(small, run):
    made = run(small)
    assert (made.command, made.origin, made.threads) == ("knowwhen reproduce x", "run", 1)
    assert "cores" in made.machine and made.commit and 0.1 < made.memory_gb < 30
    assert set(made.versions) >= {"knowwhen", "python", "torch"}
    assert made.numbers == {area: NUMBERS[area] for area in ("training", "validation", "evaluation")}
    assert [point["epoch"] for point in made.curve] == [1, 2] and made.facts_per_second > 0
    assert 0 < made.curve[0]["minutes"] < made.curve[1]["minutes"] < made.minutes + 0.01
    assert made.valid["mrr"] == made.valid_mrr == max(point["mrr"] for point in made.curve)
    assert made.valid["count"] == 2 * 468
    assert made.processor_minutes is not None and 0 <= made.processor_minutes < 1


def test_processor_minutes_are_unknown_where_a_part_was_made_before_they_were_noted(small, run, tmp_path):
    assert run(small).processor_minutes is not None
    timing = tmp_path / "runs" / small.name / "timing.jsonl"
    first, second = map(json.loads, timing.read_text().splitlines())
    timing.write_text(
        f"{json.dumps(first | {'processor_seconds': 90})}\n{json.dumps(second | {'processor_seconds': 45})}\n"
    )
    assert notes_of(RunFolder(timing.parent))["processor_minutes"] == 2.25
    del first["processor_seconds"]
    timing.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    assert notes_of(RunFolder(timing.parent))["processor_minutes"] is None


def test_time_questions_are_asked_where_the_table_wants_them(small, run, quick_time_head):
    asked = replace(small, asks_times=True, directions="objects", point={**SMALL, **quick_time_head})
    measured = run(asked)
    assert set(measured.test["times"]["baselines"]) == {"median_span", "nearest_known", "greedy"}
    assert measured.test["protocol"]["directions"] == "objects" and "dating" in measured.numbers
    static = replace(asked, row="complex", point={**SMALL, "model.name": "complex"})
    assert run(static).test["times"] is None


@pytest.mark.parametrize("is_done", [True, False], ids=["done", "begun"])
def test_a_run_of_other_settings_is_not_taken_for_this_one(small, run, tmp_path, is_done):
    """Also where it is the recipe that has changed since: the run is made in a folder of its own."""
    before = run(small)
    folder = tmp_path / "runs" / small.name
    if not is_done:
        path_of(small, tmp_path / "results").unlink()
    else:
        write_result(replace(before, settings={**before.settings, "training.learning_rate": 0.2}), tmp_path / "results")
    config = folder / "config.toml"
    config.write_text(sealed(unsealed(config.read_text())[0].replace("learning_rate = 0.1", "learning_rate = 0.2")))
    assert run(small).test == before.test
    assert (tmp_path / "runs" / f"{small.name}-2" / "config.toml").is_file()


def test_what_is_computed_otherwise_by_now_is_trained_again(small, run, tmp_path, monkeypatch):
    before = run(small)
    monkeypatch.setitem(NUMBERS, "evidence", 7)
    assert run(small) == before, "it has no evidence"
    monkeypatch.setitem(NUMBERS, "training", 2)
    again = run(small)
    assert again.numbers["training"] == 2
    assert (tmp_path / "runs" / f"{small.name}-training2" / "config.toml").is_file()
    monkeypatch.setitem(NUMBERS, "evaluation", 2)
    assert run(small).numbers == {"training": 2, "validation": 1, "evaluation": 2}
    assert len(list((tmp_path / "runs").iterdir())) == 2, "the model is the same"


def test_an_experiment_that_was_begun_goes_on(small, run, tmp_path):
    whole = run(small)
    half = replace(small, point={**SMALL, "training.epochs": 1})
    running.run(half, tmp_path / "half", tmp_path / "other")
    folder = tmp_path / "half" / small.name
    config, _ = unsealed((folder / "config.toml").read_text())
    (folder / "config.toml").write_text(sealed(config.replace("epochs = 1", "epochs = 2")))
    resumed = running.run(small, tmp_path / "half", tmp_path / "other")
    assert resumed.test == whole.test and not (tmp_path / "half" / f"{small.name}-2").exists()


def test_counting_gives_a_result_without_training(run, tmp_path):
    (planned,) = TABLE2.plan(Request(["icews14"], ["pair-counts"]))
    planned = replace(planned, data="leaders")
    first = run(planned)
    assert (first.row, first.rank, first.epochs, first.point) == ("pair-counts", 0, 0, {Setting.WINDOW: None})
    assert 0 < first.test["mrr"] < 1 and first.valid["mrr"] == first.valid_mrr
    assert first.settings["weights"]["same time"] > 0 and "training" not in first.numbers
    assert first.command == "knowwhen reproduce table2 --dataset icews14 --model pair-counts"
    assert read_all(tmp_path / "results") == [first] == [run(planned)]


def test_the_peak_is_that_of_the_block():
    with peak_memory() as small:
        pass
    with peak_memory() as large:
        list(range(20_000_000))
    assert large.gigabytes > small.gigabytes + 0.3


def test_the_commit_is_that_of_the_checkout():
    assert commit().rstrip("+").isalnum() and 6 < len(commit()) < 14
