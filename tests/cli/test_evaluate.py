"""`knowwhen evaluate`, run as a user runs it."""

import json

import pytest
from typer.testing import CliRunner

import knowwhen as kw
from knowwhen.cli.main import app


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    kw.train("leaders", run=folder, overrides={"model.rank": 4, "training.epochs": 3, "training.batch_size": 500})
    return folder


def test_json_has_the_numbers_and_the_protocol(knowwhen, run):
    done = knowwhen("evaluate", run, "--split", "test", "--json")
    values = json.loads(done.stdout)
    assert values["count"] == 2 * 435
    assert 0 < values["hits@1"] < values["mrr"] < values["hits@10"] < 1
    assert values["protocol"]["filter"] == "time"
    assert values["mrr"] == kw.open(run).evaluate("test").mrr  # twice the same
    assert done.stderr == ""


def test_people_see_groups_time_questions_and_the_protocol(knowwhen, run):
    done = knowwhen("evaluate", run, "--split", "valid", "--time-questions", "--directions", "objects")
    assert done.returncode == 0
    assert "objects only" in done.stdout
    assert "T-MRR" in done.stdout
    assert "median span" in done.stdout


def test_what_will_take_long_is_said_up_front(run, monkeypatch):
    monkeypatch.setattr("knowwhen.cli.evaluate.LARGE", 10)
    done = CliRunner().invoke(app, ["evaluate", str(run), "--sample", "30", "--times", "4", "--json"])
    assert f"240 queries take {240 * 1487:.1e} scores; --sample" in done.stderr
    assert json.loads(done.stdout)["count"] == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--times", "some"], "knowwhen: --times is 'some'; expected sample, all or a number"),
        (["--ties", "lucky"], "knowwhen: ties is 'lucky'; expected half, pessimistic, optimistic"),
        (["--split", "dev"], "knowwhen: unknown split 'dev'; expected train, valid, test"),
        (["--sample", "0"], "knowwhen: sample is 0; expected at least 1"),
    ],
)
def test_mistakes_are_one_line(knowwhen, run, arguments, message):
    done = knowwhen("evaluate", run, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
