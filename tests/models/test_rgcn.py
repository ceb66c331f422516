"""R-GCN in a training step: the facts of the step do not tell their own answer, and the graph is encoded once."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from knowwhen.facts.table import Facts
from knowwhen.models import Background, Sizes, Specification, build
from knowwhen.training.config import read_config
from knowwhen.training.loop import Learner
from knowwhen.training.objective import Batch, Objective

E, P, T = 6, 2, 3
ROWS = [(0, 0, 1), (1, 1, 2), (2, 0, 3), (3, 1, 0), (4, 0, 1), (0, 1, 0), (2, 0, 3)]  # one twice, one of itself


def background(rows):
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    zero = np.zeros(len(rows), np.int64)
    return Background(Facts(*columns, zero, zero), np.arange(T), np.ones((T, 3), np.int64))


def new_model(rows=ROWS, evidence=()):
    options = {"rank": 4, "bases": 2, "dropout": 0.0}
    spec = Specification("rgcn", Sizes(E, P, T), options, {name: {} for name in evidence})
    return build(spec).recall(background(rows)).initialise(torch.Generator().manual_seed(0))


def ids(*facts):
    return [torch.tensor(column) for column in zip(*facts, strict=True)]


@pytest.mark.parametrize(
    "asked",
    [
        [(0, 0, 1)],
        [(1, P, 0)],  # the same from the other side
        [(2, 0, 3), (1, 1, 2)],
        [(0, 1, 0)],
        [(5, 0, 5)],  # no edge at all
        ROWS,
    ],
)
def test_the_edges_of_a_step_are_hidden_from_both_sides(asked):
    model = new_model().decomposition.train()
    hidden = {(s, p, o) if p < P else (o, p - P, s) for s, p, o in asked}
    without = new_model([row for row in ROWS if row not in hidden]).decomposition
    s, p, o = ids(*asked)
    whole = model.entity_rows()
    with model.step(s, p, o):
        inside = model.entity_rows()
        assert_close(model.objects(s, p, p * 0).whole(), without.objects(s, p, p * 0).whole())
    assert_close(inside, without.entity_rows())
    assert torch.equal(inside, whole) == (not hidden & set(ROWS))
    assert_close(model.entity_rows(), whole)


def test_the_edges_are_back_after_a_step_that_failed():
    model = new_model().decomposition
    whole = model.entity_rows()
    try:
        with model.step(*ids((0, 0, 1))):
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert_close(model.entity_rows(), whole)


@pytest.fixture
def encodings(monkeypatch):
    """Counts them."""
    from knowwhen.models.encoders.rgcn import RGCN

    made, encode = [], RGCN._encode
    monkeypatch.setattr(RGCN, "_encode", lambda model: made.append(model.training) or encode(model))
    return made


@pytest.mark.parametrize("evidence", [(), ("pair_history", "context")])
@pytest.mark.parametrize("embedding", ["omega3", "delta2"])
def test_a_step_encodes_once(encodings, evidence, embedding):
    model = new_model(evidence=evidence).train()
    config = read_config(None, {"model.name": "rgcn", "regularizer.embedding": embedding})
    learner, (s, p, o) = Learner(model, config), ids(*ROWS)
    batch = Batch(s, p, o, torch.zeros_like(s), torch.ones_like(s, dtype=torch.bool))
    encodings.clear()  # building looks at the shape of rows
    for step in range(3):
        learner.step(Objective.of(config), batch)
        assert len(encodings) == step + 1


def test_where_nothing_is_learned_it_encodes_once_until_something_changes(encodings):
    model = new_model().eval()
    s, p, o = ids(*ROWS)
    with torch.no_grad():
        for _ in range(3):
            model.objects(s, p, s * 0).whole()
            model.score(s, p, o, s * 0)
        assert len(encodings) == 1
        before = model.decomposition.entity_rows().clone()
        model.decomposition.x.weight.mul_(2)
        assert not torch.equal(model.decomposition.entity_rows(), before) and len(encodings) == 2
        model.recall(background(ROWS[:3]))
        model.decomposition.entity_rows()
        assert len(encodings) == 3
        model.train().decomposition.entity_rows()
        assert encodings == [False, False, False, True]


def test_every_step_of_an_optimizer_is_seen_in_evaluation():
    """What is kept between evaluations is not that of earlier weights, whatever the optimizer does to them in place."""
    for optimizer in ("adagrad", "adam"):
        config = read_config(None, {"model.name": "rgcn", "training.optimizer": optimizer, "training.averaging": 3})
        model = new_model()
        learner, (s, p, o) = Learner(model, config), ids(*ROWS)
        batch = Batch(s, p, o, torch.zeros_like(s), torch.ones_like(s, dtype=torch.bool))
        for _ in range(3):
            learner.step(Objective.of(config), batch)
            with torch.no_grad():
                kept = model.eval().decomposition.entity_rows()
                assert_close(kept, model.decomposition._encode())
                with learner.averages.applied():
                    assert_close(model.decomposition.entity_rows(), model.decomposition._encode())
                assert_close(model.decomposition.entity_rows(), kept)
            model.train()
