"""The paper's tables: plans that cover them, runs that are not done twice, and reports that say what was chosen how."""

import json
import subprocess
import sys
from dataclasses import asdict, replace

import pytest
from typer.testing import CliRunner

from knowwhen.cli.main import app
from knowwhen.errors import BadRequest, RunError
from knowwhen.evaluation.times import EventTimes, IntervalTimes, TimeMetrics, TimeScores
from knowwhen.facts.dates import Granularity
from knowwhen.models import Sizes, model_named
from knowwhen.reproduction import experiments, figures, paper, report, results
from knowwhen.training.config import read_config


def result(**changes):
    base = results.Result(
        "table2", "tntcomplex", "icews14", 0, "", 0.56,
        {"mrr": 0.55, "hits@1": 0.4, "hits@3": 0.6, "hits@10": 0.7, "count": 10, "protocol": {}},
        0.5, None, None, 156, 2_624_856, 50, 12.5, {"recipe": "r"}, "abc1234", 2, 24,
    )  # fmt: skip
    return replace(base, **changes)


def test_every_row_of_the_papers_table_has_an_experiment_with_its_rank():
    for large in (False, True):
        plan = experiments.table2(paper.DATASETS, paper.MODELS, 1, large, None)
        rows = {(e.data, e.row.removesuffix("-x10"), large) for e in plan}
        assert rows == {key for key in paper.TABLE2 if key[2] is large}
    for e in experiments.table2(paper.DATASETS, paper.MODELS, 1, large=False, epochs=None):
        assert read_config(e.recipe).model.rank == paper.RANKS[e.data][e.row]


@pytest.mark.parametrize(
    "plan",
    [
        experiments.table3("icews14", 3),
        experiments.figure1("icews14", 3),
        experiments.wikidata(3),
        experiments.history(experiments.HISTORY_DATASETS, experiments.HISTORY_MODELS, 2, 3),
    ],
    ids=["table3", "figure1", "wikidata", "history"],
)
def test_every_experiment_is_a_run_of_its_own_with_settings_that_exist(plan):
    assert len({e.name for e in plan}) == len(plan)
    configs = [read_config(e.recipe, e.settings) for e in plan]
    assert len({c.to_toml() for c in configs}) == len(plan)
    assert all(c.training.epochs == 3 for c in configs)


def test_the_penalties_of_table_3_are_those_of_the_paper():
    plan = experiments.table3("icews14", None)
    assert {e.row for e in plan} == set(paper.TABLE3)
    assert read_config(plan[0].recipe).regularizer.embedding_weight == experiments.SMOOTHED_WEIGHT


def test_figure_1_shares_the_runs_of_table_3():
    table, figure = experiments.table3("icews14", None), experiments.figure1("icews14", None)
    own = [e for e in figure if e not in table]
    assert {e.row for e in own} == {"omega3+lambda3"}
    assert len(own) == len(experiments.SMOOTHNESS_WEIGHTS) == (len(figure) - 1) / 2


def test_names_that_are_not_the_papers():
    with pytest.raises(BadRequest, match="the tables have no dataset 'gdelt'; they have icews14"):
        experiments.check_names("dataset", ["gdelt"], paper.DATASETS)


@pytest.fixture(scope="module")
def small():
    settings = {"model.rank": 4, "training.epochs": 2, "training.batch_size": 500}
    return experiments.Experiment("table2", "tntcomplex", "leaders", 1, "leaders", settings)


def test_an_experiment_is_run_once_and_then_read(small, tmp_path):
    first = results.run(small, tmp_path)
    assert (first.seed, first.rank, first.epochs) == (1, 4, 2)
    assert 0 < first.test["mrr"] < 1
    weights = tmp_path / small.name / "model" / "weights.safetensors"
    weights.unlink()  # a second training would write it again
    assert results.run(small, tmp_path) == first
    assert not weights.exists()
    assert results.read_all(tmp_path) == [first]


@pytest.mark.parametrize("is_done", [True, False], ids=["done", "begun"])
def test_a_run_of_other_settings_is_not_taken_for_this_one(small, tmp_path, is_done):
    """Also where it is the recipe that has changed since."""
    results.run(small, tmp_path)
    folder = tmp_path / small.name
    if not is_done:
        (folder / results.FILE).unlink()
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("learning_rate = 0.1", "learning_rate = 0.2"))
    with pytest.raises(RunError, match=r"was run with other settings \(training.learning_rate\); move it away"):
        results.run(small, tmp_path)
    longer = replace(small, overrides={**small.overrides, "training.threads": 1, "training.epochs": 3})
    with pytest.raises(RunError, match=r"other settings \(training.epochs, training.learning_rate\)"):
        results.run(longer, tmp_path)


