"""The field in two tables: what is planned for every model, and rows and figure from planted results."""

from dataclasses import replace

import pytest

from knowwhen.facts.catalog import load
from knowwhen.models import MODELS, Sizes, build
from knowwhen.models.budget import stored
from knowwhen.reproduction.experiments import RANKING
from knowwhen.reproduction.field import BASE_RANKS, EVERY, FIELD, POINTS, SIZES, budget
from knowwhen.reproduction.published import PRINTED, PUBLISHED
from knowwhen.reproduction.table import Request
from knowwhen.training.config import read_config
from knowwhen.training.recipes import recipes
from tests.conftest import REAL_DATA


def planned(table, **asked):
    return table.plan(table.complete(Request(**asked)))


def test_every_model_of_the_package_is_in_the_field():
    assert sorted(EVERY) == sorted(name for name, model in MODELS.items() if model.__module__.startswith("knowwhen."))
    assert {e.row for e in planned(FIELD, models=EVERY, trials=1)} == set(EVERY)


def test_all_are_trained_alike_within_the_budget():
    """One recipe: only the model, its rank and what is tried differ; and no model stores more than the paper's."""
    configs = [read_config(e.recipe, e.overrides) for e in planned(FIELD, models=EVERY, trials=1)]
    for name in ("objective", "regularizer", "training", "validation"):
        assert len({getattr(config, name).model_dump_json() for config in configs}) == 1
    for config in configs:
        used = build(config.specification(SIZES["icews14"])).parameter_count()
        assert 0.85 * budget("icews14") < used < 1.03 * budget("icews14"), config.model.name
    assert budget("icews14") == 2_624_856


def test_as_many_points_are_tried_for_each_and_other_seeds_wait_for_the_choice(of_plan):
    asked = {"models": ["tero", "tero+history"], "seeds": 2}
    plan = planned(FIELD, **asked)
    assert [(e.row, e.seed) for e in plan if not e.waits] == [("tero", 0)] * len(POINTS)
    assert [(e.row, e.seed) for e in plan if e.waits] == [("tero", 1), ("tero+history", 0), ("tero+history", 1)]
    assert len(planned(FIELD, models=["tero"], trials=2)) == 2
    evidence = {e.row: read_config(e.recipe, e.overrides).model.evidence for e in plan}
    assert evidence == {"tero": (), "tero+history": ("pair_history",)}
    trials = [e for e in plan if not e.waits]
    found = [of_plan(e, valid_mrr=0.9 if e is trials[2] else 0.1) for e in trials]
    more = planned(FIELD, **asked, found=found)[len(POINTS) :]
    assert [(e.waits, e.choice) for e in more] == [(False, trials[2].choice)] * 3
    assert len({e.name for e in planned(FIELD, **asked, found=found)}) == len(POINTS) + 3


@pytest.mark.parametrize("data", sorted(SIZES))
def test_sizes_are_those_of_the_data(data):
    if not (REAL_DATA / data).is_dir() or data == "icews05-15":
        pytest.skip("not at hand, or slow to load")
    assert Sizes.of(load(REAL_DATA / data)) == SIZES[data]
    assert stored(MODELS["tntcomplex"], SIZES[data], BASE_RANKS[data]) == budget(data)


def test_rows_are_the_best_on_valid_best_on_test_first(of_plan):
    tero, tnt = planned(FIELD, models=["tero"]), planned(FIELD, models=["tntcomplex"])
    tero += [replace(e, seed=1) for e in tero]  # a second seed of each
    hits = {"hits@1": 0.1, "hits@3": 0.2, "hits@10": 0.3, "count": 100}
    found = [
        *(of_plan(e, mrr=0.3 + 0.01 * e.seed, valid_mrr=0.9 if e.choice == tero[2].choice else 0.1) for e in tero[:-1]),
        of_plan(tero[-1], mrr=0.9, valid_mrr=0.99),  # chosen with the first seed, whatever others give
        *(of_plan(e, mrr=0.5, valid_mrr=0.1 * i) for i, e in enumerate(tnt)),
    ]
    found = [type(r)(**{**vars(r), "test": {**r.test, **hits}, "settings": {RANKING: 0.5}}) for r in found]
    header, *rows = FIELD.rows(found)
    first, second = (dict(zip(header, row, strict=True)) for row in rows)
    assert (first["model"], first["chosen on valid"]) == ("tntcomplex", tnt[-1].choice)
    assert (second["model"], second["chosen on valid"]) == ("tero", tero[2].choice)
    assert (second["trials"], second["seeds"], second["test MRR"]) == (str(len(POINTS)), "2", "0.3050 ± 0.0071")
    assert (second["Hits@10"], second["ms a question"]) == ("0.300", "5.00")
    assert second["seconds an epoch"] == "12.0", "10 processor minutes for 50 epochs"


def test_the_figure_has_a_point_for_every_model_on_both_sides(of_plan):
    found = [of_plan(e, mrr=0.1 * (i + 1)) for i, e in enumerate(planned(FIELD, models=["tero", "cp"], trials=1))]
    left, right = FIELD.figure(found).axes
    assert left.collections[0].get_offsets().tolist() == [[2.624856, 0.1], [2.624856, 0.2]]
    assert right.collections[0].get_offsets().tolist() == [[pytest.approx(10), 0.1], [pytest.approx(10), 0.2]]
    assert [text.get_text() for text in left.texts] == ["tero", "cp"] and right.get_xscale() == "log"
    assert FIELD.figure([]) is None


def test_every_published_number_has_a_recipe_of_its_model():
    for model, printed in PRINTED.items():
        name = f"{printed.recipe}-icews14"
        assert name in recipes() and read_config(name).model.name == model
        assert f"{printed.mrr:.3f}" in recipes()[name].read_text(), "the recipe says what it is to reach"


def test_ours_is_beside_what_was_published(of_plan):
    desimple, other = planned(PUBLISHED, models=["desimple"], seeds=2)
    header, row = PUBLISHED.rows([of_plan(desimple, mrr=0.50), of_plan(other, mrr=0.52)])
    shown = dict(zip(header, row, strict=True))
    assert shown["recipe"] == "goel2020-desimple-icews14" and shown["seeds"] == "2"
    assert (shown["test MRR"], shown["published"], shown["difference"]) == ("0.5100 ± 0.0141", "0.526", "-0.016")
    assert "ties" in shown["remark"]
