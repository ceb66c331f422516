"""Results as tables, and what a prompt shows of every public object."""

import json

import pandas as pd
import polars as pl
import pytest

import knowwhen as kw
from knowwhen.query import entity_facts
from knowwhen.tabular import Tabular

FACTS = [
    ("Ada", "leads", "Bakery", 2001, 2004),
    ("Ada", "leads", "Library", 2006, None),
    ("Bob", "leads", "Bakery", 2005),
]
FACTS = [(*fact, fact[-1])[:5] for fact in FACTS] + [(f"p{i}", "leads", "Bakery", 2000 + i, 2001 + i) for i in range(9)]


@pytest.fixture(scope="module")
def model():
    return kw.train(kw.load(FACTS, fractions=(0.1, 0.2)), rank=2, epochs=1, overrides={"dating.passes": 1})


RESULTS = {
    "ask": lambda model: model.ask("Ada", "leads", "?", 2001, explain=True, top=3),
    "ask when": lambda model: model.ask("Ada", "leads", "Bakery", "?"),
    "as_of": lambda model: model.as_of("Ada", "leads", "?", 2030),
    "when": lambda model: model.when("Ada", "leads", "Library"),
    "holds": lambda model: model.holds("Ada", "leads", "Bakery", 2002),
    "similar": lambda model: model.similar("Ada", top=5),
    "nearest_times": lambda model: model.nearest_times(2001, top=2),
    "timeline": lambda model: model.timeline("Ada", "leads"),
    "entity": lambda model: entity_facts(model.dataset, "Ada"),
    "evaluate": lambda model: model.evaluate("test"),
    "compare": lambda model: kw.compare(model, model, resamples=10),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_convert_to_frames_and_dictionaries(model, name):
    found = RESULTS[name](model)
    assert isinstance(found, Tabular)
    frame, pandas, dicts = found.to_polars(), found.to_pandas(), found.to_dicts()
    assert isinstance(frame, pl.DataFrame) and isinstance(pandas, pd.DataFrame)
    assert pandas.columns.tolist() == frame.columns and len(pandas) == len(frame) > 0
    assert json.loads(json.dumps(dicts)) and isinstance(dicts, list)
    assert json.loads(json.dumps(found.to_dict()))


def test_frames_hold_what_the_results_say(model):
    held = model.timeline("Ada", "leads", ["Bakery", "Library"])
    frame = held.to_polars()
    assert frame.columns == ["object", "key", "time", "score", "probability"]
    row = frame.row(by_predicate=(pl.col("object") == "Library") & (pl.col("time") == "2004"), named=True)
    assert row["probability"] == held.probabilities[1, held.times.index("2004")]
    (span,) = model.when("Ada", "leads", "Library").to_dicts()
    assert (span["begin"], span["begin_inferred"], span["end_inferred"]) == ("2006", False, True)
    metrics = model.evaluate("test")
    table = metrics.to_polars()
    assert table.row(0, named=True) == {
        "kind": "all",
        "group": "all",
        **{k: metrics.to_dict()[k] for k in table.columns[2:]},
    }
    objects = table.filter((pl.col("kind") == "direction") & (pl.col("group") == "objects"))
    assert objects["mrr"].item() == metrics.groups["direction"]["objects"].mrr
    assert model.holds("Ada", "leads", "Bakery", 2002).to_polars()["known"].to_list() == [True]


def test_slices_and_items_are_rows(model):
    found = model.ask("Ada", "leads", "?", 2001)
    assert found[0] is next(iter(found)) and list(found[:2]) == list(found)[:2] and found[-1].probability >= 0


OBJECTS = {
    "model": (lambda model: model, "<TrainedModel tntcomplex on 'facts'>"),
    "dataset": (lambda model: model.dataset, "<Dataset 'facts': "),
    "facts": (lambda model: model.dataset.all_facts, "<Facts 12: 1 event, 10 interval, 1 half-open>"),
    "no facts": (lambda model: kw.Facts.empty(), "<Facts 0>"),
    "entities": (lambda model: model.dataset.entities, "<Vocabulary of 13 entities>"),
    "timeline": (lambda model: model.dataset.timeline, "<Timeline 2000 to 2009 by year, 10 timestamps>"),
    "known": (lambda model: model.dataset.known, "<KnownFacts of 12 facts>"),
    "answer": (lambda model: RESULTS["ask"](model)[0], "Answer(name='"),
    "reasons": (lambda model: RESULTS["ask"](model)[0].reasons, "<Explanation of a score of "),
    "head": (lambda model: model.times, "<TimeHead on "),
    "calibration": (lambda model: model.evaluate_calibration("test"), "<CalibrationReport on test: ECE object "),
    "times": (lambda model: model.evaluate_times("test"), "<TimeMetrics of "),
    "protocol": (lambda model: kw.Protocol(), "Protocol(filter='time', ties='half', directions='both'"),
    **{
        name: (RESULTS[name], text)
        for name, text in {
            "ask": "<Answers (Ada, leads, ?, 2001): 3 answers, best '",
            "ask when": "<TimeAnswers (Ada, leads, Bakery, ?): ",
            "as_of": "<AsOf (Ada, leads, ?, 2030): ",
            "when": "<When (Ada, leads, Library): 2006 to ",
            "holds": "<Holds (Ada, leads, Bakery, 2002): 1.0000, known>",
            "similar": "<Neighbours of 'Ada': ",
            "timeline": "<TimelineScores (Ada, leads, …): 2 objects at 10 timestamps>",
            "entity": "<EntityFacts of 'Ada': 2 of 2 facts>",
            "evaluate": "<Metrics MRR 0.",
            "compare": "<Comparison on test, MRR: model 1 0.",
        }.items()
    },
}


@pytest.mark.parametrize("name", OBJECTS)
def test_what_a_prompt_shows_is_one_short_line(model, name):
    make, beginning = OBJECTS[name]
    text = repr(make(model))
    assert text.startswith(beginning)
    assert len(text) <= 160 and "\n" not in text


def test_names_in_a_prompt_have_no_effects():
    facts = kw.load([("\x1b[2J", "knows", "b", 2001)])
    assert "\x1b" not in repr(kw.train(facts, rank=1, epochs=1, overrides={"dating.passes": 0}).ask("?", "knows", "b"))
