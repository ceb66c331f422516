"""One contract for all models: every scorer is a slice of the tensor that the model's formula defines."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from knowwhen.models import MODELS, Sizes
from knowwhen.models.algebra import as_complex


@dataclass(frozen=True)
class Case:
    name: str
    sizes: Sizes
    rank: int
    batch: int
    seed: int

    def model(self):
        generator = torch.Generator().manual_seed(self.seed)
        model = MODELS[self.name](self.sizes, self.rank).double()
        with torch.no_grad():
            for table in model.parameters():
                table.copy_(torch.randn(table.shape, generator=generator, dtype=torch.float64))
        return model

    def facts(self):
        generator = torch.Generator().manual_seed(self.seed + 1)
        E, P, T = self.sizes.entities, self.sizes.predicates, self.sizes.timestamps + self.sizes.undated_row
        return [torch.randint(n, (self.batch,), generator=generator) for n in (E, 2 * P, E, T)]


@st.composite
def cases(draw):
    small = st.integers(1, 5)
    sizes = Sizes(draw(small), draw(small), draw(small), draw(st.booleans()))
    return Case(draw(st.sampled_from(sorted(MODELS))), sizes, draw(small), draw(small), draw(st.integers(0, 99)))


def naive_tensor(model, tables=None):  # (E, 2P, E, T)
    """Each formula once more, as one einsum in float64 over all its tables."""
    tables = tables or {name: table.detach() for name, table in model.named_parameters()}
    T = model.sizes.timestamps + model.sizes.undated_row
    if model.name in ("cp", "distmult"):
        u, w = (tables["subject"], tables["object"]) if model.name == "cp" else (tables["entity"], tables["entity"])
        static = torch.einsum("sr,pr,or->spo", u, tables["predicate"], w)
        return static[..., None].expand(-1, -1, -1, T)
    c = {name: as_complex(table) for name, table in tables.items()}
    u = c["entity"]
    if model.name == "complex":
        static = torch.einsum("sr,pr,or->spo", u, c["predicate"], u.conj()).real
        return static[..., None].expand(-1, -1, -1, T)
    if model.name == "tcomplex":
        return torch.einsum("sr,pr,or,tr->spot", u, c["predicate"], u.conj(), c["timestamp"]).real
    if model.name == "tntcomplex":
        temporal = torch.einsum("sr,pr,or,tr->spot", u, c["predicate_temporal"], u.conj(), c["timestamp"]).real
        static = torch.einsum("sr,pr,or->spo", u, c["predicate_static"], u.conj()).real
        return temporal + static[..., None]
    if model.name in ("unioncomplex", "timeplex"):
        w = c["timestamp"]
        static = torch.einsum("sr,pr,or->spo", u, c["predicate_static"], u.conj()).real
        timed = torch.einsum("pr,or,tr->pot", c["predicate_timed"], u.conj(), w).real
        X = static[..., None] + torch.einsum("sr,or,tr->sot", u, u.conj(), w).real[:, None] + timed
        if model.name == "unioncomplex":
            v, w = c["predicate_temporal"], c["timestamp_temporal"]
            X = X + torch.einsum("sr,pr,or,tr->spot", u, v, u.conj(), w).real
        return X
    raise AssertionError(f"write the tensor of {model.name} here: no model goes without this test")


@given(cases())
def test_every_scorer_agrees_with_the_tensor(case):
    model, (s, p, o, t) = case.model(), case.facts()
    X = naive_tensor(model)
    T = case.sizes.timestamps
    assert_close(model.score(s, p, o, t), X[s, p, o, t])
    assert_close(model.score_objects(s, p, t), X[s, p, :, t])
    assert_close(model.score_timestamps(s, p, o), X[s, p, o, :T])
    assert_close(model.score_predicates(s, o, t), X[s, :, o, t])
    assert_close(model.query(s, p, t) @ model.candidates().mT, X[s, p, :, t])


@given(cases())
def test_a_batch_is_its_facts_one_by_one(case):
    model, facts = case.model(), case.facts()
    one_by_one = torch.cat([model.score(*(column[i : i + 1] for column in facts)) for i in range(case.batch)])
    assert_close(model.score(*facts), one_by_one)


@given(cases())
def test_parameters_are_counted_as_stored(case):
    model = case.model()
    shapes = model.table_shapes(case.sizes, case.rank).values()
    assert model.parameter_count() == sum(rows * columns for rows, columns in shapes)


@given(cases())
def test_the_undated_row_is_off_the_time_axis(case):
    model = case.model()
    assert len(model.time_axis()) == case.sizes.timestamps
    if model.temporal:
        assert len(model.timestamp) == case.sizes.timestamps + case.sizes.undated_row


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_table_of_a_model_is_learned(name):
    """Each parameter gets a gradient from the object loss or the time loss: none is stored for nothing."""
    case = Case(name, Sizes(4, 2, 3, undated_row=False), rank=2, batch=5, seed=0)
    model, (s, p, o, t) = case.model(), case.facts()
    model.score(s, p, o, t).square().sum().backward()
    assert all(table.grad is not None and table.grad.abs().sum() > 0 for table in model.parameters())


def test_initial_tables_are_small_and_depend_on_the_seed_alone():
    first, again, other = (
        MODELS["tntcomplex"](Sizes(50, 5, 5), 8).initialise(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert_close(first.entity, again.entity, rtol=0, atol=0)
    assert (first.entity != other.entity).any()
    assert 0.008 < first.entity.std() < 0.012


@given(cases())
def test_gradients_are_those_of_the_tensor(case):
    """The look-up that adds rows in place gives what autograd gives for the naive einsum."""
    model, (s, p, o, t) = case.model(), case.facts()
    (model.score(s, p, o, t) ** 2).sum().backward()
    ours = [table.grad.clone() for table in model.parameters()]
    tables = {name: table.detach().requires_grad_() for name, table in model.named_parameters()}
    X = naive_tensor(model, tables)
    naive = torch.autograd.grad((X[s, p, o, t] ** 2).sum(), tables.values())
    for mine, theirs in zip(ours, naive, strict=True):
        assert_close(mine, theirs)


def copied(model, tables):
    with torch.no_grad():
        for name, table in model.named_parameters():
            table.copy_(tables.get(name, torch.zeros_like(table)))
    return model


def test_the_union_contains_its_parts():
    """With some tables zero it is TNTComplEx, with others TIMEPLEX."""
    case = Case("tntcomplex", Sizes(4, 2, 3), rank=3, batch=6, seed=0)
    part, facts = case.model(), case.facts()
    tables = dict(part.named_parameters())
    tables["timestamp_temporal"] = tables.pop("timestamp")
    union = copied(MODELS["unioncomplex"](case.sizes, case.rank).double(), tables)
    assert_close(union.score(*facts), part.score(*facts))

    part = Case("timeplex", Sizes(4, 2, 3), rank=3, batch=6, seed=0).model()
    union = copied(MODELS["unioncomplex"](case.sizes, case.rank).double(), dict(part.named_parameters()))
    assert_close(union.score(*facts), part.score(*facts))
