"""Losses over negatives and over all entities, beside their definitions a number at a time."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.testing import assert_close

import knowwhen as kw
from knowwhen import chunks
from knowwhen.errors import BadRequest
from knowwhen.facts.table import Facts
from knowwhen.models import Sizes, Specification, build
from knowwhen.training import beginning, negatives
from knowwhen.training.config import read_config
from knowwhen.training.loop import TrainingFacts
from knowwhen.training.objective import Batch, Objective
from tests.models.kinds_of_scores import cases, gradients, naive_gradients

X = torch.tensor([[2.0, -1.0, 0.5], [-0.5, 1.0, 0.0]], dtype=torch.float64)  # the target first


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_the_softmax_is_over_the_target_and_its_own_negatives():
    wanted = [-math.log(math.exp(row[0]) / sum(map(math.exp, row))) for row in X.tolist()]
    assert float(negatives.softmax_loss(X)) == pytest.approx(np.mean(wanted))


def test_the_margin_is_kept_from_each_negative():
    # 1.5 − 2 − 1 < 0; 1.5 − 2 + 0.5 = 0; 1.5 + 0.5 + 1 = 3; 1.5 + 0.5 + 0 = 2
    assert float(negatives.margin_loss(X, 1.5)) == pytest.approx((0 + 0 + 3 + 2) / 4)


@pytest.mark.parametrize("adversarial", [0.0, 0.7])
def test_negative_sampling_is_that_of_rotate(adversarial):
    margin, wanted = 2.0, []
    for target, *others in X.tolist():
        weights = np.exp(np.array(others) * adversarial)
        weights /= weights.sum()
        missed = sum(w * math.log(sigmoid(-margin - x)) for w, x in zip(weights, others, strict=True))
        wanted.append(-(math.log(sigmoid(margin + target)) + missed) / 2)
    assert float(negatives.negative_sampling_loss(X, margin, adversarial)) == pytest.approx(np.mean(wanted))


def test_the_weights_of_negatives_are_not_learned_from():
    x = X.clone().requires_grad_()
    negatives.negative_sampling_loss(x, 1.0, 5.0).backward()
    assert (x.grad[:, 1:] >= 0).all() and (x.grad[:, 0] <= 0).all()


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_binary_cross_entropy_of_a_target_and_its_negatives(smoothing):
    labels = torch.tensor([[1.0, 0, 0]] * 2).double() * (1 - smoothing) + smoothing / 3
    assert_close(negatives.binary_loss(X, smoothing), binary_cross_entropy_with_logits(X, labels))


@settings(max_examples=40)
@given(cases(), st.sampled_from([0.0, 0.2]), st.integers(0, 9))
def test_binary_cross_entropy_of_all_entities(case, smoothing, seed):
    """Value and gradient, in blocks of a column, for every kind of scores and any number of true ones."""
    made = case.made()
    true = torch.rand(made.scores.rows, made.scores.columns, generator=torch.Generator().manual_seed(seed)) < 0.4
    labels = true.double() * (1 - smoothing) + smoothing / made.scores.columns
    wanted = binary_cross_entropy_with_logits(made.whole, labels)
    theirs = naive_gradients(made, wanted)
    limit, chunks.SCORE_BYTES = chunks.SCORE_BYTES, 4 * made.scores.rows * made.scores.depth
    try:
        loss = negatives.binary_loss_of_all(made.scores, *true.nonzero(as_tuple=True), smoothing)
        loss.backward()
    finally:
        chunks.SCORE_BYTES = limit
    assert_close(loss, wanted)
    for mine, other in zip(gradients(made), theirs, strict=True):
        assert_close(mine, other)


def test_negatives_are_drawn_for_each_fact_by_torchs_seed():
    from knowwhen.models.scores import Matrix

    matrix = torch.arange(12.0).view(2, 6)
    drawn = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        drawn.append(negatives.with_negatives(Matrix(matrix), torch.tensor([4, 1]), 50))
    assert drawn[0].shape == (2, 51) and drawn[0][:, 0].tolist() == [4, 7]
    assert drawn[0].equal(drawn[1]) and not drawn[0].equal(drawn[2])
    assert set(drawn[0][0].tolist()) == set(matrix[0].tolist()), "the target may be drawn again: none is left out"
    assert set(drawn[0][1].tolist()) == set(matrix[1].tolist())


def objective_and_model(**changes):
    config = read_config(None, {f"objective.{key}": value for key, value in changes.items()})
    facts = Facts(*(np.array(column) for column in ([0, 0, 1], [0, 0, 1], [2, 3, 2], [0, 0, 1], [1, 0, 1])))
    model = build(Specification("tcomplex", Sizes(5, 2, 3), {"rank": 3})).initialise(torch.Generator().manual_seed(0))
    known = TrainingFacts(facts, model.sizes).known(config)
    return Objective.of(config, known=known), model


@pytest.mark.parametrize(("labels", "true"), [("target", [2]), ("known", [2, 3])])
def test_all_that_train_knows_at_that_time_is_true_in_k_vs_all(labels, true):
    objective, model = objective_and_model(loss="binary", labels=labels)
    s, p, o, t = (torch.tensor([i]) for i in (0, 0, 2, 0))
    wanted = torch.zeros(1, 5)
    wanted[0, true] = 1
    loss = objective.object_loss(model, Batch(s, p, o, t, torch.tensor([True])))
    assert_close(loss, binary_cross_entropy_with_logits(model.objects(s, p, t).whole(), wanted))
    # At time 1 only (0, 0, 2) holds; from the other side (2, 0 + P) knows 0 at both.
    if labels == "known":
        later = objective._true(model.objects(s, p, t), Batch(s, p, o, t + 1, torch.tensor([True])))
        other = objective._true(model.objects(o, p + 2, t), Batch(o, p + 2, s, t, torch.tensor([True])))
        assert [x.tolist() for x in later] == [[0], [2]] and [x.tolist() for x in other] == [[0], [0]]


@pytest.mark.parametrize(
    "changes",
    [
        {"loss": "margin", "sampling": "each", "negatives": 5, "margin": 4.0},
        {"loss": "negative_sampling", "sampling": "each", "negatives": 5, "margin": 6.0, "adversarial": 1.0},
        {"loss": "softmax", "sampling": "each", "negatives": 20},
        {"loss": "binary", "sampling": "each", "negatives": 5, "label_smoothing": 0.1},
        {"loss": "binary", "labels": "known", "label_smoothing": 0.1},
    ],
    ids=lambda changes: f"{changes['loss']} {changes.get('sampling', 'none')}",
)
def test_every_loss_trains_a_model_and_resumes(changes, tmp_path):
    """Twice the same, with Adam: what is drawn depends on the seed alone."""
    overrides = {f"objective.{key}": value for key, value in changes.items()}
    overrides |= {
        "model.name": "transe",
        "model.rank": 4,
        "training.optimizer": "adam",
        "training.learning_rate": 0.01,
    }
    overrides |= {"training.epochs": 2, "training.batch_size": 1000, "validation.every": 0}
    first = kw.train("leaders", overrides=overrides | {"training.epochs": 1}, run=tmp_path / "run")
    resumed = kw.train(None, run=tmp_path / "run", resume=True, overrides={"training.epochs": 2})
    whole = kw.train("leaders", overrides=overrides)
    assert resumed.records == whole.records and whole.records[1]["objects"] < first.records[0]["objects"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "margin"}, "^objective.loss = margin needs objective.sampling = each, not none$"),
        ({"loss": "binary", "sampling": "uniform"}, "^objective.loss = binary goes with .* none or each, not uniform$"),
        ({"sampling": "each"}, "^objective.sampling = each needs objective.negatives of at least 1$"),
        ({"labels": "known"}, "^objective.labels = known needs objective.loss = binary and objective.sampling = none$"),
        ({"label_smoothing": 0.1}, "^objective.label_smoothing needs objective.loss = binary, not softmax$"),
        ({"adversarial": 1.0}, "^objective.adversarial needs objective.loss = negative_sampling, not softmax$"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(changes, message):
    with pytest.raises(BadRequest, match=message):
        read_config(None, {f"objective.{key}": value for key, value in changes.items()})


def test_losses_of_negatives_are_not_for_several_processes(monkeypatch):
    monkeypatch.setattr(beginning, "current", lambda: object())
    config = read_config(None, {"objective.sampling": "each", "objective.negatives": 5})
    with pytest.raises(BadRequest, match=r"sampling = each needs a single process"):
        beginning.check_fits(config, kw.load("leaders"))
