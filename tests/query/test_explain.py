"""Reasons against the scores they explain: shares add up, and facts are told as they stand in the data."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from knowwhen.facts.table import OPEN
from knowwhen.models import EVIDENCE, Background, TemporalModel
from knowwhen.query import Answer, Answers, Explanation, FactShare, TimeAnswers, TimeSpan, ask, ask_batch, explain

ALL = 100
FACTS = [
    (0, 1, 1, 0, 2),  # Ada leads Bob, 2000 to 2002
    (1, 2, 0, 1, 1),  # Bob likes Ada, 2001
    (0, 0, 1, OPEN, OPEN),  # Ada knows Bob
    (0, 1, 1, 4, OPEN),
    (1, 0, 0, OPEN, 3),
    (0, 2, 0, 2, 2),  # Ada likes herself
    (4, 1, 1, 1, 1),
    (2, 2, 0, 3, 5),
]
QUESTIONS = [
    ("Ada", "leads", "?", "2001"),
    ("?", "leads", "Bob", "2001"),
    ("Ada", "?", "Bob", "2002"),
    ("Ada", "?", "Ada", "2002"),
    ("Ada", "likes", "?", "2001..2004"),
    ("?", "likes", "Ada", "2003..2006"),
    ("Bob", "?", "Ada", "2000..2002"),
    ("Ada", "leads", "?", None),
    ("?", "knows", "Ada", None),
    ("Ada", "?", "Bob", None),
]
WHEN = ("Ada", "leads", "Bob", "?")


def explained(
    world, rows=FACTS, name="tntcomplex", *, undated_row=False, seed=0, cap=0, terms=tuple(EVIDENCE), corrected=False
):
    """A model with evidence whose scores are random, and its data."""
    every = {"lags": (1, 3), "window": 0, "cap": cap or 0}
    options = {term: {k: v for k, v in every.items() if k in EVIDENCE[term].Options.model_fields} for term in terms}
    data = world.dataset(train=rows)
    model = world.model(name, undated_row, seed, evidence=options, corrected=corrected)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for table in model.evidence.parameters():
            table.copy_(torch.randn(table.shape, generator=generator))
        if corrected:
            model.correction.initialise(generator)
            model.correction.mean.zero_()
            model.correction.deviation.fill_(1)
            torch.nn.init.normal_(model.correction.out.weight, generator=generator)
    return model.recall(Background.of(data)), data


def told(data):
    """The facts of train in the words of an explanation."""
    dates = [*data.timeline.labels(), None]
    names = data.entities.keys, data.predicates.keys, data.entities.keys
    rows = data.train.rows().tolist()
    return [((names[0][s], names[1][p], names[2][o]), dates[begin], dates[end]) for s, p, o, begin, end in rows]


def reasons_of(answers, key):
    return next(row.reasons for row in answers if row.key == key)


def facts_of(explanation):
    return [(fact.keys, fact.begin, fact.end) for fact in explanation.facts]


ENDS = st.one_of(st.just(OPEN), st.integers(0, 5))
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), ENDS, ENDS).filter(
        lambda row: OPEN in row[3:] or row[3] <= row[4]
    ),
    max_size=12,
)


@given(
    ROWS,
    st.sampled_from(QUESTIONS),
    st.sampled_from(["tntcomplex", "complex", "unioncomplex"]),
    st.booleans(),
    st.sampled_from([1, 2, 366]),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_shares_add_up_to_the_score_and_facts_are_those_of_train(
    world, rows, question, name, undated_row, named_at, cap, corrected
):
    model, data = explained(world, rows, name, undated_row=undated_row, cap=cap, corrected=corrected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explain, "NAMED_AT", named_at)
        found = ask(model, data, *question, top=ALL, explain=True)
    assert_allclose([row.reasons.score for row in found], [row.score for row in found], atol=1e-9)
    known = told(data)
    for row in found:
        assert all(fact in known for fact in facts_of(row.reasons))
        sizes = [abs(fact.value) for fact in row.reasons.facts]
        assert sizes == sorted(sizes, reverse=True)
        assert row.reasons.note is None
        assert corrected or row.reasons.correction == 0
        if named_at > len(data.timeline):
            assert row.reasons.others == 0


@given(ROWS, st.integers(0, 99))
def test_the_best_time_is_explained(world, rows, seed):
    model, data = explained(world, rows, seed=seed)
    found = ask(model, data, *WHEN, explain=True)
    inside = slice(found.times.index(found[0].begin), found.times.index(found[0].end) + 1)
    best = inside.start + found.probabilities[inside].argmax()
    assert found.reasons.time == found.times[best]
    assert found.reasons.score == pytest.approx(found.scores[best], rel=1e-5, abs=1e-5)  # the curve is in float32


def test_the_correction_has_a_share_of_its_own(world):
    model, data = explained(world, corrected=True)
    ada = ("Ada", "leads", "?", "2001")
    corrections = {row.key: row.reasons.correction for row in ask(model, data, *ada, top=ALL, explain=True)}
    with_it = {row.key: row.score for row in ask(model, data, *ada, top=ALL)}
    model = TemporalModel(model.decomposition, dict(model.evidence.items()))
    without = {row.key: row.score for row in ask(model, data, *ada, top=ALL)}
    assert corrections == pytest.approx({key: with_it[key] - without[key] for key in without}, abs=1e-9)
    assert any(corrections.values()) and not all(corrections.values())  # no term scores some


def test_a_time_is_explained_also_where_all_spans_are_left_out(world):
    found = ask(*explained(world), *WHEN, explain=True, min_probability=1)
    assert len(found) == 0
    assert found.reasons.time == found.best


def test_a_model_as_it_is_trained_adds_up_to_float_precision(world):
    model, data = explained(world)
    for found in ask_batch(model.float(), data, QUESTIONS, top=ALL, explain=True):
        scores = [row.score for row in found]
        assert_allclose([row.reasons.score for row in found], scores, rtol=1e-4, atol=1e-4 * np.abs(scores).max())


def test_shares_are_those_of_decomposition_and_facts(world):
    model, data = explained(world, terms=["pair_history"])
    found = ask(model, data, "Ada", "leads", "?", "2000..2001", top=ALL, explain=True)
    why = reasons_of(found, "Bob")
    term, values = model.evidence["pair_history"], {}
    for t in (0, 1):
        for reason in term.reasons(0, 1, 1, t, model.decomposition.entity_rows()):
            values[reason.fact] = values.get(reason.fact, 0) + reason.value / 2
    s, p, o, t = (torch.tensor(ids) for ids in ([0, 0], [1, 1], [1, 1], [0, 1]))
    assert why.decomposition == pytest.approx(model.decomposition.score(s, p, o, t).mean().item())
    rows = told(data)
    assert dict(zip(facts_of(why), [fact.value for fact in why.facts], strict=True)) == pytest.approx(
        {rows[fact]: value for fact, value in values.items()}
    )


@pytest.mark.parametrize(
    ("question", "answer", "reasons"),
    [
        (("Ada", "leads", "?", "2001"), "Bob", {"Bob likes Ada": "at that time", "Bob knows Ada": "at that time"}),
        (("?", "leads", "Bob", "2001"), "Ada", {"Bob likes Ada": "at that time", "Bob knows Ada": "at that time"}),
        (("Ada", "?", "Bob", "2002"), "likes", {"Bob likes Ada": "1 year before", "Bob knows Ada": "at that time"}),
        (("Cy", "leads", "?", "2001"), "Ada", {"Cy likes Ada": "2 to 3 years after"}),
    ],
)
def test_facts_are_told_in_their_own_direction_with_their_distance(world, question, answer, reasons):
    found = ask(*explained(world), *question, top=ALL, explain=True)
    why = reasons_of(found, answer)
    lags = {" ".join(fact.keys): fact.lag for fact in why.facts}
    assert {name: lags[name] for name in reasons} == reasons
    assert "Ada likes Bob" not in lags
    assert {fact.subject for fact in why.facts if fact.keys[0] == "Ada"} <= {"Ada Lovelace"}


def test_a_fact_that_only_one_side_remembers_is_told_in_its_own_direction(world):
    rows = [(0, 0, 1, OPEN, OPEN), (0, 0, 2, OPEN, OPEN)]  # with a cap of 1, Ada's history has the first alone
    found = ask(*explained(world, rows, cap=1), "Cy", "likes", "?", "2001", top=ALL, explain=True)
    assert facts_of(reasons_of(found, "Ada")) == [(("Ada", "knows", "Cy"), None, None)]


def test_a_distance_that_differs_within_the_question_is_not_told(world):
    terms = ("pair_history", "context")  # those of the subject's facts
    several = ask(*explained(world, terms=terms), "Cy", "knows", "?", "2001..2003", top=ALL, explain=True)
    undated = ask(*explained(world, undated_row=True, terms=terms), "Cy", "knows", "?", None, top=ALL, explain=True)
    for found in (several, undated):
        facts = reasons_of(found, "Ada").facts
        assert [(fact.begin, fact.end, fact.lag) for fact in facts] == [("2003", "2006", None)]


@given(ROWS, st.integers(0, 2), st.integers(0, 2), st.integers(0, 5))
def test_the_fact_that_is_asked_for_is_never_a_reason(world, rows, s, p, t):
    model, data = explained(world, rows)
    subject, predicate, time = data.entities.key(s), data.predicates.key(p), data.timeline.label(t)
    for question in ((subject, predicate, "?", time), ("?", predicate, subject, time)):
        for row in ask(model, data, *question, top=ALL, explain=True):
            asked = tuple(row.key if part == "?" else part for part in question[:3])
            holding = [fact for fact in row.reasons.facts if fact.lag in ("at that time", "without a date")]
            assert asked not in [fact.keys for fact in holding]
            assert all(np.isfinite(fact.value) for fact in row.reasons.facts)


def test_a_fact_alone_is_no_reason_for_itself(world):
    found = ask(*explained(world, [(0, 1, 1, 0, 2)]), "Ada", "leads", "?", "2001", top=ALL, explain=True)
    assert [row.reasons.facts for row in found] == [()] * len(found)


def test_facts_at_further_timestamps_are_one_share(world, monkeypatch):
    monkeypatch.setattr(explain, "NAMED_AT", 2)
    model, data = explained(world)
    found = ask(model, data, "Ada", "leads", "?", None, top=ALL, explain=True)
    why = reasons_of(found, "Bob")
    assert why.others != 0
    assert "facts at other timestamps" in str(found)


def test_static_decompositions_with_evidence_are_asked_at_their_time(world):
    model, data = explained(world, name="complex")
    for time, t in (("2001", 1), ("2006", 5)):
        found = ask(model, data, "Ada", "leads", "?", time, top=ALL)
        scores = world.naive(model, 0, 1, None, t)
        assert_allclose([row.score for row in found], np.sort(scores)[::-1])
    assert_allclose(ask(model, data, *WHEN).scores, world.naive(model, 0, 1, 1, None), rtol=1e-5)


@pytest.mark.parametrize("question", [*QUESTIONS, WHEN])
def test_without_evidence_all_is_the_decompositions_and_a_note_says_so(world, question):
    found = ask(world.model(), world.dataset(), *question, top=ALL, explain=True)
    for why in [found.reasons] if question is WHEN else [row.reasons for row in found]:
        assert (why.facts, why.others) == ((), 0)
        assert why.note.startswith("this model has no evidence terms, so no facts explain its scores; train with")
    if question is not WHEN:
        assert_allclose([row.reasons.decomposition for row in found], [row.score for row in found])
    assert str(found).splitlines()[-1] == why.note
    assert "no evidence terms" in found._repr_html_()


@pytest.mark.parametrize("question", [*QUESTIONS, WHEN])
def test_reasons_are_in_json_only_where_they_were_asked_for(world, question):
    model, data = explained(world)
    plain = ask(model, data, *question, top=3).to_dict()
    why = json.loads(json.dumps(ask(model, data, *question, top=3, explain=True).to_dict()))
    holders = [why] if question is WHEN else why["answers"]
    for holder in holders:
        reasons = holder.pop("reasons")
        assert set(reasons) == {"decomposition", "facts", "others", "correction", "time", "note"}
        names = {"subject", "predicate", "object", "keys", "begin", "end", "lag", "value", "path"}
        assert all(set(fact) == names for fact in reasons["facts"])
        if question is not WHEN:
            total = reasons["decomposition"] + sum(fact["value"] for fact in reasons["facts"]) + reasons["others"]
            assert total == pytest.approx(holder["score"])
    assert why == json.loads(json.dumps(plain))


def test_reasons_change_no_answer(world):
    model, data = explained(world)
    plain, why = (ask_batch(model, data, QUESTIONS, top=4, explain=explain) for explain in (False, True))
    for one, other in zip(plain, why, strict=True):
        assert replace(other, rows=tuple(replace(row, reasons=None) for row in other)) == one
        assert one.to_polars().equals(other.to_polars())


def share(value, object="Iraq", begin="2014-03-02", end="2014-03-02", lag="1 day before"):
    return FactShare("Iran", "Make <statement>", object, ("Iran", "Make <statement>", object), begin, end, lag, value)


WHY = Explanation(
    4.1,
    (share(2.2), share(-0.5, lag=None, end=None), share(0.25, "Syria", None, None, "without a date"), share(0.2)),
    others=-0.03,
)


def test_people_see_the_largest_facts_under_each_answer():
    rows = (
        Answer("Iraq", "Iraq", 6.22, 0.9, known=False, spans=(), reasons=WHY),
        Answer("Oman", "Oman", 1.0, 0.1, known=False, spans=(), reasons=Explanation(-1.0, (share(2.0), share(0.001)))),
    )
    answers = Answers("Iran, Consult, ?, 2014-03-03", "object", rows, calibrated=True)
    assert str(answers).splitlines() == [
        "(Iran, Consult, ?, 2014-03-03)",
        "   object  probability  score  known",
        "1  Iraq         0.9000   6.22    new",
        "     decomposition                                            +4.10",
        "     Iran, Make <statement>, Iraq, 2014-03-02 (1 day before)  +2.20",
        "     Iran, Make <statement>, Iraq, 2014-03-02 to ?            -0.50",
        "     Iran, Make <statement>, Syria (without a date)           +0.25",
        "     and 1 more fact                                          +0.20",
        "     facts at other timestamps                                -0.03",
        "2  Oman         0.1000   1.00    new",
        "     decomposition                                            -1.00",
        "     Iran, Make <statement>, Iraq, 2014-03-02 (1 day before)  +2.00",
        "     and 1 more fact                                          +0.00",
        "probabilities are calibrated on validation facts",
        "the parts under an answer add up to its score",
    ]
    html = answers._repr_html_()
    assert '<tr><td colspan="4"><ul><li>decomposition +4.10</li><li>Iran, Make &lt;statement&gt;, Iraq' in html
    assert html.count("<tr>") == 5


def test_people_see_why_a_time_is_the_best():
    curve = np.array([0.25, 0.75])
    span = TimeSpan("2001", "2001", 0.75)
    why = replace(WHY, time="2001", facts=WHY.facts + WHY.facts, others=0.0)
    found = TimeAnswers("Ada, leads, Bob, ?", ["2000", "2001"], curve, curve, (span,), (), calibrated=True, reasons=why)
    lines = str(found).splitlines()
    start = lines.index("why 2001, with a score of 8.40:")
    assert lines[start + 1].split() == ["decomposition", "+4.10"]
    assert lines[start + 5].split() == ["and", "5", "more", "facts", "+2.35"]
    assert lines[-1] == "the parts under an answer add up to its score"
    assert "<p>why 2001, with a score of 8.40:</p><ul><li>decomposition +4.10</li>" in found._repr_html_()