def test_an_experiment_that_was_begun_goes_on(small, tmp_path):
    whole = results.run(small, tmp_path / "whole")
    half = replace(small, overrides={**small.overrides, "training.epochs": 1})
    results.run(half, tmp_path / "half")
    folder = tmp_path / "half" / small.name
    (folder / results.FILE).unlink()
    config = (folder / "config.toml").read_text().replace("epochs = 1", "epochs = 2")
    (folder / "config.toml").write_text(config)
    resumed = results.run(small, tmp_path / "half")
    assert resumed.test == whole.test


def test_the_baseline_is_a_row_without_training(tmp_path):
    (planned,) = experiments.table2(["icews05-15"], ["pair-history"], 1, large=True, epochs=3)
    assert (planned.name, planned.overrides) == ("table2-icews05-15-pair-history-seed0", {"window": 120})
    small = replace(planned, data="leaders", overrides={"window": None})
    first = results.run(small, tmp_path)
    assert (first.row, first.rank, first.epochs) == ("pair-history", 0, 0)
    assert 0 < first.test["mrr"] < 1 and 0 < first.valid_mrr < 1
    assert first.settings["weights"]["same time"] > 0
    assert results.run(small, tmp_path) == first == results.read_all(tmp_path)[0]  # read, not counted again
    row = report.table2_rows([result(), replace(first, data="icews14")])[2]
    assert row[:4] == ("icews14", "pair-history", "", "1")
    assert row[5:7] == ("", "")  # the paper has none
    page = report.results_page([replace(first, data="icews14")])
    assert "`knowwhen reproduce table2 --dataset icews14 --model pair-history`" in page


def test_valid_chooses_never_test():
    weak = result(table="table3", row="omega3", choice="w0.01", valid_mrr=0.50)
    best = result(table="table3", row="omega3", choice="w0.1", valid_mrr=0.53)
    weak = replace(weak, test={**weak.test, "mrr": 0.99})
    header, row = report.table3_rows([weak, best, replace(weak, data="yago15k", valid_mrr=0.6)])[:2]
    assert row == ("icews14", "omega3", "0.1", "0.01, 0.1", "50", "0.5300", "0.5500", "0.65")
    assert len(header) == len(row)


def test_the_order_of_penalties_is_set_against_the_papers():
    def penalty(row, mrr):
        return result(table="table3", row=row, choice="w0.1", test={**result().test, "mrr": mrr})

    some = [penalty("none", 0.50), penalty("delta2", 0.51), penalty("delta3", 0.52), penalty("omega3", 0.55)]
    some.append(penalty("omega3+lambda4", 0.56))
    assert report.ranking_note(report.table3_rows(some)) == ""  # one is missing
    alike, other = ([*some, penalty("delta4", mrr)] for mrr in (0.53, 0.5075))
    assert report.ranking_note(report.table3_rows(alike)) == "On icews14 the order of the penalties is the paper's."
    note = report.ranking_note(report.table3_rows(other))
    assert note.startswith("On icews14 the order of the penalties is not the paper's:")
    assert "delta2 above delta4 by 0.0025 (paper: below by 0.01)" in note
    assert "omega3" not in note
    assert note in report.results_page(other)


def test_seeds_are_a_mean_and_a_spread_beside_the_paper():
    other = result(seed=1)
    other = replace(other, test={**other.test, "mrr": 0.57})
    rows = report.table2_rows([result(), other])
    assert rows[1] == (
        "icews14",
        "tntcomplex",
        "156",
        "2",
        "0.5600 ± 0.0141",
        "0.56",
        "+0.000",
        "0.400",
        "0.600",
        "0.700",
    )
    assert report.stddev_rows([result(), other])[1] == ("icews14", "2", "0.5600", "0.0141", "0.0016")
    assert len(report.stddev_rows([result()])) == 1  # one seed has no spread


def test_the_page_holds_what_was_run_and_how():
    page = report.results_page([result(), result(table="table3", row="omega3+lambda3", choice="t0.1")])
    assert "| icews14 | tntcomplex | 156 | 1 | 0.5500 | 0.56 | -0.010 |" in page
    assert "| icews14 | lambda3 | 0.1 | 0.5600 | 0.5500 |" in page
    assert "`knowwhen reproduce figure1 --dataset icews14`" in page
    assert "2 cores, 24 GB | abc1234 | `knowwhen reproduce table2 --dataset icews14 --model tntcomplex` |" in page
    assert "never edited by hand" in page
    assert "Table 3" not in page  # nothing was run for it


