"""Which stored results are what would be measured today."""

from dataclasses import replace

import pytest

from knowwhen.reproduction import checking
from knowwhen.reproduction.checking import flaw_of
from knowwhen.reproduction.evidence import EVIDENCE
from knowwhen.reproduction.link_prediction import TABLE2
from knowwhen.reproduction.numbers import NUMBERS
from knowwhen.reproduction.table import Request
from knowwhen.reproduction.times import WIKIDATA

RATE = "training.learning_rate"


@pytest.fixture
def planned():
    (experiment,) = TABLE2.plan(Request(["icews14"], ["tntcomplex"]))
    return experiment


@pytest.fixture
def with_evidence():
    return EVIDENCE.plan(Request(["icews14"], ["unioncomplex+evidence"]))[0]


def with_settings(result, **changes):
    settings = {**result.settings, **{name.replace("__", "."): value for name, value in changes.items()}}
    return replace(result, settings=settings)


def test_a_result_of_todays_code_and_recipe_has_no_flaw(planned, of_plan):
    assert flaw_of(of_plan(planned), planned) == flaw_of(of_plan(planned)) == ""


def test_a_result_of_older_code_is_said_to_be(planned, with_evidence, of_plan, monkeypatch):
    one, other = of_plan(planned), of_plan(with_evidence)
    monkeypatch.setitem(NUMBERS, "evidence", 3)
    assert flaw_of(one, planned) == "", "it has no evidence"
    assert flaw_of(other) == "the computation has changed since (evidence 1, now 3)"
    monkeypatch.setitem(NUMBERS, "validation", 2)
    assert flaw_of(one, planned) == "" and one.is_provisional, "test is measured as before"


def test_a_result_of_other_settings_is_said_to_be(planned, of_plan):
    """Whether the recipe changed since, or the table asks for something else by now."""
    changed = with_settings(of_plan(planned), training__learning_rate=0.2)
    assert flaw_of(changed, planned) == flaw_of(changed) == f"other settings ({RATE})"
    other = replace(planned, point={"model.rank": 9})
    assert flaw_of(of_plan(planned), other) == "other settings (model.rank)"
    assert flaw_of(of_plan(planned), replace(planned, seed=4)) == "other settings (training.seed)"
    protocol = {**of_plan(planned).test, "protocol": {"directions": "objects"}}
    assert flaw_of(replace(of_plan(planned), test=protocol), planned) == "other settings (directions)"


def test_settings_that_have_no_part_in_a_result_may_change(planned, with_evidence, of_plan):
    """Cores, the options of evidence terms that it does not have, and the time head where no times were asked for."""
    one = of_plan(planned)
    assert flaw_of(with_settings(one, training__threads=7, evidence__dropout=0.5, dating__passes=9), planned) == ""
    assert flaw_of(with_settings(one, evidence__context__cap=7), planned) == ""
    other = of_plan(with_evidence)
    assert flaw_of(with_settings(other, evidence__context__cap=7)) == "other settings (evidence.context.cap)"
    assert flaw_of(with_settings(other, evidence__path_history__cap=7)) == ""
    asked = WIKIDATA.plan(WIKIDATA.complete(Request()))[0]
    dated = replace(of_plan(asked), numbers=dict(NUMBERS))
    assert flaw_of(with_settings(dated, dating__passes=9), asked) == "other settings (dating.passes)"


def test_a_setting_that_is_new_since_then_has_its_default(planned, of_plan):
    settings = {name: value for name, value in of_plan(planned).settings.items() if name != "objective.margin"}
    assert flaw_of(replace(of_plan(planned), settings=settings), planned) == ""
    changed = replace(planned, point={"objective.margin": 2.0})
    assert flaw_of(replace(of_plan(planned), settings=settings), changed) == "other settings (objective.margin)"


def test_a_result_of_a_recipe_that_is_gone(planned, of_plan):
    gone = with_settings(of_plan(planned), recipe="lacroix2020-nothing")
    assert flaw_of(gone).startswith("its recipe no longer exists (no recipe or file 'lacroix2020-nothing'")


def test_counting_is_compared_by_its_window(of_plan):
    (counting,) = TABLE2.plan(Request(["icews05-15"], ["pair-counts"]))
    one = of_plan(counting, settings={"weights": {}, "window": 120})
    assert flaw_of(one, counting) == flaw_of(one) == ""
    assert flaw_of(replace(one, point={"baseline.window": 60}), counting) == "other settings (baseline.window)"
    assert checking.asked_settings(counting) == counting.point
