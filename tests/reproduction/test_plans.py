"""What each table plans: experiments that exist, are runs of their own, and are made by the command they carry."""

import shlex
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from knowwhen.cli.main import app
from knowwhen.errors import BadRequest
from knowwhen.models import Sizes, build, model_named
from knowwhen.models.budget import stored
from knowwhen.reproduction import paper, penalties, working
from knowwhen.reproduction.experiments import Setting, count_and_evaluate
from knowwhen.reproduction.link_prediction import CORRECTED, EVIDENCE, TABLE2, WITHOUT_EPOCHS
from knowwhen.reproduction.penalties import FIGURE1, TABLE3
from knowwhen.reproduction.sampling import SAMPLING
from knowwhen.reproduction.table import Request
from knowwhen.reproduction.tables import TABLES
from knowwhen.training.config import read_config
from knowwhen.tuning.space import point_of


def planned(table, **asked):
    return table.plan(table.complete(Request(**asked)))


def config_of(experiment):
    return read_config(experiment.recipe, experiment.overrides)


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
@pytest.mark.parametrize("epochs", [None, 3])
def test_every_experiment_is_a_run_of_its_own_with_settings_that_exist(table, epochs):
    plan = planned(table, seeds=2, epochs=epochs)
    assert len({e.name for e in plan}) == len(plan)
    configs = [config_of(e) for e in plan]
    assert len({(e.data, c.to_toml()) for e, c in zip(plan, configs, strict=True)}) == len(plan)
    assert epochs is None or all(c.training.epochs == epochs for c in configs)


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        *((name, {}) for name in TABLES if name != "field"),
        ("field", {"models": ["tero", "tntcomplex+history"], "trials": 2}),
        ("table2", {"models": ["complex", "pair-counts"], "large": True, "epochs": 3}),
    ],
)
def test_the_command_of_an_experiment_makes_it(name, asked, monkeypatch, tmp_path):
    found = []
    monkeypatch.setattr(working, "run", lambda experiment, *_: found.append(experiment))
    monkeypatch.setattr(working, "find", lambda data: None)  # all data is at hand
    for experiment in planned(TABLES[name], seeds=2, **asked):
        found.clear()
        knowwhen, *command = shlex.split(experiment.command)
        CliRunner().invoke(app, [*command, "--runs", str(tmp_path)])
        assert knowwhen == "knowwhen" and experiment in found, experiment.command


def test_every_row_of_the_papers_table_has_an_experiment_with_its_rank():
    for large in (False, True):
        rows = {(e.data, e.row.removesuffix("-x10"), large) for e in planned(TABLE2, large=large)}
        assert rows == {key for key in paper.TABLE2 if key[2] is large}
    for e in planned(TABLE2):
        assert config_of(e).model.rank == paper.RANKS[e.data][e.row]


def test_counting_is_planned_as_training_is():
    (counted,) = planned(TABLE2, datasets=["icews05-15"], models=["pair-counts"], large=True)
    assert counted.name == "table2-icews05-15-pair-counts-seed0"
    assert counted.point == {Setting.WINDOW: 120} and counted.measure is count_and_evaluate


def test_the_penalties_of_table_3_are_those_of_the_paper():
    plan = planned(TABLE3)
    assert {e.row for e in plan} == set(paper.TABLE3) and {e.data for e in plan} == {"icews14"}
    recipe = point_of(read_config(plan[0].recipe))
    assert {name: recipe[name] for name in penalties.SMOOTHED} == penalties.SMOOTHED
    assert "table3-icews14-omega3+lambda4-t0.01-seed0" in {e.name for e in plan}


def test_figure_1_shares_the_runs_of_table_3():
    figure, table = planned(FIGURE1), planned(TABLE3)
    own = [e for e in figure if e not in table]
    assert {e.row for e in own} == {"omega3+lambda3"} and {e.point[Setting.TIME_P] for e in own} == {3}
    assert len(own) == len(penalties.SMOOTHNESS_WEIGHTS) == (len(figure) - 1) / 2


def test_without_evidence_the_rest_of_the_recipe_is_the_same():
    whole, one, other = (config_of(e) for e in planned(EVIDENCE, datasets=["icews14"]))
    assert whole == read_config("evidence-icews14") and point_of(whole)[Setting.HELD_OUT] > 0
    assert len(one.model.evidence) == 3 and point_of(one)[Setting.HELD_OUT] == 0
    assert other.model.evidence == () and point_of(other)[Setting.HELD_OUT] == 0
    assert other.training.epochs == WITHOUT_EPOCHS
    assert (one.model.rank, one.regularizer, one.validation) == (other.model.rank, other.regularizer, other.validation)


def test_correction_is_for_recipes_that_hold_facts_out():
    corrected = {e.data for e in planned(EVIDENCE) if e.row == CORRECTED}
    assert corrected == {"icews14", "icews05-15", "wikidata12k", "leaders"}
    with pytest.raises(BadRequest, match="the recipe for yago15k holds no facts out to learn a correction from"):
        planned(EVIDENCE, datasets=["yago15k"], models=[CORRECTED])


def test_recipes_with_evidence_are_no_larger_than_tntcomplex_at_base_rank():
    sizes = {
        "icews14": Sizes(7128, 230, 365),
        "icews05-15": Sizes(10488, 251, 4017),
        "yago15k": Sizes(15403, 51, 169, undated_row=True),
    }
    for data in paper.DATASETS:
        config = read_config(f"evidence-{data}")
        model = build(replace(config.specification(sizes[data]), corrected=True))
        budget = stored(model_named("tntcomplex"), sizes[data], paper.RANKS[data]["tntcomplex"])
        assert 0.97 * budget < model.parameter_count() <= budget


def test_sampling_changes_nothing_but_the_candidates():
    full, sampled = map(config_of, planned(SAMPLING, datasets=["icews14"], models=["full", "k512"]))
    assert (full.objective.sampling, sampled.objective.sampling, sampled.objective.negatives) == (
        "none",
        "uniform",
        512,
    )
    assert sampled.model_copy(update={"objective": full.objective}) == full


@pytest.mark.parametrize(
    ("table", "asked", "message"),
    [
        ("table2", {"datasets": ["gdelt"]}, "table2 has no dataset 'gdelt'; it has icews14, icews05-15, yago15k"),
        (
            "evidence",
            {"models": ["tntcomplex"]},
            "evidence has no model 'tntcomplex'; it has unioncomplex.evidence.corr",
        ),
        ("table3", {"models": ["complex"]}, "table3 has no model 'complex'; it has none to choose"),
    ],
)
def test_names_that_a_table_does_not_have(table, asked, message):
    with pytest.raises(BadRequest, match=message):
        TABLES[table].complete(Request(**asked))