def test_wikidata_shows_time_questions_where_they_were_measured():
    fit = IntervalTimes({"aeIOU@1": 0.2, "gaeIOU@1": 0.1, "TAC@1": 0.4}, 3)
    ours, trivial = TimeScores(EventTimes(0.6, 7.5, 2), fit, fit, 0.3, 0.9), TimeScores(None, None, None, 0.15, 0.25)
    counts = dict.fromkeys(("event", "interval", "half_open", "static"), 1)
    times = TimeMetrics(ours, {"median_span": trivial}, 0.1, 0.1, counts, Granularity.YEAR, "valid").to_dict()
    of_wikidata = {"table": "wikidata", "choice": "rank100 w0.03"}
    header, static, timed, baseline = report.wikidata_rows(
        [result(row="complex", **of_wikidata), result(row="tntcomplex", times=times, **of_wikidata)]
    )
    measured = ("rank100 w0.03", "50", "0.5600", "0.5500", "0.5000", "")
    assert static == ("complex", *measured, *[""] * 7)
    assert timed == ("tntcomplex", *measured, "0.6000", "7.5000", "0.2000", "0.1000", "0.4000", "0.3000", "0.9000")
    assert baseline == ("(median span)", *[""] * 11, "0.1500", "0.2500")
    assert len({len(row) for row in (header, static, timed, baseline)}) == 1


def test_the_command_reports_a_page_with_figures_and_keeps_quick_looks_apart(tmp_path):
    runs = tmp_path / "runs"
    for place, row, choice, epochs in (
        (runs / "a", "omega3", "w0.03", 10),
        (runs / "b", "omega3+lambda4", "t1", 10),
        (runs / "epochs2" / "c", "none", "w0", 2),
    ):
        place.mkdir(parents=True)
        one = result(table="table3", row=row, choice=choice, epochs=epochs)
        (place / results.FILE).write_text(json.dumps(asdict(one)))
    page = tmp_path / "results.md"
    asked = ["reproduce", "figure1", "--only-report", "--runs", str(runs), "--json"]
    done = CliRunner().invoke(app, [*asked, "--out", str(page)])
    assert done.exit_code == 0, done.output
    assert [row["weight"] for row in json.loads(done.stdout)["rows"]] == ["0", "1"]
    assert "![Figure 1" in page.read_text() and (tmp_path / "results-figure1.svg").is_file()
    assert (runs / "figure1.svg").is_file()
    quick = CliRunner().invoke(app, ["reproduce", "table3", *asked[2:], "--epochs", "2"])
    assert [(row["penalty"], row["epochs"]) for row in json.loads(quick.stdout)["rows"]] == [("none", "2")]


def test_history_has_names_of_its_own():
    done = CliRunner().invoke(app, ["reproduce", "history", "--model", "tntcomplex"])
    assert isinstance(done.exception, BadRequest)
    assert "no model 'tntcomplex'; they have unioncomplex+evidence+weighing, " in str(done.exception)


