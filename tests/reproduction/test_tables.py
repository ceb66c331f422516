"""Tables, figures and the page, made of planted results."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from knowwhen.cli.main import app
from knowwhen.errors import BadRequest
from knowwhen.evaluation.times import EventTimes, IntervalTimes, TimeMetrics, TimeScores
from knowwhen.facts.dates import Granularity
from knowwhen.reproduction import penalties, report, results, running
from knowwhen.reproduction.dates import OTHERS, TIMES
from knowwhen.reproduction.link_prediction import EVIDENCE, STDDEV, TABLE2
from knowwhen.reproduction.penalties import FIGURE1, TABLE3
from knowwhen.reproduction.sampling import SAMPLING
from knowwhen.reproduction.table import Request
from knowwhen.reproduction.table4 import TABLE4
from knowwhen.reproduction.tables import TABLES
from knowwhen.reproduction.times import FIGURE2, WIKIDATA


def table3(names, of_plan, epochs=None):
    """Results of table 3 and figure 1 by the folders of their runs, with scores on valid and test."""
    plans = {e.name: e for table in (TABLE3, FIGURE1) for e in table.plan(Request(["icews14"], epochs=epochs))}
    return [
        of_plan(plans[f"table3-icews14-{name}-seed0"], valid_mrr=valid, mrr=test, epochs=epochs or 10)
        for name, (valid, test) in names.items()
    ]


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_every_table_shows_what_it_plans(table, of_plan):
    plan = table.plan(table.complete(Request(seeds=2)))
    found = [of_plan(experiment) for experiment in plan]
    assert len(table.rows([])) == 1 or not plan  # a header alone
    assert table.of(found) == found and len(table.rows(found)) > 1
    page = report.results_page(found)
    assert f"\n## {table.title}\n" in page
    assert all(f"| `{experiment.command}` |" in page for experiment in plan)


def test_seeds_are_a_mean_and_a_spread_beside_the_paper(result):
    seeds = [result(), result(0.57, seed=1)]
    scores = ("2", "0.5600 ± 0.0141", "0.56", "+0.000", "0.400", "0.600", "0.700")
    assert TABLE2.rows(seeds)[1] == ("icews14", "tntcomplex", "156", *scores)
    assert STDDEV.rows(seeds)[1] == ("icews14", "2", "0.5600", "0.0141", "0.0016")
    assert len(STDDEV.rows(seeds[:1])) == 1  # one seed has no spread


def test_the_baseline_has_no_rank_and_nothing_beside_it(result):
    row = TABLE2.rows([result(), result(row="pair-counts", rank=0)])[2]
    assert row[:7] == ("icews14", "pair-counts", "", "1", "0.5500", "", "")


def test_evidence_is_reported_by_support_beside_what_has_none(result):
    ours = [result(mrr, table="evidence", row="unioncomplex+evidence", seed=i) for i, mrr in enumerate((0.6, 0.7))]
    header, *rows = EVIDENCE.rows([result(), *ours])
    assert header[-3:] == ("same_time", "other_time", "none")
    assert rows[0] == ("icews14", "tntcomplex", "2,624,856", "1", "0.5500", "0.4000", "0.7000", "0.900", "", "0.100")
    assert rows[1][1:5] == ("unioncomplex+evidence", "2,624,856", "2", "0.6500 ± 0.0707")


def test_valid_chooses_never_test(of_plan):
    weak, best = table3({"omega3-w0.01": (0.50, 0.99), "omega3-w0.1": (0.53, 0.55)}, of_plan)
    header, row = TABLE3.rows([weak, best, replace(weak, data="yago15k", valid_mrr=0.6)])[:2]
    assert row == ("icews14", "omega3", "0.1", "0.01, 0.1", "10", "0.5300", "0.5500", "0.65")
    assert len(header) == len(row)


def test_the_order_of_penalties_is_set_against_the_papers(of_plan):
    tests = {
        "none-w0": 0.50,
        "delta2-w0.01": 0.51,
        "delta3-w0.1": 0.52,
        "omega3-w0.03": 0.55,
        "omega3+lambda4-t1": 0.56,
    }
    some = table3({name: (0.5, mrr) for name, mrr in tests.items()}, of_plan)
    assert penalties.order_note(some) == ""  # one is missing
    alike, other = ([*some, *table3({"delta4-w0.3": (0.5, mrr)}, of_plan)] for mrr in (0.53, 0.5075))
    assert penalties.order_note(alike) == "On icews14 the order of the penalties is the paper's."
    note = penalties.order_note(other)
    assert note.startswith("On icews14 the order of the penalties is not the paper's:")
    assert "delta2 above delta4 by 0.0025 (paper: below by 0.01)" in note
    assert "omega3" not in note
    assert note in report.results_page(other)


def test_wikidata_shows_time_questions_where_they_were_measured(result):
    fit = IntervalTimes({"aeIOU@1": 0.2, "gaeIOU@1": 0.1, "TAC@1": 0.4}, 3)
    ours, trivial = TimeScores(EventTimes(0.6, 7.5, 2), fit, fit, 0.3, 0.9), TimeScores(None, None, None, 0.15, 0.25)
    counts = dict.fromkeys(("event", "interval", "half_open", "static"), 1)
    times = TimeMetrics(ours, {"median_span": trivial}, 0.1, 0.1, counts, Granularity.YEAR, "valid").to_dict()
    point = {"model.rank": 100, "regularizer.embedding_weight": 0.03}
    planted = {"table": "wikidata", "point": point, "tried": tuple(point)}
    header, static, timed, baseline = WIKIDATA.rows(
        [result(row="complex", **planted), result(row="tntcomplex", times=times, **planted)]
    )
    measured = ("rank100 w0.03", "50", "0.5600", "0.5500", "0.5000", "")
    assert static == ("complex", *measured, *[""] * 7)
    assert timed == ("tntcomplex", *measured, "0.6000", "7.5000", "0.2000", "0.1000", "0.4000", "0.3000", "0.9000")
    assert baseline == ("(median span)", *[""] * 11, "0.1500", "0.2500")
    assert len({len(row) for row in (header, static, timed, baseline)}) == 1


def test_sampling_is_set_against_the_full_softmax_of_the_same_seeds(result):
    def seeds(row, mrrs, minutes):
        return [result(mrr, table="sampling", row=row, seed=i, minutes=minutes) for i, mrr in enumerate(mrrs)]

    full, sampled = seeds("full", [0.5, 0.6], 10.0), seeds("k1024", [0.498, 0.6, 0.9], 3.0)
    _, *rows = SAMPLING.rows([*sampled, *full])
    assert rows[0][1:] == ("all", "50", "2", "0.5500 ± 0.0707", "", "10.0", "")
    assert rows[1][1:4] == ("1,024", "50", "3") and rows[1][5:] == ("-0.0010", "3.0", "0.30")  # the third has no pair
    assert SAMPLING.rows(sampled)[1][5:] == ("", "3.0", "")


def test_table_4_splits_by_time_and_chooses_on_valid(of_plan):
    plan = [e for e in TABLE4.plan(TABLE4.complete(Request())) if e.row == "tcomplex"]
    trials = [of_plan(e, valid_mrr=v, mrr=m) for e, v, m in zip(plan, (0.2, 0.4, 0.3), (0.9, 0.5, 0.6), strict=True)]
    row = TABLE4.rows(trials)[1]
    chosen = ("politicians", "tcomplex", "156", "w0.01")
    assert row == (*chosen, "0.4000", "0.5000", "", "0.5000", "12.5", "0.42 / 0.45 / 0.30")


def test_the_page_holds_what_was_run_and_how(result, of_plan):
    page = report.results_page([result(), *table3({"omega3+lambda3-t0.1": (0.56, 0.55)}, of_plan)])
    assert "| icews14 | tntcomplex | 156 | 1 | 0.5500 | 0.56 | -0.010 |" in page
    assert "| icews14 | lambda3 | 0.1 | 0.5600 | 0.5500 |" in page
    assert "2 cores, 24 GB | abc1234 | `knowwhen reproduce table2 --dataset icews14 --model tntcomplex` |" in page
    assert "| table3 | icews14 | omega3+lambda3 t0.1 | 0 |" in page
    assert "never edited by hand" in page
    assert "Table 3" not in page  # nothing was run for it


def test_curves_are_drawn_by_the_weight_of_their_point(tmp_path, plant, of_plan):
    scores = {"omega3-w0.03": 0.5, "omega3-w0.1": 0.9, "omega3+lambda4-t10": 0.6, "omega3+lambda4-t0.1": 0.55}
    plant(tmp_path, *table3({name: (mrr, 0.5) for name, mrr in scores.items()}, of_plan))
    found = results.read_all(tmp_path)
    curves = {name: [(w, r.valid_mrr) for w, r in curve] for name, curve in penalties.strengths(found).items()}
    assert curves == {"lambda4": [(0.0, 0.5), (0.1, 0.55), (10.0, 0.6)]}
    assert FIGURE1.draw(found, ["yago15k", "icews14"], tmp_path / "figure1.svg")
    assert "Λ4" in (tmp_path / "figure1.svg").read_text()
    assert not FIGURE1.draw(found, ["yago15k"], tmp_path / "empty.svg")
    report.write_page(found, tmp_path / "page.md")
    assert "(results-figure1.svg)\n" in (tmp_path / "page.md").read_text()
    assert {path.name for path in tmp_path.glob("results-*")} == {"results-figure1.svg"}  # nothing was run for figure 2


def test_figure_2_shows_the_presidents_of_france(tmp_path):
    (planned,) = FIGURE2.plan(Request())
    small = {"model.rank": 4, "training.epochs": 1, "training.batch_size": 500, "dating.passes": 0}
    running.run(replace(planned, point=small), tmp_path / "runs", tmp_path / "results")
    shutil.rmtree(tmp_path / "runs")  # a result outlives its model
    found = results.read_all(tmp_path / "results")
    assert FIGURE2.draw(found, ["leaders"], tmp_path / "figure2.svg")
    (drawn,) = (axes for axes in FIGURE2.figure(found).axes)
    assert [line.get_label() for line in drawn.lines] == found[0].series["objects"]
    assert "Mitterrand" in (tmp_path / "figure2.svg").read_text()
    assert FIGURE2.rows(found)[1][:3] == ("leaders", "tntcomplex", "4")
    assert not FIGURE2.draw([replace(found[0], series=None)], ["leaders"], tmp_path / "none.svg")


def test_the_command_reports_a_page_with_figures_and_keeps_quick_looks_apart(tmp_path, plant, of_plan):
    runs, page = tmp_path / "runs", tmp_path / "results.md"
    plant(runs / "results", *table3({"omega3-w0.03": (0.5, 0.5), "omega3+lambda4-t1": (0.5, 0.5)}, of_plan))
    plant(runs / "epochs2/results", *table3({"none-w0": (0.5, 0.5)}, of_plan, epochs=2))
    asked = ["reproduce", "figure1", "--only-report", "--runs", str(runs), "--json"]
    done = CliRunner().invoke(app, [*asked, "--out", str(page)])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert [row["weight"] for row in printed["rows"]] == ["0", "1"]
    assert [r["point"]["regularizer.time_weight"] for r in printed["results"]] == [1.0, 0.0]
    assert "![Figure 1" in page.read_text() and (tmp_path / "results-figure1.svg").is_file()
    assert (runs / "figure1.svg").is_file()
    quick = CliRunner().invoke(app, ["reproduce", "table3", *asked[2:], "--epochs", "2"])
    assert [(row["penalty"], row["epochs"]) for row in json.loads(quick.stdout)["rows"]] == [("none", "2")]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["tabel2"], "no table 'tabel2'; there are params, table2, .*; did you mean 'table2'?"),
        (["figure2", "--only-report"], "no results to draw: run `knowwhen reproduce figure2` without --only-report"),
    ],
)
def test_what_the_command_cannot_do(asked, message, tmp_path):
    with pytest.raises(BadRequest, match=message):
        CliRunner().invoke(app, ["reproduce", *asked, "--runs", str(tmp_path)], catch_exceptions=False)


def test_the_help_names_every_table():
    shown = CliRunner().invoke(app, ["reproduce", "--help"], env={"COLUMNS": "200"}).output
    assert all(name in shown for name in TABLES)


def test_the_command_prints_the_ranks_of_the_paper(tmp_path):
    command = [sys.executable, "-c", "from knowwhen.cli.main import main; main()", "reproduce", "params", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    rows = json.loads(done.stdout)["rows"]
    assert len(rows) == 9
    assert all(row["rank"] == row["paper's rank"] for row in rows)


def test_dates_are_means_over_seeds_beside_what_they_are_compared_with(result):
    """By hand: two seeds of the time head, one trivial answer, and the published row."""

    def times(aeiou, ece):
        fits = {"aeIOU@1": aeiou, "gaeIOU@1": 0.2, "TAC@1": 0.3, "count": 9}
        ends = {"coverage": 0.8}
        own = {"events": None, "intervals": fits, "closed": fits, "begins": ends, "ends": ends}
        return {"model": own, "baselines": {"median_span": {**own, "begins": None}}, "holds": {"ece": ece}}

    seeds = [
        result(0.3 + i / 10, table="times", row="time head", data="wikidata12k", seed=i, times=times(a, e))
        for i, (a, e) in enumerate(((0.4, 0.02), (0.5, 0.04)))
    ]
    header, own, *others = TIMES.rows(seeds)
    cells = dict(zip(header, own, strict=True))
    assert cells["closed: aeIOU@1"] == cells["intervals: aeIOU@1"] == "0.4500 ± 0.0707"
    assert cells["in 80 % range: begin"] == "0.8000 ± 0.0000" and cells["events: MRR"] == ""
    assert (cells["holds: ECE"], cells["test MRR"], cells["seeds"]) == ("0.0300 ± 0.0141", "0.3500 ± 0.0707", "2")
    assert [row[1] for row in others] == [*OTHERS.values(), "TIMEPLEX, as published"]
    trivial, published = (dict(zip(header, others[i], strict=True)) for i in (1, -1))
    assert trivial["closed: aeIOU@1"] == "0.4500 ± 0.0707" and trivial["in 80 % range: begin"] == ""
    assert published["closed: aeIOU@1"] == "0.2636" and published["seeds"] == published["test MRR"] == ""
