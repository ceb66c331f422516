"""The work on a plan: cheapest first, within a budget, over failures and kills."""

import json
import signal
from dataclasses import replace

import pytest

from knowwhen.errors import BadRequest, Diverged, Interrupted, RunError
from knowwhen.reproduction.experiments import Experiment, Setting, count_and_evaluate
from knowwhen.reproduction.results import read_all, write_result
from knowwhen.reproduction.running import run
from knowwhen.reproduction.working import work
from tests.faults.scenarios import make_world


def counting(row, seed=0, measure=count_and_evaluate, data="leaders"):
    return Experiment("table2", row, data, {Setting.WINDOW: 1}, "knowwhen reproduce x", seed, measure=measure)


@pytest.fixture
def done(tmp_path):
    """Names in the order in which a plan was worked on, and the outcome."""

    def start(plan, budget=None):
        told = []
        tell = lambda job, number, runs, hours, left: told.append((job.experiment.name, number, runs))  # noqa: E731
        outcome = work(plan, tmp_path / "runs", tmp_path / "results", tell, budget=budget)
        return told, outcome

    return start


@pytest.fixture
def took(tmp_path):
    """Plants a result that says how many minutes a row takes."""
    example = run(counting("example"), tmp_path / "runs", tmp_path / "results")

    def plant(row, minutes):
        write_result(replace(example, row=row, seed=99, minutes=minutes), tmp_path / "results")

    return plant


def test_the_cheapest_missing_run_comes_first_within_the_budget(done, took):
    for row, minutes in (("slow", 9.0), ("quick", 0.5), ("huge", 600.0)):
        took(row, minutes)
    plan = [counting(row) for row in ("slow", "huge", "quick")]
    told, outcome = done(lambda _: plan, budget=20 * 60)
    assert [(name.split("-")[2], number, left) for name, number, left in told] == [("quick", 1, 3), ("slow", 2, 2)]
    assert [job.experiment.row for job in outcome.left] == ["huge"]
    assert done(lambda _: plan, budget=20 * 60)[0] == [], "the others are done"


def test_what_tables_do_not_show_comes_before_what_is_shown_with_a_mark(done, took, tmp_path):
    took("quick", 0.1), took("slow", 1.0)
    plan = [counting("quick"), counting("slow")]
    old = run(plan[0], tmp_path / "runs", tmp_path / "results")
    write_result(replace(old, numbers={**old.numbers, "validation": 0}), tmp_path / "results")
    told, _ = done(lambda _: plan)
    assert [name for name, *_ in told] == [plan[1].name, plan[0].name]
    assert not any(r.is_provisional for r in read_all(tmp_path / "results"))


def test_a_plan_may_go_on_from_its_results(done):
    """What waits is run once the plan, made anew, says with which settings."""

    def plan(found):
        first, then = counting("first"), counting("then")
        window = next((r.settings["window"] + 6 for r in found if r.row == "first"), None)
        return [first, replace(then, point={Setting.WINDOW: window}, waits=window is None)]

    told, outcome = done(plan)
    assert [(name.split("-")[2], left) for name, _, left in told] == [("first", 1), ("then", 1)]
    assert outcome.left == [] and len(outcome.measured) == 2


def test_a_run_that_fails_does_not_keep_the_others_from_theirs(done):
    def diverges(*_):
        raise Diverged("the loss of epoch 1 is nan")

    plan = [counting("bad", measure=diverges), counting("good")]
    told, outcome = done(lambda _: plan)
    assert len(told) == 2 and outcome.measured == [plan[1].name]
    with pytest.raises(RunError, match=r"1 run failed; table2-leaders-bad-seed0: the loss of epoch 1 is nan"):
        outcome.check()


def test_ctrl_c_ends_the_work_and_says_how_to_go_on(done):
    def stops(*_):
        raise Interrupted("stopped in epoch 2, step 3 of 9 and saved; continue with: knowwhen train --run x --resume")

    with pytest.raises(Interrupted, match="stopped in table2-leaders-long-seed0 and saved; the same command continues"):
        done(lambda _: [counting("long", measure=stops), counting("other")])


def test_data_that_is_not_at_hand_is_left_out(done):
    far = counting("far", data="icews14")
    _, outcome = done(lambda _: [far, counting("near")])
    assert list(outcome.without_data) == ["icews14"]
    outcome.check()
    _, outcome = done(lambda _: [far])
    with pytest.raises(BadRequest, match="dataset 'icews14' is not on this machine"):
        outcome.check()


KILLED = """
import os, signal
from knowwhen.cli import main
from knowwhen.training.run import RunFolder

save, saved = RunFolder.save_checkpoint, set()

def save_and_die(self, *arguments):
    save(self, *arguments)
    saved.add(self.path)
    if len(saved) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

RunFolder.save_checkpoint = save_and_die
main.main()
"""


def test_a_killed_command_goes_on_where_it_was(forks, tmp_path):
    """Killed for good while its second run trains; the same command finishes the rest and repeats nothing."""
    make_world(tmp_path)
    part = ["--dataset", "icews14", "--model", "tntcomplex", "--epochs", "30"]
    asked = ["reproduce", "all", "table2", *part, "--budget", "9h"]
    runs = tmp_path / "runs" / "reproduce" / "epochs30"
    killed = forks.run(*asked, cwd=tmp_path, environment={"KNOWWHEN_DATA": "benchmarks"}, code=KILLED)
    assert killed.code == -signal.SIGKILL
    first = list(runs.glob("results/*/*.json"))
    written = {path: path.stat().st_mtime_ns for path in first}
    log = killed.out + killed.err
    assert len(first) == 1 and "run 2: " in log and "of the budget left" in log and " runs left, about " in log
    again = forks.run(*asked, "--json", cwd=tmp_path, environment={"KNOWWHEN_DATA": "benchmarks"})
    assert again.code == 0, again.err
    printed = json.loads(again.out)
    assert printed["counts"] == {"done": len(printed["runs"])} and printed["hours"] == 0
    assert {path: path.stat().st_mtime_ns for path in first} == written
    folders = [path.name for path in runs.iterdir() if path.name != "results"]
    assert sorted(folders) == sorted(run["name"] for run in printed["runs"]), "the run that was killed went on"
