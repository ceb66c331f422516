"""What each table plans: experiments that exist, are runs of their own, and are made by the command they carry."""

import shlex
from collections import defaultdict
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from knowwhen.cli.main import app
from knowwhen.errors import BadRequest
from knowwhen.models import Sizes, build, model_named
from knowwhen.models.budget import stored
from knowwhen.reproduction import evidence, paper, working
from knowwhen.reproduction.convergence import CONVERGENCE
from knowwhen.reproduction.evidence import ALONE, CORRECTED, EVIDENCE, WITHOUT_EPOCHS
from knowwhen.reproduction.experiments import Setting, count_and_evaluate
from knowwhen.reproduction.link_prediction import STDDEV, TABLE2
from knowwhen.reproduction.sampling import SAMPLING
from knowwhen.reproduction.table import Request
from knowwhen.reproduction.table4 import TABLE4
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
        ("table2", {"sampled": True}),
        ("table4", {"datasets": ["generated", "wikidata"]}),
        ("evidence", {"datasets": ["icews14"], "models": ["unioncomplex+context"]}),
    ],
)
def test_the_command_of_an_experiment_makes_it(name, asked, monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(working, "run", lambda experiment, *_: made.append(experiment))
    monkeypatch.setattr(working, "check_at_hand", lambda data: None)  # all data is at hand
    by_command = defaultdict(list)
    for experiment in planned(TABLES[name], seeds=2, **asked):
        if not experiment.waits:  # see test_penalties.py
            by_command[experiment.command].append(experiment)
    for typed, experiments in by_command.items():
        made.clear()
        knowwhen, *command = shlex.split(typed)
        CliRunner().invoke(app, [*command, "--runs", str(tmp_path)])
        assert knowwhen == "knowwhen" and [one for one in experiments if one not in made] == [], typed


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


def test_without_evidence_the_rest_of_the_recipe_is_the_same():
    whole, one, other = (config_of(e) for e in planned(EVIDENCE, datasets=["icews14"]))
    assert whole == read_config("evidence-icews14") and point_of(whole)[Setting.HELD_OUT] > 0
    assert len(one.model.evidence) == 3 and point_of(one)[Setting.HELD_OUT] == 0
    assert other.model.evidence == () and point_of(other)[Setting.HELD_OUT] == 0
    assert other.training.epochs == WITHOUT_EPOCHS
    assert (one.model.rank, one.regularizer, one.validation) == (other.model.rank, other.regularizer, other.validation)


def test_correction_is_for_recipes_that_hold_facts_out(monkeypatch):
    corrected = {e.data for e in planned(EVIDENCE) if e.row == CORRECTED}
    assert corrected == {"icews14", "icews05-15", "yago15k", "wikidata12k", "leaders"}
    nothing = r"the recipe for yago15k has no unioncomplex\+evidence\+correction: it does not have that term"
    bare = read_config("evidence-yago15k", {"correction.held_out": 0})
    monkeypatch.setattr(evidence, "read_config", lambda name: bare)
    with pytest.raises(BadRequest, match=nothing):
        planned(EVIDENCE, datasets=["yago15k"], models=[CORRECTED])


def test_each_term_of_evidence_is_tried_alone():
    alone = {e.row: config_of(e) for e in planned(EVIDENCE, datasets=["icews05-15"], models=list(ALONE))}
    whole = read_config("evidence-icews05-15")
    assert {config.model.evidence for config in alone.values()} == {(term,) for term in whole.model.evidence}
    for config in alone.values():
        assert config.correction.held_out == 0 and config.regularizer == whole.regularizer


def test_large_and_sampled_rows_of_table_2_say_their_softmax():
    (full,), (sampled,), (large,) = (
        map(config_of, planned(TABLE2, datasets=["yago15k"], models=["tcomplex"], **asked))
        for asked in ({}, {"sampled": True}, {"large": True})
    )
    assert (full.objective.sampling, sampled.objective.sampling, sampled.objective.negatives) == (
        "none",
        "uniform",
        4096,
    )
    assert sampled.model_copy(update={"objective": full.objective}) == full
    assert large.model.rank == 10 * full.model.rank and large.objective.sampling == "uniform"
    assert large.validation.patience > 0, "early stopping"
    with pytest.raises(BadRequest, match="the runs of --large have a sampled softmax already; leave out --sampled"):
        planned(TABLE2, large=True, sampled=True)


def test_deviations_are_over_five_seeds_and_wait_for_the_weight_of_politicians(of_plan):
    plan = planned(STDDEV)
    seeds = {data: [e.seed for e in plan if e.data == data and not e.waits] for data in STDDEV.datasets}
    assert seeds == {**{data: [0, 1, 2, 3, 4] for data in paper.DATASETS}, "politicians": [0, 0, 0]}
    assert [e.seed for e in plan if e.waits] == [1, 2, 3, 4]
    first = [e for e in plan if e.data == "politicians" and e.seed == 0]
    found = [of_plan(e, valid_mrr=mrr) for e, mrr in zip(first, (0.3, 0.5, 0.4), strict=True)]
    later = [e for e in planned(STDDEV, found=found) if e.data == "politicians" and e.seed]
    assert {e.choice for e in later} == {"w0.01"} and not any(e.waits for e in later)
    assert later[1].command == "knowwhen reproduce stddev --dataset politicians --seeds 3"


def test_a_generated_knowledge_base_is_trained_as_wikidata_would_be():
    generated, wikidata = (planned(TABLE4, datasets=[data]) for data in ("generated", "wikidata"))
    assert [e.row for e in generated] == list(paper.MODELS) == [e.row for e in wikidata]
    assert {config_of(e).model.rank for e in generated} == {100} and generated[0].directions == "objects"


def test_the_length_of_convergence_is_that_of_the_tables_it_shows():
    plan, others = planned(CONVERGENCE), [*planned(TABLE2), *planned(TABLE2, sampled=True), *planned(EVIDENCE)]
    assert all(e in others for e in plan) and len(plan) == 6


def test_recipes_with_evidence_are_no_larger_than_tntcomplex_at_base_rank():
    sizes = {
        "icews14": Sizes(7128, 230, 365),
        "icews05-15": Sizes(10488, 251, 4017),
    }
    for data in sizes:
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
