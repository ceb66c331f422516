"""The sampled softmax: right on average, equal to the full one where all are drawn, and never a large gradient."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

import knowwhen as kw
from knowwhen.errors import BadRequest
from knowwhen.models import EVIDENCE, Background, Sizes, Specification, build
from knowwhen.models.algebra import keep_rows, lookup, take_rows
from knowwhen.models.scores import Cells, Distance, Matrix, Product, Sparse
from knowwhen.models.tables import tables_of
from knowwhen.training.config import read_config
from knowwhen.training.loop import Learner, TrainingFacts
from knowwhen.training.objective import Objective
from knowwhen.training.sampled import Sample, Sampler, is_worth_it, negatives_for, sampled_cross_entropy

E = 12


def everything(targets):
    """A sample that is all there is."""
    return Sample(torch.arange(E), torch.ones(E), targets)


def scores_of(kind, generator):
    query, table = (torch.randn(n, 4, generator=generator).double() for n in (5, E))
    dense = {
        "product": lambda: Product(query, table),
        "distance": lambda: Distance(query, table, 2),
        "matrix": lambda: Matrix(query @ table.mT),
    }[kind.removesuffix(" with cells")]()
    if kind.endswith("cells"):
        rows, columns = torch.tensor([0, 0, 1, 3, 3, 3]), torch.tensor([2, 2, 5, 0, 7, 11])
        return Sparse(dense, Cells(rows, columns, torch.randn(6, generator=generator).double()))
    return dense


KINDS = ("product", "distance", "matrix", "product with cells", "distance with cells")


@pytest.mark.parametrize("kind", KINDS)
def test_all_candidates_give_the_full_softmax(kind):
    generator = torch.Generator().manual_seed(0)
    scores, targets = scores_of(kind, generator), torch.tensor([2, 3, 3, 0, 9])
    found = sampled_cross_entropy(scores, targets, everything(targets))
    assert_close(found, cross_entropy(scores.whole(), targets))


def test_as_many_draws_as_entities_are_all_entities_with_weight_one():
    sample = Sampler(torch.tensor([0, 0, 1]), E, E).draw(torch.tensor([0, 1]))
    assert sample.columns.tolist() == list(range(E))
    assert (sample.weights == 1).all()


@given(st.integers(0, 999), st.integers(1, E - 1), st.integers(1, 6))
def test_candidates_are_the_targets_and_different_draws(seed, negatives, batch):
    torch.manual_seed(seed)
    targets = torch.randint(E, (batch,))
    sample = Sampler(targets.repeat(3), E, negatives).draw(targets)
    assert len(sample.columns.unique()) == len(sample.columns) >= negatives
    assert sample.columns[sample.positions].equal(targets)
    assert (sample.weights >= 1).all()


@pytest.mark.parametrize(("negatives", "batch"), [(2, 3), (5, 2), (7, 5)])
def test_an_entity_is_as_often_among_the_candidates_as_its_weight_says(negatives, batch):
    """Of a random batch of the epoch that holds the row itself, whose target is another entity."""
    targets = torch.tensor([0, 0, 0, 0, 1, 1, 2, 3, 3, 5, 5, 5])
    sampler, rivals = Sampler(targets, E, negatives), torch.zeros(E)
    rng, rounds = np.random.default_rng(0), 5_000
    torch.manual_seed(0)
    others = np.flatnonzero(targets.numpy() != 2)
    for _ in range(rounds):  # the row with target 2 is always in
        rows = np.append(rng.choice(others, batch - 1, replace=False), 6)
        rivals[sampler.draw(targets[torch.from_numpy(rows)]).columns] += 1
    rivals, wanted = rivals / rounds, 1 / sampler._weights(batch)
    rivals[2] = wanted[2] = 0
    assert_close(rivals, wanted, atol=0.02, rtol=0)


@pytest.mark.parametrize("kind", ["product", "product with cells", "distance with cells"])
def test_the_sum_over_candidates_is_right_on_average(kind):
    """exp(loss) = Z / exp(target): its mean over batches and draws is that of the full softmax."""
    generator = torch.Generator().manual_seed(1)
    scores = scores_of(kind, generator)
    targets = torch.tensor([2, 3, 3, 0, 9, 2, 1, 4])  # of the epoch; the first five rows are scored
    sampler, rounds = Sampler(targets, E, 3), 500
    full = scores.whole()
    wanted = (full.logsumexp(-1) - full[torch.arange(5), targets[:5]]).exp()
    torch.manual_seed(0)
    found = torch.zeros(5).double()
    for _ in range(rounds):
        for row in range(5):  # in a batch of three: itself and two others of the epoch
            others = torch.tensor([i for i in range(8) if i != row])[torch.randperm(7)[:2]]
            drawn = sampler.draw(torch.cat([targets[row : row + 1], targets[others]]))
            sample = Sample(drawn.columns, drawn.weights, drawn.positions[:1])
            found[row] += sampled_cross_entropy(_row(scores, row), targets[row : row + 1], sample).exp()
    assert_close(found / rounds, wanted, rtol=0.08, atol=0)


def _row(scores, row):
    """One row of scores as scores."""
    dense, cells = scores.split()
    one = type(dense)(dense.query[row : row + 1], dense.table, *([dense.p] if isinstance(dense, Distance) else []))
    if cells is None:
        return one
    mine = cells.rows == row
    return Sparse(one, Cells(cells.rows[mine] - row, cells.columns[mine], cells.values[mine])) if mine.any() else one


def test_gradients_come_near_the_full_ones_as_more_are_drawn():
    generator = torch.Generator().manual_seed(2)
    query, table = (torch.randn(n, 4, generator=generator).double() for n in (40, 200))
    targets = torch.randint(200, (40,), generator=generator)

    def gradient(sample):
        rows = table.clone().requires_grad_()
        product = Product(query, rows)
        loss = (
            cross_entropy(product.whole(), targets)
            if sample is None
            else sampled_cross_entropy(product, targets, sample)
        )
        loss.backward()
        return rows.grad

    full, errors = gradient(None), []
    for negatives in (5, 50, 150, 200):
        torch.manual_seed(0)
        sampler = Sampler(targets.repeat(5), 200, negatives)
        found = [(gradient(sampler.draw(targets)) - full).norm().item() for _ in range(20)]
        errors.append(np.mean(found))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-6  # weights are of 32 bits


def test_rows_keep_their_gradients_and_no_table_gets_one():
    table = torch.nn.Parameter(torch.randn(6, 3).double())
    weights = torch.randn(4, 3).double()
    ids = torch.tensor([4, 1, 4, 0])
    (lookup(table, ids) * weights).sum().backward()
    dense, table.grad = table.grad, None
    keep_rows(table)
    (lookup(table, ids) * weights).sum().backward()
    assert table.grad is None
    rows, gradient = take_rows(table)
    assert rows.tolist() == [0, 1, 4]
    assert_close(gradient, dense[rows])
    assert take_rows(table) is None


def learner_of(name, sampling, optimizer="adagrad", evidence=(), averaging=0, **more):
    overrides = {"objective.sampling": sampling, "training.optimizer": optimizer, "training.averaging": averaging}
    config = read_config(None, {**overrides, "model.name": name, "training.batch_size": 6, **more})
    rng, sizes = np.random.default_rng(0), Sizes(20, 2, 4)
    columns = [rng.integers(0, n, 30) for n in (20, 2, 20)]
    facts = kw.Facts(*columns, *[rng.integers(0, 4, 30)] * 2)
    spec = Specification(name, sizes, {"rank": 3}, {term: {} for term in evidence})
    model = build(spec).double().initialise(torch.Generator().manual_seed(0))
    model.recall(Background(facts, np.arange(4), np.zeros((4, 3))))
    training = TrainingFacts(facts, sizes)
    return Learner(model, config), training, Objective.of(config, sampler=training.sampler(config))


def steps(learner, facts, objective, count):
    for i in range(count):
        torch.manual_seed(i)
        order, times = facts.epoch(0, i)
        learner.step(objective, facts.batch(order[:6], times))


@pytest.mark.parametrize("name", ["tntcomplex", "unioncomplex", "cp", "transe", "desimple"])
@pytest.mark.parametrize("evidence", [(), tuple(EVIDENCE)], ids=["alone", "with evidence"])
def test_with_all_entities_drawn_steps_are_those_of_the_full_softmax(name, evidence):
    full, sampled = (
        learner_of(name, sampling, evidence=evidence, **{"objective.negatives": 20}) for sampling in ("none", "uniform")
    )
    for one in (full, sampled):
        steps(*one, 4)
    for mine, theirs in zip(sampled[0].model.parameters(), full[0].model.parameters(), strict=True):
        assert_close(mine, theirs, rtol=1e-5, atol=1e-7)
    if not (name == "desimple" and evidence):  # whose rows of entities are joined from several tables
        assert all(t.weight.grad is None for t in tables_of(sampled[0].model).values() if t.axis == "entity")


@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
@pytest.mark.parametrize("averaging", [0, 3])
def test_row_sparse_steps_and_averages_are_the_dense_ones(optimizer, averaging, monkeypatch):
    """The same samples; in the one every row is touched, in the other only those that occur."""
    sparse = learner_of("tntcomplex", "uniform", optimizer, averaging=averaging, **{"objective.negatives": 3})
    dense = learner_of("tntcomplex", "uniform", optimizer, averaging=averaging, **{"objective.negatives": 3})
    for table in tables_of(dense[0].model).values():
        del table.weight.row_gradients
    dense[0].averages.known.clear()
    for one in (sparse, dense):
        steps(*one, 5)
    with sparse[0].averages.applied(), dense[0].averages.applied():
        for mine, theirs in zip(sparse[0].model.parameters(), dense[0].model.parameters(), strict=True):
            assert_close(mine, theirs)


def test_a_sampled_run_resumes_to_the_same_bits(tmp_path):
    settings = {"model.rank": 4, "training.batch_size": 500, "training.averaging": 5, "training.epochs": 3}
    settings |= {
        "objective.sampling": "uniform",
        "objective.negatives": 100,
        "model.evidence": ["pair_history", "context"],
    }
    whole = kw.train("leaders", run=tmp_path / "whole", overrides=settings)
    kw.train("leaders", run=tmp_path / "parts", overrides={**settings, "training.epochs": 1})
    parts = kw.train(None, run=tmp_path / "parts", resume=True, overrides={"training.epochs": 3})
    for name, table in parts.model.named_parameters():
        assert table.equal(dict(whole.model.named_parameters())[name]), name
    assert whole.evaluate("valid").mrr > 0.3


def test_more_negatives_than_entities_are_refused_before_a_run_begins(tmp_path):
    settings = {"objective.sampling": "uniform", "objective.negatives": 9000}
    with pytest.raises(BadRequest, match=r"objective.negatives is 9000, but there are only 1487 entities"):
        kw.train("leaders", run=tmp_path / "run", overrides=settings)
    assert not (tmp_path / "run" / "config.toml").exists()
    with pytest.raises(BadRequest, match=r"objective.negatives is -1: input should be greater than or equal to 0"):
        read_config(None, {"objective.negatives": -1})


def test_the_number_of_draws_goes_with_the_size_and_auto_takes_the_cheaper():
    assert [negatives_for(n, 0) for n in (500, 20_000, 432_715)] == [500, 1024, 2048]
    assert not is_worth_it(7128, 1000, 0) and is_worth_it(98_317, 1000, 0)
    assert math.isclose(Sampler(torch.tensor([0]), 100_000, 0)._weights(1)[5].item(), 100_000 / 2048, rel_tol=1e-5)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_entities_times_the_batch(forks):
    """Two million entities: tables and Adagrad's sums take 0.5 GB, a row of scores for each of a batch 8 GB."""
    options = ("--entities", "2000000", "--rank", "16", "--repeat", "1", "--sampling", "auto")
    done = forks.run(*options, code="from benchmarks.training import main; main()")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["candidates"] < 4000
    assert found["peak_gigabytes"] < 2.5
