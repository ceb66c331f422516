"""What can be evaluated: trained models, models, and anything that gives a fact a number."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import knowwhen as kw
from knowwhen.errors import BadRequest, NonFiniteScores
from knowwhen.evaluation import Protocol, evaluate, ranks_of
from knowwhen.evaluation.scorers import scorer_of
from knowwhen.models import Sizes, Specification, build

PROTOCOLS = [Protocol(), Protocol("static", times="all"), Protocol("raw", "pessimistic", "objects", times=3, seed=5)]


class OnlyScore:
    """A user's class with no more than one method."""

    def __init__(self, X):
        self.X = X  # (E, P, E, T)

    def score(self, s, p, o, t):
        return self.X[s, p, o, t]


@pytest.fixture
def scorer(world):
    data = world.dataset()
    sizes = len(data.entities), len(data.predicates), len(data.entities), len(data.timeline)
    return OnlyScore(torch.randint(0, 5, sizes, generator=torch.Generator().manual_seed(0)).float())


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("split", ["valid", "test"])
def test_a_class_with_only_score_ranks_as_a_loop_does(world, scorer, protocol, split):
    """Both directions ask the same tensor: a subject's rivals stand in the subject's place."""
    data = world.dataset()
    found = ranks_of(scorer, data, split, protocol)
    known = {
        (s, p, o): [*filter(lambda fact: tuple(fact[:3]) == (s, p, o), facts)]
        for facts in [data.known_to(split).facts.rows().tolist()]
        for s, p, o, *_ in facts
    }

    def is_known(s, p, o, t):
        spans = known.get((s, p, o), [])
        if protocol.filter != "time":
            return bool(spans) and protocol.filter == "static"
        return any((b < 0 or b <= t) and (e < 0 or t <= e) for *_, b, e in spans)

    for row in found.iter_rows(named=True):
        s, o = (data.entities.id(row[name]) for name in ("subject", "object"))
        p, t = data.predicates.id(row["predicate"]), data.timeline.labels().index(row["time"])
        answer = o if row["asked"] == "object" else s
        others = [e for e in range(len(data.entities)) if e != answer]
        facts = [(s, p, e, t) if row["asked"] == "object" else (e, p, o, t) for e in others]
        rivals = [fact for fact in facts if not is_known(*fact)]
        scores = [float(scorer.X[fact]) for fact in rivals]
        target = float(scorer.X[s, p, o, t])
        assert row["better"] == sum(score > target for score in scores)
        assert row["equal"] == sum(score == target for score in scores)


def test_numbers_may_come_as_arrays_or_lists(world, scorer):
    class Numpy:
        def score(self, s, p, o, t):
            return scorer.X.double().numpy()[np.asarray(s), np.asarray(p), np.asarray(o), np.asarray(t)]

    class Lists:
        def score(self, *facts):
            return [float(scorer.X[fact]) for fact in zip(*(ids.tolist() for ids in facts), strict=True)]

    metrics = [evaluate(one, world.dataset(), "valid") for one in (scorer, Numpy(), Lists())]
    assert metrics[0] == metrics[1] == metrics[2]


@pytest.mark.parametrize("undated_row", [False, True])
def test_a_model_by_its_score_alone_ranks_as_the_model_does(world, undated_row):
    model, data = world.model("complex", undated_row), world.dataset()

    class Own:
        def score(self, s, p, o, t):
            with torch.no_grad():
                return model.score(s, p, o, t)

    found, expected = (ranks_of(one, data, "valid", Protocol(directions="objects")) for one in (Own(), model))
    columns = ["subject", "object", "better", "equal"]
    assert found.select(columns).equals(expected.select(columns))


@pytest.fixture(scope="module")
def trained():
    return kw.train("leaders", rank=2, epochs=1, overrides={"dating.passes": 0})


def test_a_trained_model_brings_its_data(trained):
    expected = trained.evaluate("valid", sample=50)
    assert evaluate(trained, split="valid", sample=50) == expected
    assert evaluate(trained, kw.load("leaders"), "valid", sample=50) == expected
    assert evaluate(trained.model, trained.dataset, "valid", sample=50) == expected
    assert kw.evaluate is evaluate


def test_what_was_added_is_left_out(trained):
    more = trained.add([("Ada", "citizen of", "France", 2030)])
    assert evaluate(more, sample=50) == trained.evaluate(sample=50)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda trained, data: evaluate("runs/mine", data), "cannot evaluate 'runs/mine'; expected a trained model"),
        (lambda trained, data: evaluate(OnlyScore(None)), "name the data to evaluate OnlyScore on"),
        (
            lambda trained, data: evaluate(trained, "facts.csv"),
            "'facts.csv'; expected a Dataset, as kw.load returns",
        ),
        (lambda trained, data: evaluate(trained, data), "small has different names from leaders, on which"),
        (lambda trained, data: evaluate(trained.model, data), "is for 1487 entities, .* small has 7 entities"),
        (lambda trained, data: evaluate(Short(), data), r"Short.score returned numbers of shape \(1,\) for 14 facts"),
    ],
)
def test_mistakes_are_said(world, trained, make, message):
    with pytest.raises(BadRequest, match=message):
        make(trained, replace(world.dataset(), valid=world.dataset().test))


def test_scores_that_are_not_finite_are_an_error(world):
    with pytest.raises(NonFiniteScores, match="Nowhere gave scores that are not finite"):
        evaluate(type("Nowhere", (), {"score": lambda self, s, *_: s / 0.0 - s / 0.0})(), world.dataset())


class Short:
    def score(self, s, p, o, t):
        return torch.zeros(1)


def test_a_model_is_taken_as_it_is(world):
    data = world.dataset()
    model = build(Specification("tntcomplex", Sizes.of(data), {"rank": 2}))
    assert scorer_of(model, data) == (model, data)
