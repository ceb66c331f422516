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
from knowwhen.reproduction import report, results, running
from knowwhen.reproduction.convergence import CONVERGENCE
from knowwhen.reproduction.dates import OTHERS, TIMES
from knowwhen.reproduction.evidence import BEST, EVIDENCE
from knowwhen.reproduction.link_prediction import STDDEV, TABLE2
from knowwhen.reproduction.sampling import SAMPLING
from knowwhen.reproduction.table import Request
from knowwhen.reproduction.table4 import TABLE4
from knowwhen.reproduction.tables import TABLES
from knowwhen.reproduction.times import FIGURE2, WIKIDATA, spans


def plan(table, datasets=(), models=(), **asked):
    return table.plan(table.complete(Request(datasets, models, **asked)))


def rows_header(table):
    return table.rows([])[0]


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_every_table_shows_what_it_plans(table, of_plan):
    plan = table.plan(table.complete(Request(seeds=2)))
    curve = [{"epoch": 1, "minutes": 1.0, "mrr": 0.5}]
    found = [of_plan(experiment, curve=curve) for experiment in plan]
    assert len(table.rows([])) == 1 or not plan  # a header alone
    if not plan:  # it shows others
        found = [of_plan(*TABLE2.plan(Request(["icews14"], ["tntcomplex"])))] if table.shows else []
    assert table.of(found) == found and len(table.rows(found)) > 1
    assert all(len(row) == len(table.rows([])[0]) for row in table.rows(found))
    page = report.results_page(found)
    assert f"\n## {table.title}\n" in page
    assert all(f"| `{experiment.command}` |" in page for experiment in plan)


def test_seeds_are_a_mean_and_a_spread_beside_the_paper(result):
    seeds = [result(), result(0.57, seed=1)]
    scores = ("2", "0.5600 ± 0.0141", "0.56", "+0.000", "0.400 (0.46)", "0.600 (0.61)", "0.700 (0.74)")
    assert TABLE2.rows(seeds)[1] == ("icews14", "tntcomplex", "156", "full", *scores, "12.5", "")
    assert STDDEV.rows(seeds)[1] == ("icews14", "full", "2", "0.5600", "0.0141", "0.0016")
    assert len(STDDEV.rows(seeds[:1])) == 1  # one seed has no spread


def test_the_baseline_has_no_rank_and_nothing_beside_it(result):
    row = TABLE2.rows([result(), result(row="pair-counts", rank=0, settings={})])[2]
    assert row == ("icews14", "pair-counts", "", "", "1", "0.5500", "", "", "0.400", "0.600", "0.700", "12.5", "")


def test_sampled_and_large_rows_are_beside_the_papers_of_their_size(of_plan):
    plans = [plan(TABLE2, ["icews14"], ["tcomplex"], **asked)[0] for asked in ({"sampled": True}, {"large": True})]
    _, sampled, large = TABLE2.rows([of_plan(e, memory_gb=2.0) for e in plans])
    assert (sampled[1], sampled[3], sampled[6]) == ("tcomplex-sampled", "1,024 negatives", "0.56")
    assert (large[1], large[3], large[6], large[-1]) == ("tcomplex-x10", "1,024 negatives", "0.61", "2.0")


def test_what_is_not_known_is_left_empty_and_what_is_provisional_is_marked(result):
    """As of results that were read off an earlier page."""
    unknown = {"hits@1": None, "hits@3": None, "hits@10": None, "support": {}, "protocol": None}
    seeds = [result(seed=seed, origin="page") for seed in (0, 1)]
    seeds = [replace(r, test={**r.test, **unknown}) for r in seeds]
    row = TABLE2.rows(seeds)[1]
    assert (
        row[1] == "tntcomplex †"
        and row[5] == "0.5500 ± 0.0000"
        and row[8:] == ("(0.46)", "(0.61)", "(0.74)", "12.5", "")
    )
    assert EVIDENCE.rows(seeds)[1][5:11] == ("", "", "", "", "", "")
    page = report.results_page(seeds)
    assert "\n† Provisional, to be measured again: " in page and "| table2 | icews14 | tntcomplex † | 0 |" in page


