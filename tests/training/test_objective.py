"""The objective against the paper's equations, written out with torch's own softmax."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from knowwhen.facts.table import Facts
from knowwhen.models import EVIDENCE, Background, Sizes, Specification, build
from knowwhen.training.config import read_config
from knowwhen.training.objective import Batch, Objective, total
from knowwhen.training.optimizers import optimizer_for
from knowwhen.training.regularizers import omega3, smoothness


def case(name="tntcomplex", evidence=(), **overrides):
    config = read_config(None, overrides)
    terms = {term: {"lags": (1, 3)} for term in evidence}
    model = build(Specification(name, Sizes(6, 2, 4), {"rank": 3}, terms)).double()
    for i, table in enumerate(model.parameters()):
        torch.nn.init.normal_(table, generator=torch.Generator().manual_seed(i))
    generator = torch.Generator().manual_seed(9)
    s, p, o, t = (torch.randint(n, (8,), generator=generator) for n in (6, 4, 6, 4))
    batch = Batch(s, p, o, t, torch.tensor([True, False] * 4))
    return model, batch, Objective.of(config)


def test_the_sum_of_all_terms_is_the_papers_objective():
    model, b, objective = case(
        **{"objective.time_weight": 0.5, "regularizer.embedding_weight": 0.2, "regularizer.time_weight": 0.3}
    )
    objects = cross_entropy(model.objects(b.s, b.p, b.t).whole(), b.o)
    d = b.dated
    times = cross_entropy(model.times(b.s[d], b.p[d], b.o[d]).whole(), b.t[d], reduction="sum") / len(b)
    penalties = 0.2 * omega3(model.decomposition.factors(b.s, b.p, b.o, b.t))
    penalties = penalties + 0.3 * smoothness(model.decomposition.w(), 3)
    terms = objective.terms(model, b)
    assert_close(terms["objects"], objects)
    assert_close(terms["times"], 0.5 * times)
    assert_close(total(terms), objects + 0.5 * times + penalties)


@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        ({"regularizer.embedding": "none", "regularizer.time_weight": 0}, {"objects"}),
        ({"regularizer.embedding": "delta4", "regularizer.time_weight": 0}, {"objects", "embedding_penalty"}),
        ({"regularizer.embedding_weight": 0}, {"objects", "time_penalty"}),
    ],
)
def test_terms_that_are_switched_off_are_not_computed(overrides, names):
    model, batch, objective = case(**overrides)
    assert set(objective.terms(model, batch)) == names


def test_a_static_model_has_no_terms_of_time():
    model, batch, objective = case("complex", **{"objective.time_weight": 1.0})
    assert set(objective.terms(model, batch)) == {"objects", "embedding_penalty"}


def test_a_batch_without_dated_facts_has_no_time_loss():
    model, b, objective = case(**{"objective.time_weight": 1.0})
    undated = Batch(b.s, b.p, b.o, b.t, torch.zeros(8, dtype=torch.bool))
    assert "times" not in objective.terms(model, undated)


def test_dropout_learns_the_first_facts_of_a_batch_without_evidence():
    model, b, objective = case(evidence=EVIDENCE, **{"evidence.dropout": 0.25})
    rows = np.array([(0, 0, 1, 2, 2), (2, 1, 3, 0, 0), (4, 0, 1, 3, 3)] * 2 + [(i, 1, 5 - i, 1, 1) for i in range(6)])
    for term in model.terms:
        term.initialise(torch.Generator().manual_seed(1))
    model.recall(Background(Facts(*rows.T.copy()), np.arange(4), np.zeros((4, 3))))
    alone = model.decomposition.objects(b.s, b.p, b.t).whole()
    together = model.objects(b.s, b.p, b.t).whole()
    assert not torch.isclose(alone, together).all(1)[:2].all()  # there is evidence to drop
    assert_close(objective.object_loss(model, b), cross_entropy(torch.cat([alone[:2], together[2:]]), b.o))


def apart():
    """Decomposition and evidence that are learned apart, each batch's facts being rows of train."""
    rows = np.array([(i, p, 4 + p, i, i) for i in range(4) for p in range(2)])  # all share both neighbours
    overrides = {"regularizer.embedding": "none", "regularizer.time_weight": 0.0}
    model, _, objective = case(**overrides)
    terms = {term: {"lags": (1, 3)} for term in EVIDENCE}
    spec = Specification("tntcomplex", Sizes(6, 2, 4), {"rank": 3}, terms, apart=True, leave_out="itself")
    model = build(spec).double().initialise(torch.Generator().manual_seed(0))
    model.recall(Background(Facts(*rows.T.copy()), np.arange(4), np.zeros((4, 3))))
    s, p, o, t, _ = (torch.tensor(column) for column in rows.T)
    others = torch.tensor([0, 0, 3]), torch.tensor([5, 2, 1])
    return model, Batch(s, p, o, t, torch.ones(8, dtype=torch.bool), torch.arange(8), others), objective


def test_apart_each_half_has_its_own_loss_and_other_answers_are_no_rivals_of_evidence():
    model, b, objective = apart()
    decomposition, evidence = (x.whole() for x in model.objects_apart(b.s, b.p, b.t, b.asked))
    evidence[b.others] = -torch.inf
    terms = objective.terms(model, b)
    assert set(terms) == {"objects", "evidence"}
    assert_close(terms["objects"], cross_entropy(decomposition, b.o))
    assert_close(terms["evidence"], cross_entropy(evidence, b.o))
    terms["evidence"].backward()
    assert all(table.grad is None for table in model.decomposition.parameters())
    assert any(table.grad.any() for table in model.evidence["path_history"].parameters())


def test_the_halves_add_up_to_the_model_with_weights():
    model, b, _ = apart()
    decomposition, evidence = (x.whole() for x in model.objects_apart(b.s, b.p, b.t, None))
    weights = torch.tensor([0.1, 0.5, 0.0, 2.0], dtype=torch.float64)
    assert_close(model.weighted(weights).objects(b.s, b.p, b.t).whole(), weights[b.p, None] * decomposition + evidence)


def test_evidence_may_have_a_learning_rate_of_its_own():
    model, _, _ = apart()
    settings = {"model.evidence": list(EVIDENCE), "evidence.learning_rate": 0.3, "training.learning_rate": 0.1}
    groups = optimizer_for(model, read_config(None, settings)).param_groups
    rates = {id(table): group["lr"] for group in groups for table in group["params"]}
    assert {name: rates[id(x)] for name, x in model.named_parameters()} == {
        name: 0.3 if name.startswith("evidence.") else 0.1 for name, _ in model.named_parameters()
    }
    groups = optimizer_for(model, read_config(None, {**settings, "evidence.learning_rate": 0.0})).param_groups
    assert [group["lr"] for group in groups] == [0.1]
