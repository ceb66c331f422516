"""Questions against the tensor: every answer, its order and its probability from the naive formula."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from numpy.testing import assert_allclose

from knowwhen import chunks
from knowwhen.errors import BadDate, BadRequest, NonFiniteScores, TimeOutside, UnknownName
from knowwhen.evaluation import Calibration
from knowwhen.evaluation.calibration import Fit
from knowwhen.evaluation.probabilities import log_normaliser
from knowwhen.evaluation.questions import SLOTS
from knowwhen.query import ask, ask_batch
from knowwhen.query.scoring import largest

ALL = 100
SEEDS = range(3)
QUESTIONS = [
    ("Ada", "leads", "?", "2001"),
    ("?", "leads", "Bob", "2001"),
    ("Ada", "?", "Bob", "2002"),
    ("Ada", "leads", "?", "2001..2004"),
    ("?", "likes", "Gus", None),
    ("Ada", "leads", "Bob", "?"),
    ("Ada", "knows", "?", None),
]


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def ids(answers, vocabulary):
    return [vocabulary.id(answer.key) for answer in answers]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("top", [1, 3, ALL])
def test_the_best_objects_are_those_of_a_full_sort(world, seed, top):
    model, data = world.model(seed=seed), world.dataset()
    found = ask(model, data, "Ada", "leads", "?", "2001", top=top)
    scores = world.naive(model, 0, 1, None, 1)
    order = np.argsort(-scores)[:top]
    assert ids(found, data.entities) == order.tolist()
    assert_allclose([a.score for a in found], scores[order])
    assert_allclose([a.probability for a in found], softmax(scores)[order])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_question_for_a_subject_asks_the_inverse_predicate_for_its_object(world, seed):
    model, data = world.model(seed=seed), world.dataset()
    found = ask(model, data, "?", "leads", "Bob", "2001", top=ALL)
    scores = world.naive(model, 1, 1 + model.sizes.predicates, None, 1)
    assert ids(found, data.entities) == np.argsort(-scores).tolist()
    assert_allclose([a.probability for a in found], np.sort(softmax(scores))[::-1])


@pytest.mark.parametrize("seed", SEEDS)
def test_predicates_are_ranked_without_their_inverses(world, seed):
    model, data = world.model(seed=seed), world.dataset()
    found = ask(model, data, "Ada", "?", "Bob", "2002", top=ALL)
    scores = world.naive(model, 0, None, 1, 2)
    assert ids(found, data.predicates) == np.argsort(-scores).tolist()
    assert_allclose([a.probability for a in found], np.sort(softmax(scores))[::-1])


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("temperature", [1.0, 0.3, 4.0])
def test_probabilities_of_all_candidates_sum_to_one(world, question, temperature):
    fits = {slot: Fit(temperature, 0, 0, 1) for slot in SLOTS}
    found = ask(world.model(), world.dataset(), *question, top=ALL, calibration=Calibration(fits, 0.5))
    probabilities = found.probabilities if question[3] == "?" else [a.probability for a in found]
    assert sum(probabilities) == pytest.approx(1)
    assert found.calibrated


@pytest.mark.parametrize(("time", "wanted"), [("2001..2004", [1, 2, 3, 4]), (None, range(6)), ("2004..2006", [4, 5])])
def test_a_range_is_the_mean_over_its_timestamps(world, time, wanted):
    model, data = world.model(), world.dataset()
    found = ask(model, data, "Ada", "leads", "?", time, top=ALL)
    scores = world.naive(model, 0, 1, None, None)[:, list(wanted)]
    probabilities = softmax(scores, axis=0).mean(-1)
    order = np.argsort(-probabilities)
    assert ids(found, data.entities) == order.tolist()
    assert_allclose([a.probability for a in found], probabilities[order])
    assert_allclose([a.score for a in found], scores.mean(-1)[order])


def test_a_year_without_facts_stands_for_the_last_before_it(world):
    at, before = (ask(world.model(), world.dataset(), "Ada", "leads", "?", t).to_dicts() for t in ("2005", 2004))
    assert at == before


def test_without_a_time_a_model_with_a_row_for_undated_facts_uses_it(world):
    model, data = world.model(undated_row=True), world.dataset()
    found = ask(model, data, "Ada", "knows", "?", top=ALL)
    scores = world.naive(model, 0, 0, None, model.sizes.timestamps)
    assert_allclose([a.probability for a in found], np.sort(softmax(scores))[::-1])


def test_chunks_of_any_size_give_the_same(world, monkeypatch):
    rows = QUESTIONS * 3
    whole = ask_batch(world.model(), world.dataset(), rows, top=ALL)
    monkeypatch.setattr(chunks, "SCORE_BYTES", 1)
    for one, other in zip(whole, ask_batch(world.model(), world.dataset(), rows, top=ALL), strict=True):
        if one.slot != "time":
            assert [a.key for a in one] == [a.key for a in other]
            assert_allclose([a.probability for a in one], [a.probability for a in other])


@pytest.mark.parametrize(
    "rows",
    [
        QUESTIONS,
        [dict(zip(("subject", "predicate", "object", "time"), row, strict=True)) for row in QUESTIONS],
        pl.DataFrame(QUESTIONS, schema=["subject", "predicate", "object", "time"], orient="row"),
        pd.DataFrame(QUESTIONS, columns=["subject", "predicate", "object", "time"]),
        pa.table(dict(zip(["subject", "predicate", "object", "time"], zip(*QUESTIONS, strict=True), strict=True))),
    ],
    ids=["tuples", "dictionaries", "polars", "pandas", "pyarrow"],
)
def test_a_batch_equals_one_by_one(world, rows):
    model, data = world.model(), world.dataset()
    for question, found in zip(QUESTIONS, ask_batch(model, data, rows, top=4), strict=True):
        alone = ask(model, data, *question, top=4)
        assert (found.question, found.slot, len(found)) == (alone.question, alone.slot, len(alone))
        for one, other in zip(found.to_dicts(), alone.to_dicts(), strict=True):
            assert one == pytest.approx(other) if question[3] == "?" else one["key"] == other["key"]
            assert one["probability"] == pytest.approx(other["probability"])


def test_errors_of_a_batch_are_returned_in_their_place(world):
    model, data = world.model(), world.dataset()
    rows = [QUESTIONS[0], ("Adda", "leads", "?", "2001"), ("Ada", "leads", "?", "1990"), QUESTIONS[5]]
    found = ask_batch(model, data, rows, errors="return", top=3)
    assert [type(one).__name__ for one in found] == ["Answers", "UnknownName", "TimeOutside", "TimeAnswers"]
    assert found[1].to_dict() == {
        "error": "UnknownName",
        "message": "no entity 'Adda'; did you mean 'Ada'?",
        "row": 2,
        "column": "subject",
        "kind": "entity",
        "name": "Adda",
        "suggestions": ["Ada"],
    }
    with pytest.raises(UnknownName, match="row 2: no entity 'Adda'"):
        ask_batch(model, data, rows)
    with pytest.raises(BadRequest, match="errors is 'ignore'; expected 'raise' or 'return'"):
        ask_batch(model, data, rows, errors="ignore")


def test_answers_are_frames_of_polars_and_pandas(world):
    for question in (QUESTIONS[0], QUESTIONS[5]):
        found = ask(world.model(), world.dataset(), *question)
        frame = found.to_pandas()
        assert list(frame.columns) == found.to_polars().columns and len(frame) == len(found.to_polars())
        assert frame["probability"].tolist() == found.to_polars()["probability"].to_list()


@pytest.mark.parametrize(
    ("question", "known"),
    [
        (("Ada", "leads", "?", "2001"), {"Bob": [("2000", "2002")]}),
        (("Ada", "leads", "?", "2006"), {"Bob": [("2006", "2006")], "Cy": [("2003", None)]}),
        (("Ada", "leads", "?", "2002..2003"), {"Bob": [("2000", "2002")], "Cy": [("2003", None)]}),
        (("Ada", "leads", "?", None), {"Bob": [("2000", "2002"), ("2006", "2006")], "Cy": [("2003", None)]}),
        (("?", "leads", "Bob", "2001"), {"Ada": [("2000", "2002")], "Eve": [("2001", "2001")]}),
        (("Ada", "?", "Bob", "2002"), {"leads": [("2000", "2002")], "likes": [("2002", "2003")]}),
        (("Ada", "knows", "?", "2002"), {"Dora": [(None, None)], "Finn": [(None, None)]}),
        (("Finn", "likes", "?", "2000"), {"Gus": [(None, "2003")]}),
        (("Finn", "likes", "?", "2004"), {}),
        (("Ada", "leads", "?", "2005"), {"Cy": [("2003", None)]}),  # not on the axis: judged at 2005, not at 2004
        (("Dora", "likes", "?", "2005"), {"Ada": [("2000", "2006")]}),
        (("Gus", "leads", "?", "2005"), {}),  # in 2004 he did
        (("Dora", "likes", "?", "2010"), {}),  # after the last timestamp
        (("Ada", "leads", "?", "2010"), {"Cy": [("2003", None)]}),
    ],
)
def test_what_is_known_is_told_with_its_span_and_novel_leaves_out_exactly_that(world, question, known):
    model, data = world.model(), world.dataset()
    found = ask(model, data, *question, top=ALL)
    assert {a.key: list(a.spans) for a in found if a.known} == known
    novel = ask(model, data, *question, top=ALL, novel=True)
    assert [a.key for a in novel] == [a.key for a in found if not a.known]
    assert_allclose([a.probability for a in novel], [a.probability for a in found if not a.known])


@pytest.mark.parametrize(
    ("time", "as_of", "why"), [("2005", "2004", "not on the time axis"), ("2010", "2006", "last date")]
)
def test_a_time_that_is_not_on_the_axis_is_answered_as_of_the_one_before_and_said_so(world, time, as_of, why):
    model, data = world.model(), world.dataset()
    found, there = (ask(model, data, "Gus", "leads", "?", at, top=ALL) for at in (time, as_of))
    assert [a.key for a in found] == [a.key for a in there]
    assert (found.as_of, there.as_of, there.note) == (as_of, None, None)
    assert f"answered as of {as_of}: {time}" in str(found) and why in str(found)
    assert found.to_dict()["as_of"] == as_of and "as_of" not in there.to_dict()
    assert f"answered as of {as_of}" in str(ask(model, data, "Gus", "leads", "?", time, min_probability=1))


def test_candidates_share_the_probability_among_them(world):
    model, data = world.model(), world.dataset()
    scores = world.naive(model, 0, 1, None, 1)
    for candidates, wanted in ((["Eve", "Bob"], [1, 4]), ("seen", [1, 2])):
        found = ask(model, data, "Ada", "leads", "?", "2001", top=ALL, candidates=candidates)
        assert sorted(ids(found, data.entities)) == wanted
        assert_allclose(sorted(a.probability for a in found), np.sort(softmax(scores[wanted])))
        several = ask(model, data, "Ada", "leads", "?", "2001..2003", top=ALL, candidates=candidates)
        assert sum(a.probability for a in several) == pytest.approx(1)
        assert sorted(ids(several, data.entities)) == wanted
    subjects = ask(model, data, "?", "leads", "Bob", "2001", top=ALL, candidates="seen")
    assert sorted(a.key for a in subjects) == ["Ada", "Eve"]


def test_improbable_answers_are_left_out_on_demand(world):
    question = ("Ada", "leads", "?", "2001")
    found = ask(world.model(), world.dataset(), *question, top=ALL)
    least = found[2].probability
    assert ask(world.model(), world.dataset(), *question, top=ALL, min_probability=least).rows == found.rows[:3]


def test_a_question_for_a_time_gives_the_whole_curve_and_its_spans(world):
    model, data = world.model(), world.dataset()
    found = ask(model, data, "Ada", "leads", "Bob", "_")
    scores = world.naive(model, 0, 1, 1, None)
    assert found.times == [str(year) for year in (2000, 2001, 2002, 2003, 2004, 2006)]
    assert_allclose(found.scores, scores, rtol=1e-6)
    assert_allclose(found.probabilities, softmax(scores))
    assert found.known == (("2000", "2002"), ("2006", "2006"))
    assert found.best == found.times[scores.argmax()]
    first = found[0]
    inside = slice(found.times.index(first.begin), found.times.index(first.end) + 1)
    assert first.probability == pytest.approx(found.probabilities[inside].sum())
    assert scores.argmax() in range(6)[inside]


@pytest.mark.parametrize("name", ["complex", "cp", "distmult"])
def test_static_models_answer_the_same_at_all_times_and_date_nothing(world, name):
    model, data = world.model(name), world.dataset()
    one, other = (ask(model, data, "Ada", "leads", "?", time, novel=False) for time in ("2000", "2001..2004"))
    assert_allclose([a.probability for a in one], [a.probability for a in other])
    with pytest.raises(
        BadRequest,
        match=f"{name} does not depend on time, so it cannot answer questions for a time; use a temporal model such",
    ):
        ask(model, data, "Ada", "leads", "Bob", "?")


@pytest.mark.parametrize(
    ("question", "options", "error", "message"),
    [
        (("Ada", "leads", "Bob", "2001"), {}, BadRequest, r"exactly one '\?', but \(Ada, leads, Bob, 2001\) has none"),
        (
            ("?", "leads", "?", None),
            {},
            BadRequest,
            r"exactly one '\?', but \(\?, leads, \?, no time\) has 2",
        ),
        (("", "leads", "?", "2001"), {}, BadRequest, "the subject is empty; expected a name"),
        (("Ado", "leads", "?", "2001"), {}, UnknownName, r"no entity 'Ado'; did you mean 'Ada'\?"),
        (("Ada", "lead", "?", "2001"), {}, UnknownName, r"no predicate 'lead'; did you mean 'leads'\?"),
        (("Ada", "leads", "?", "1999"), {}, TimeOutside, "'1999' is before the first date in the data \\(2000 to 2006"),
        (("Ada", "leads", "?", "soon"), {}, BadDate, "'soon' is not a date"),
        (("Ada", "leads", "?", "2001"), {"top": 0}, BadRequest, "top is 0; expected a whole number, at least 1"),
        (("Ada", "leads", "?", "2001"), {"min_probability": 2}, BadRequest, "min_probability is 2; expected 0 to 1"),
        (("Ada", "leads", "?", "2001"), {"candidates": []}, BadRequest, "the list of candidates is empty"),
        (("Ada", "leads", "?", "2001"), {"candidates": "some"}, BadRequest, "candidates is 'some'; expected a list"),
        (
            ("Ada", "?", "Bob", "2001"),
            {"candidates": "seen"},
            BadRequest,
            'candidates="seen" needs a predicate; name the candidates',
        ),
        (
            ("Ada", "leads", "Bob", "?"),
            {"candidates": ["Ada"]},
            BadRequest,
            "candidates do not apply to a question for a time",
        ),
        (("Ada", "leads", "Bob", "?"), {"novel": True}, BadRequest, "novel does not apply"),
    ],
)
def test_mistakes_are_named(world, question, options, error, message):
    with pytest.raises(error, match=message):
        ask(world.model(), world.dataset(), *question, **options)


def test_a_diverged_model_does_not_answer(world):
    model = world.model()
    model.decomposition.u.weight.data[2] = np.nan
    for question in QUESTIONS[:1] + QUESTIONS[3:4]:
        with pytest.raises(NonFiniteScores, match="tntcomplex gave scores that are not finite"):
            ask(model, world.dataset(), *question)


def test_answers_print_and_convert(world):
    data = world.dataset()
    found = ask(world.model(), data, "Ada Lovelace", "leads", "?", "2001", top=ALL)
    text = str(found)
    assert text.startswith("(Ada Lovelace, leads, ?, 2001)\n   object")
    assert "2000 to 2002" in text
    assert text.endswith("probabilities are not calibrated: trust their order, not their size")
    assert "<td>Bob</td>" in found._repr_html_()
    frame = found.to_polars()
    assert frame["rank"].to_list() == list(range(1, 8))
    assert frame.filter(pl.col("name") == "Ada Lovelace")["key"].to_list() == ["Ada"]
    assert frame.filter(pl.col("known"))["begin"].to_list() == ["2000"]
    assert json.loads(json.dumps(found.to_dict()))["answers"][0]["key"] == found[0].key
    assert len(ask(world.model(), data, "Ada", "leads", "?", "2001", min_probability=1).to_polars()) == 0


def test_time_answers_print_and_convert(world):
    found = ask(world.model(), world.dataset(), "Ada", "leads", "Bob", "?")
    lines = str(found).splitlines()
    assert len(lines[1]) == 6
    assert set(lines[1]) <= set("▁▂▃▄▅▆▇█") and "█" in lines[1]
    assert lines[2] == "2000 2006"
    assert "known: 2000 to 2002, 2006" in str(found)
    assert found.to_polars().columns == ["time", "score", "probability"]
    assert json.loads(json.dumps(found.to_dict()))["known"] == [["2000", "2002"], ["2006", "2006"]]
    assert "<th>span</th>" in found._repr_html_()


@pytest.mark.parametrize("n", [5, 1000, 5000, 20_000])
@pytest.mark.parametrize("top", [1, 3, 30])
def test_the_largest_are_those_of_a_sort_also_where_blocks_are_left_out(n, top):
    scores = torch.randn(4, n, generator=torch.Generator().manual_seed(n))
    best, places = largest(scores, top)
    wanted = scores.sort(descending=True)
    assert torch.equal(best, wanted.values[:, :top])
    assert torch.equal(places, wanted.indices[:, :top])


@pytest.mark.parametrize("cached_bytes", [1, 100, 1 << 20])
def test_the_normaliser_is_the_same_in_parts(monkeypatch, cached_bytes):
    monkeypatch.setattr(chunks, "CACHE_BYTES", cached_bytes)
    scores = torch.randn(7, 11, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert_allclose(log_normaliser(scores, 0.5, ""), np.log(np.exp(scores.numpy() / 0.5).sum(-1)))