def test_deviations_of_facts_with_and_without_a_time_are_over_the_chosen_weight(of_plan):
    seeds = plan(TABLE4, ["politicians"], ["tntcomplex"], seeds=2)
    scores = {"w0.003": (0.1, 0.2), "w0.01": (0.3, 0.5), "w0.03": (0.7, 0.9)}
    found = [of_plan(e, valid_mrr=0.5 if e.choice == "w0.01" else 0.1) for e in seeds]
    found = [replace(r, test={**r.test, "t_mrr": scores[r.choice][r.seed], "nt_mrr": 0.4}) for r in found]
    _, timed, static = STDDEV.rows(found)
    assert timed == ("politicians, T-MRR", "2,048 negatives", "2", "0.4000", "0.1414", "0.0035")
    assert static == ("politicians, NT-MRR", "2,048 negatives", "2", "0.4000", "0.0000", "0.0012")


def test_evidence_is_reported_by_support_beside_what_has_none(result):
    ours = [result(mrr, table="evidence", row="unioncomplex+evidence", seed=i) for i, mrr in enumerate((0.6, 0.7))]
    header, *rows = EVIDENCE.rows([result(), *ours])
    assert header[-5:] == ("same_time", "other_time", "none", "not that day", "minutes")
    scores = ("0.5500", "0.4000", "0.7000", "0.900", "", "0.100")
    assert rows[0] == ("icews14", "tntcomplex", "2,624,856", "1", *scores, "0.100", "12.5")
    assert rows[1][1:5] == ("unioncomplex+evidence", "2,624,856", "2", "0.6500 ± 0.0707")


def test_wikidata_shows_time_questions_where_they_were_measured(result):
    fit = IntervalTimes({"aeIOU@1": 0.2, "gaeIOU@1": 0.1, "TAC@1": 0.4}, 3)
    ours, trivial = TimeScores(EventTimes(0.6, 7.5, 2), fit, fit, 0.3, 0.9), TimeScores(None, None, None, 0.15, 0.25)
    counts = dict.fromkeys(("event", "interval", "half_open", "static"), 1)
    times = TimeMetrics(ours, {"median_span": trivial}, 0.1, 0.2, counts, Granularity.YEAR, "valid").to_dict()
    point = {"model.rank": 100, "regularizer.embedding_weight": 0.03}
    planted = {"table": "wikidata", "point": point, "tried": tuple(point)}
    header, static, timed, baseline = WIKIDATA.rows(
        [result(row="complex", **planted), result(row="tntcomplex", times=times, **planted)]
    )
    measured = ("rank100 w0.03", "50", "0.5600", "0.5500", "0.5000", "")
    assert static == ("complex", *measured, *[""] * 9)
    answers = ("0.6000", "7.5000", "0.2000", "0.1000", "0.4000", "0.3000", "0.1000", "0.9000", "0.2000")
    assert timed == ("tntcomplex", *measured, *answers)
    assert baseline == ("(median span)", *[""] * 11, "0.1500", "", "0.2500", "")
    assert len({len(row) for row in (header, static, timed, baseline)}) == 1


def test_facts_without_one_of_their_pair_that_day_are_both_other_groups(result):
    groups = {
        "same_time": {"mrr": 0.9, "count": 5},
        "other_time": {"mrr": 0.6, "count": 30},
        "none": {"mrr": 0.1, "count": 10},
    }
    one = result()
    row = EVIDENCE.rows([replace(one, test={**one.test, "support": groups})])[1]
    assert row[-2] == "0.475", "(30 × .6 + 10 × .1) / 40"


def test_ours_stands_among_the_best_published(result):
    ours = result(0.655, table="evidence", row="unioncomplex+evidence+correction", parameters=2_613_838)
    _, *rows = BEST.rows([result(), ours])
    names = [row[1] for row in rows]
    assert names[:2] == ["**unioncomplex+evidence+correction**", "TPAR (2024)"] and names[-1] == "**tntcomplex**"
    assert (
        rows[0][2:6] == ("2.6 M parameters", "0.655", "0.400", "0.700") and "`knowwhen reproduce table2" in rows[0][6]
    )
    assert all(row[6] for row in rows) and {row[0] for row in rows} == {"icews14"}
    assert "Raw ranks" in report.results_page([result()]) and BEST.rows([]) == [rows_header(BEST)]


def test_convergence_is_read_off_the_validations_of_results(result, tmp_path):
    curve = [{"epoch": e, "minutes": m, "mrr": mrr} for e, m, mrr in ((5, 2.0, 0.4), (10, 4.0, 0.499), (15, 6.0, 0.5))]
    full = result(curve=curve, facts_per_second=27_000.0)
    seeds = [full, replace(full, seed=1), result(row="tntcomplex-sampled")]
    header, row = CONVERGENCE.rows(seeds)
    shown = dict(zip(header, row, strict=True))
    assert (shown["model"], shown["best valid MRR"], shown["after minutes"]) == ("TNTComplEx", "0.5000", "6.0")
    assert (shown["99% of it after"], shown["facts/s"]) == ("4.0", "27,000")
    (axes,) = CONVERGENCE.figure(seeds).axes
    assert [list(line.get_xdata()) for line in axes.lines] == [[2.0, 4.0, 6.0]] and axes.get_xscale() == "log"
    assert CONVERGENCE.figure([replace(full, curve=[])]) is None


