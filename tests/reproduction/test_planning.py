"""The plan of all tables: what is done, outdated, provisional, missing or waiting, and how long the rest takes."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from knowwhen.cli.main import app
from knowwhen.cli.reproduce import parse_budget
from knowwhen.errors import BadRequest
from knowwhen.reproduction.estimates import BESIDE, SHAPES, estimated_hours
from knowwhen.reproduction.link_prediction import TABLE2
from knowwhen.reproduction.numbers import NUMBERS
from knowwhen.reproduction.planning import State, current, jobs, plan_rows, whole_plan
from knowwhen.reproduction.table import Request
from knowwhen.reproduction.tables import TABLES


def planned(**asked):
    return TABLE2.plan(TABLE2.complete(Request(**asked)))


def states(plan, found):
    return [job.state for job in jobs(plan, found)]


def test_the_whole_plan_has_each_experiment_once_and_every_table():
    plan = whole_plan(())
    assert len({e.name for e in plan}) == len(plan)
    shown = {name for table in TABLES.values() for name in table.shows or (table.name,)} - {"params"}
    assert {e.table for e in plan} == shown
    assert {e.name for e in whole_plan((), [TABLE2])} < {e.name for e in plan}


def test_a_plan_is_narrowed_to_what_is_asked_for():
    some = whole_plan((), asked=Request(["leaders"], seeds=0))
    assert {(e.table, e.data) for e in some} == {("evidence", "leaders"), ("figure2", "leaders"), ("times", "leaders")}
    assert {e.row for e in whole_plan((), asked=Request(["yago15k"], ["complex"], seeds=0))} >= {"complex"}
    quick = whole_plan((), [TABLE2], Request(["icews14"], ["complex"], seeds=2, epochs=3))
    assert {(e.seed, e.point["training.epochs"]) for e in quick} == {(0, 3), (1, 3)}
    assert whole_plan((), [TABLE2], Request(["leaders"], seeds=0)) == []


def test_states_of_experiments(of_plan, monkeypatch):
    done, other, missing = planned(datasets=["icews14"])
    found = [of_plan(done), replace(of_plan(other), settings={**of_plan(other).settings, "model.rank": 3})]
    assert states([done, other, missing], found) == [State.DONE, State.OUTDATED, State.MISSING]
    waiting = replace(done, waits=True)
    assert states([waiting], found) == [State.WAITING]
    monkeypatch.setitem(NUMBERS, "validation", 2)
    assert states([done], found) == [State.PROVISIONAL]
    why = jobs([other], found)[0].why
    assert why == "other settings (model.rank)"


def test_tables_show_what_is_not_outdated(of_plan, result):
    """By the plan where it has the experiment, else by the recipe of the result itself."""
    one, other, extra = planned(datasets=["icews14"])
    good, bad = of_plan(one), replace(of_plan(other), settings={**of_plan(other).settings, "model.rank": 3})
    more = replace(of_plan(extra), seed=9, settings={**of_plan(extra).settings, "training.seed": 9})
    assert current([good, bad, more]) == [good, more]
    changed = replace(more, settings={**more.settings, "training.epochs": 3})
    assert current([changed]) == []
    quick = [of_plan(e) for e in planned(datasets=["icews14"], epochs=3)]
    assert current(quick) == [] and current(quick, epochs=3) == quick


def test_hours_come_from_results_of_the_same_model(of_plan):
    one, other = planned(datasets=["icews14"], models=["tntcomplex"], seeds=2)
    assert estimated_hours(other, [of_plan(one, minutes=60.0, epochs=25)]) == pytest.approx(BESIDE * 60 * 50 / 25 / 60)
    (counting,) = planned(datasets=["icews14"], models=["pair-counts"])
    assert estimated_hours(counting, [of_plan(counting, minutes=6.0, epochs=0)]) == pytest.approx(0.1)
    assert 0 < estimated_hours(counting, []) < 0.1


def test_hours_come_from_what_a_step_costs_where_no_result_is_alike(of_plan):
    base, large = planned(datasets=["icews14"])[2], planned(datasets=["icews14"], large=True)[2]
    bigger = planned(datasets=["icews05-15"])[2]
    assert estimated_hours(large, []) > estimated_hours(base, [])
    assert estimated_hours(bigger, []) > 3 * estimated_hours(base, [])
    sampled = replace(base, point={"objective.sampling": "uniform"})
    assert estimated_hours(sampled, []) < 0.5 * estimated_hours(base, [])
    slow = [of_plan(base, minutes=60 * 2 * estimated_hours(base, []) / BESIDE, epochs=50)]
    assert estimated_hours(bigger, slow) == pytest.approx(2 * estimated_hours(bigger, [])), "a machine half as fast"
    assert set(SHAPES) >= {data for table in TABLES.values() for data in table.datasets}


def test_a_row_of_the_plan_counts_its_runs(of_plan):
    seeds = planned(datasets=["icews14"], models=["complex"], seeds=3)
    header, row = plan_rows(jobs(seeds, [of_plan(seeds[0])]))
    cells = dict(zip(header, row, strict=True))
    assert (cells["table"], cells["row"], cells["runs"]) == ("table2", "complex", "3")
    assert (cells["done"], cells["missing"], cells["outdated"], cells["hours left"] > "0") == ("1", "2", "", True)


def test_the_command_without_a_table_prints_the_plan(tmp_path, of_plan, plant):
    one, *_ = planned(datasets=["icews14"])
    plant(tmp_path / "stored", of_plan(one))
    asked = ["reproduce", "--results", str(tmp_path / "stored"), "--dataset", "icews14"]
    printed = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    runs = {run["name"]: run for run in printed["runs"]}
    assert runs[one.name]["state"] == "done" and runs[one.name]["hours"] == 0
    assert printed["counts"]["done"] == 1 and printed["hours"] > 1
    assert all(run["command"].startswith("knowwhen reproduce ") for run in runs.values())
    lines = CliRunner().invoke(app, asked).stdout.splitlines()
    assert lines[-1].startswith(f"{len(runs)} runs: 1 done, ") and lines[-1].endswith(" hours left")
    part = CliRunner().invoke(app, ["reproduce", "plan", "table2", *asked[1:]]).stdout.splitlines()
    assert {line.split()[0] for line in part[1:-1]} == {"table2"}


@pytest.mark.parametrize(("text", "seconds"), [("2h", 7200), ("90m", 5400), ("1.5h", 5400), ("45s", 45), ("1d", 86400)])
def test_budgets(text, seconds):
    assert parse_budget(text) == seconds


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["all", "--budget", "long"], "--budget 'long' is not a time; expected a number with s, m, h or d, such as 2h"),
        (["all", "--dataset", "gdelt"], "no table has such datasets or models; `knowwhen reproduce plan` without them"),
        (["plan", "tabel2"], "no table 'tabel2'"),
        (["table2", "table3"], "table2 takes no 'table3'; `knowwhen reproduce all TABLE…` runs several tables"),
        (["all", "--large"], "--large, --sampled and --figure need a single table, not all"),
        (["table2", "--dataset", "icews14"], "dataset 'icews14' is not on this machine; .*`knowwhen data get icews14`"),
    ],
)
def test_what_cannot_be_planned_or_run(asked, message):
    with pytest.raises(BadRequest, match=message):
        CliRunner().invoke(app, ["reproduce", *asked], catch_exceptions=False)