def test_the_command_prints_the_ranks_of_the_paper(tmp_path):
    command = [sys.executable, "-c", "from knowwhen.cli.main import main; main()", "reproduce", "params", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    rows = json.loads(done.stdout)["rows"]
    assert len(rows) == 9
    assert all(row["rank"] == row["paper's rank"] for row in rows)


def test_figures_are_drawn_from_what_was_run(tmp_path):
    for name, row, choice, mrr in (
        ("without", "omega3", "w0.03", 0.5),
        ("other", "omega3", "w0.1", 0.9),
        ("strong", "omega3+lambda4", "t10", 0.6),
        ("weak", "omega3+lambda4", "t0.1", 0.55),
    ):
        one = result(table="table3", row=row, choice=choice, valid_mrr=mrr)
        (tmp_path / name).mkdir()
        (tmp_path / name / results.FILE).write_text(json.dumps(asdict(one)))
    curves = report.strengths(results.read_all(tmp_path), "icews14")
    assert {k: [(w, r.valid_mrr) for w, r in v] for k, v in curves.items()} == {
        "lambda4": [(0.0, 0.5), (0.1, 0.55), (10.0, 0.6)]
    }
    figures.draw_figure1(tmp_path, tmp_path / "figure1.svg", "icews14")
    assert "Λ4" in (tmp_path / "figure1.svg").read_text()
    drawn = figures.draw_all(tmp_path, tmp_path)
    assert drawn == {"figure1": "results-figure1.svg"}  # nothing was run for figure 2
    assert (tmp_path / "results-figure1.svg").is_file()
    assert "(results-figure1.svg)\n" in report.results_page(results.read_all(tmp_path), drawn)
    with pytest.raises(BadRequest, match="no results to plot"):
        figures.draw_figure1(tmp_path, tmp_path / "empty.svg", "yago15k")


def test_figure_2_shows_the_presidents_of_france(tmp_path):
    (planned,) = experiments.figure2()
    quick = replace(planned, overrides={"model.rank": 4, "training.epochs": 1, "training.batch_size": 500})
    results.run(quick, tmp_path)
    figures.draw_figure2(tmp_path, tmp_path / "figure2.svg", "leaders")
    assert "Mitterrand" in (tmp_path / "figure2.svg").read_text()
    assert report.figure2_rows(results.read_all(tmp_path))[1][:3] == ("leaders", "tntcomplex", "4")


def test_recipes_with_evidence_are_no_larger_than_tntcomplex_at_base_rank():
    sizes = {
        "icews14": Sizes(7128, 230, 365),
        "icews05-15": Sizes(10488, 251, 4017),
        "yago15k": Sizes(15403, 51, 169, undated_row=True),
    }
    for data in paper.DATASETS:
        config = read_config(f"history-{data}")
        model = model_named(config.model.name)(sizes[data], config.model.rank)
        for term in config.model.evidence:
            model.add_evidence(term, config.evidence.settings_of(term))
        model.add_weighing()
        budget = model_named("tntcomplex")(sizes[data], paper.RANKS[data]["tntcomplex"]).parameter_count()
        assert 0.97 * budget < model.parameter_count() <= budget


def test_without_evidence_the_rest_of_the_recipe_is_the_same():
    planned = experiments.history(["icews14"], experiments.HISTORY_MODELS, 1, None)
    whole, one, other = (read_config(e.recipe, e.settings) for e in planned)
    assert whole == read_config("history-icews14") and whole.evidence.held_out > 0
    assert len(one.model.evidence) == 3 and one.evidence.held_out == 0
    assert other.model.evidence == () and other.evidence.held_out == 0
    assert other.training.epochs == experiments.WITHOUT_EVIDENCE_EPOCHS
    assert (one.model.rank, one.regularizer, one.validation) == (other.model.rank, other.regularizer, other.validation)


def test_weighing_is_for_recipes_that_hold_facts_out():
    for data in experiments.HISTORY_DATASETS:
        planned = experiments.history([data], experiments.HISTORY_MODELS, 1, None)
        weighed = read_config(f"history-{data}").evidence.held_out > 0
        assert [e.row for e in planned] == list(experiments.HISTORY_MODELS[0 if weighed else 1 :])
    with pytest.raises(BadRequest, match="recipes for icews14 and icews05-15 only"):
        experiments.history(["yago15k"], ["unioncomplex+evidence+weighing"], 1, None)


def test_evidence_is_reported_by_support_beside_what_has_none():
    support = {"same_time": {"mrr": 0.9, "count": 5}, "none": {"mrr": 0.1, "count": 5}}
    plain = result(test={**result().test, "support": support})
    ours = [
        replace(plain, table="history", row="unioncomplex+evidence", seed=seed, test={**plain.test, "mrr": mrr})
        for seed, mrr in enumerate((0.6, 0.7))
    ]
    header, *rows = report.history_rows([plain, *ours, result()])
    assert header[-3:] == ("same_time", "other_time", "none")
    assert rows[0] == ("icews14", "tntcomplex", "2,624,856", "1", "0.5500", "0.4000", "0.7000", "0.900", "", "0.100")
    assert rows[1][1:5] == ("unioncomplex+evidence", "2,624,856", "2", "0.6500 ± 0.0707")


def test_every_result_has_the_command_that_makes_it():
    page = report.results_page([result(seed=1), result(table="history", row="unioncomplex+evidence")])
    assert "`knowwhen reproduce table2 --dataset icews14 --model tntcomplex --seeds 2`" in page
    assert "`knowwhen reproduce history --dataset icews14 --model unioncomplex+evidence`" in page