def test_the_loss_over_timestamps_is_set_against_the_paper(result):
    def times(auc, ap):
        model = {"events": None, "intervals": None, "auc_pr_paper": auc, "average_precision": ap}
        return {"model": model, "baselines": {}, "base_rate": 0.1, "base_rate_paper": 0.2}

    alone = result(0.31, table="wikidata", times=times(0.05, 0.3))
    both = result(0.33, table="wikidata", row="tntcomplex with time loss", times=times(0.32, 0.45))
    note = WIKIDATA.note([alone, both])
    assert "MRR +0.0200 (paper: -0.01), macro AUC-PR as the paper defines it 0.05 to 0.32 (paper, " in note
    assert "0.92 to 0.98), average precision on dated facts 0.30 to 0.45." in note
    assert WIKIDATA.note([alone]) == ""
    assert WIKIDATA.note([replace(alone, test={**alone.test, "times": None}), both]).endswith("(paper: -0.01).")


def test_sampling_is_set_against_the_full_softmax_of_the_same_seeds(result):
    def seeds(row, mrrs, minutes):
        return [result(mrr, table="sampling", row=row, seed=i, minutes=minutes) for i, mrr in enumerate(mrrs)]

    full, sampled = seeds("full", [0.5, 0.6], 10.0), seeds("k1024", [0.498, 0.6, 0.9], 3.0)
    _, *rows = SAMPLING.rows([*sampled, *full])
    assert rows[0][1:] == ("all", "50", "2", "0.5500 ± 0.0707", "", "10.0", "")
    assert rows[1][1:4] == ("1,024", "50", "3") and rows[1][5:] == ("-0.0010", "3.0", "0.30")  # the third has no pair
    assert SAMPLING.rows(sampled)[1][5:] == ("", "3.0", "")


def test_table_4_splits_by_time_and_chooses_on_valid(of_plan):
    weights, scores = plan(TABLE4, models=["tntcomplex"]), ((0.2, 0.9), (0.4, 0.5), (0.3, 0.6))
    trials = [
        of_plan(e, valid_mrr=v, mrr=m, facts_per_second=9_100.0) for e, (v, m) in zip(weights, scores, strict=True)
    ]
    row = TABLE4.rows(trials)[1]
    measured = ("50", "0.4000", "0.5000", "", "0.5000", "0.44 / 0.47 / 0.32", "12.5", "9,100", "5,600")
    assert row == ("politicians", "tntcomplex", "156", "w0.01", *measured)


def test_the_page_holds_what_was_run_and_how(result):
    page = report.results_page([result(threads=2, memory_gb=1.5)])
    assert "| icews14 | tntcomplex | 156 | full | 1 | 0.5500 | 0.56 | -0.010 |" in page
    made = "| 0 | 0.5600 | 0.5500 | 50 | 12.5 | 1.5 | 2 cores, 24 GB, 2 threads | abc1234 |"
    assert f"{made} `knowwhen reproduce table2 --dataset icews14 --model tntcomplex` |" in page
    assert "do not edit by hand" in page and "†" not in page and "not shown" not in page
    assert "Table 3" not in page  # nothing was run for it
    assert "\n2 stored results from outdated code or settings are not shown.\n" in report.results_page([], outdated=2)


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
    rows = FIGURE2.rows(found)
    assert rows[1][:3] == ("leaders", "tntcomplex", "4") and ("François Mitterrand", "1981–1995") in [
        r[4:6] for r in rows
    ]
    assert FIGURE2.rows([replace(found[0], series=None)])[1][4:] == ("", "", "")
    assert not FIGURE2.draw([replace(found[0], series=None)], ["leaders"], tmp_path / "none.svg")


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


def test_the_spans_of_a_figure_are_runs_of_neighbours():
    axis = ["1980", "1981", "1983", "1990"]
    assert spans(["1980", "1981", "1990"], axis) == "1980–1981; 1990–1990"
    assert spans(["1981", "1983"], axis) == "1981–1983", "neighbours on the axis"
    assert spans([], axis) == ""


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
