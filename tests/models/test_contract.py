"""One contract for all models: every scorer is a slice of the tensor that the model's formula defines."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from knowwhen.facts.table import Facts
from knowwhen.models import MODELS, Background, Decomposition, Sizes
from knowwhen.models.tables import Axis, tables_of
from tests.models.naive import NAIVE

# Sizes of everything, so that one test fits all models.
SMALL = {"rank": 3, "predicate_rank": 2, "time_rank": 2, "layers": 2, "bases": 2, "static_share": 0.5, "knots": 3}
FEW = settings(max_examples=4)  # of each model
every_model = pytest.mark.parametrize("name", sorted(MODELS))


def options(name, **more):
    fields = MODELS[name].Options.model_fields
    return MODELS[name].Options(**{key: value for key, value in (SMALL | more).items() if key in fields})


@dataclass(frozen=True)
class Case:
    name: str
    sizes: Sizes
    options: object
    batch: int
    seed: int

    def model(self):
        """A model with random values for everything that is learned or counted, in evaluation."""
        generator = torch.Generator().manual_seed(self.seed)
        model = MODELS[self.name](self.sizes, self.options).double().eval()
        model.recall(self.background())
        with torch.no_grad():
            for tensor in [*model.parameters(), *model.buffers()]:
                if tensor.is_floating_point() and tensor is not getattr(model, "calendar", None):
                    tensor.copy_(torch.randn(tensor.shape, generator=generator, dtype=torch.float64))
            for name, buffer in model.named_buffers():
                if name.endswith("running_var"):
                    buffer.abs_().add_(0.5)
        return model

    def background(self):
        rng = np.random.default_rng(self.seed)
        columns = (rng.integers(0, n, 6) for n in (self.sizes.entities, self.sizes.predicates, self.sizes.entities))
        facts = Facts(*columns, *(np.zeros(6, np.int64) for _ in range(2)))
        T = self.sizes.timestamps
        calendar = np.stack([np.arange(T) % 3, np.arange(T) % 12 + 1, np.arange(T) % 28 + 1], axis=1)
        return Background(facts, np.arange(T), calendar)

    def facts(self):
        generator = torch.Generator().manual_seed(self.seed + 1)
        E, P, T = self.sizes.entities, self.sizes.predicates, self.sizes.timestamps + self.sizes.undated_row
        return [torch.randint(n, (self.batch,), generator=generator) for n in (E, 2 * P, E, T)]


@st.composite
def drawn(draw):
    """Sizes, options and a seed, which make a case of any model."""
    small = st.integers(1, 4)
    sizes = Sizes(draw(small), draw(small), draw(small), draw(st.booleans()))
    more = {"rank": draw(small), "predicate_rank": draw(small), "norm": draw(st.sampled_from([1, 2]))}
    batch, seed = draw(small), draw(st.integers(0, 99))
    return lambda name: Case(name, sizes, options(name, **more), batch, seed)


def tensors(model):
    return {name: table.weight for name, table in tables_of(model).items()}


def naive_tensor(model, tables=None):  # (E, 2P, E, T + undated row)
    """Each formula once more, as einsums in float64 over all its tables."""
    tables, kinds = tables or tensors(model), tables_of(model)
    views = {
        name: torch.view_as_complex(rows.view(*rows.shape[:-1], -1, 2)) if kinds[name].is_complex else rows
        for name, rows in tables.items()
    }
    return NAIVE[model.name](model, views, model.sizes.timestamps + model.sizes.undated_row)


def test_every_model_has_a_definition():
    assert sorted(NAIVE) == sorted(MODELS), "write the tensor of a new model above: none goes without this test"


@every_model
@FEW
@given(make=drawn())
def test_every_scorer_agrees_with_the_tensor(name, make):
    case = make(name)
    model, (s, p, o, t) = case.model(), case.facts()
    X, T = naive_tensor(model), case.sizes.timestamps
    assert_close(model.score(s, p, o, t), X[s, p, o, t])
    wanted = {
        "objects": (model.objects(s, p, t), X[s, p, :, t]),
        "times": (model.times(s, p, o), X[s, p, o, :T]),
        "predicates": (model.predicates(s, o, t), X[s, :, o, t]),
    }
    for scores, slice_ in wanted.values():
        assert (scores.rows, scores.columns) == slice_.shape
        assert_close(scores.whole(), slice_)
        every = torch.arange(scores.columns)
        assert_close(scores.at(every.flip(0)), slice_.flip(1))
        assert_close(scores.at(slice(1, 3)), slice_[:, 1:3])
        rows = torch.arange(case.batch).repeat_interleave(scores.columns)
        assert_close(scores.cells(rows, every.repeat(case.batch)), slice_.flatten())


@every_model
@FEW
@given(make=drawn())
def test_slow_scorers_from_the_formula_alone_agree_with_fast_ones(name, make):
    case = make(name)
    model, (s, p, o, t) = case.model(), case.facts()
    for name, ids in (("objects", (s, p, t)), ("times", (s, p, o)), ("predicates", (s, o, t))):
        slow = getattr(Decomposition, name)(model, *ids).whole()
        assert_close(slow, getattr(model, name)(*ids).whole())


@every_model
@FEW
@given(make=drawn())
def test_a_batch_is_its_facts_one_by_one(name, make):
    case = make(name)
    model, facts = case.model(), case.facts()
    one_by_one = torch.cat([model.score(*(column[i : i + 1] for column in facts)) for i in range(case.batch)])
    assert_close(model.score(*facts), one_by_one)


@every_model
@FEW
@given(make=drawn())
def test_gradients_are_those_of_the_tensor(name, make):
    """Of single scores and of whole rows: the look-up that adds rows in place gives what autograd gives."""
    case = make(name)
    model, (s, p, o, t) = case.model(), case.facts()
    weights = torch.rand(case.batch, case.sizes.entities, generator=torch.Generator().manual_seed(1)).double()
    ((model.score(s, p, o, t) ** 2).sum() + (model.objects(s, p, t).whole() * weights).sum()).backward()
    ours = [table.weight.grad.clone() for table in tables_of(model).values()]
    tables = {name: table.detach().requires_grad_() for name, table in tensors(model).items()}
    X = naive_tensor(model, tables)
    loss = (X[s, p, o, t] ** 2).sum() + (X[s, p, :, t] * weights).sum()
    naive = torch.autograd.grad(loss, tables.values(), allow_unused=True, materialize_grads=True)
    assume(all(gradient.isfinite().all() for gradient in naive))  # a distance of exactly 0 has none
    for mine, theirs in zip(ours, naive, strict=True):
        assert_close(mine, theirs)


@every_model
@FEW
@given(make=drawn())
def test_a_step_looks_rows_up_once_and_changes_no_gradient(name, make):
    """All but R-GCN, which hides the edges of a step."""
    case = make(name)
    model, (s, p, o, t) = case.model(), case.facts()
    if case.name == "rgcn":
        return

    def loss():
        penalty = sum(factor.rows.abs().sum() for factor in model.factors(s, p, o, t))
        return (model.objects(s, p, t).whole() ** 2).sum() + (model.score(s, p, o, t) ** 2).sum() + penalty

    loss().backward()
    alone = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    with model.step(s, p, o):
        loss().backward()
    for one, other in zip(alone, model.parameters(), strict=True):
        assert_close(one, other.grad)


@every_model
def test_every_parameter_of_a_model_is_learned(name):
    """Each gets a gradient: none is stored for nothing."""
    case = Case(name, Sizes(4, 2, 3), options(name), batch=8, seed=0)
    model, (s, p, _, t) = case.model().train(), case.facts()
    torch.manual_seed(0)  # of dropout
    model.objects(s, p, t).whole().square().sum().backward()
    unlearned = [n for n, x in model.named_parameters() if x.grad is None or not x.grad.abs().sum() > 0]
    assert unlearned == []


@every_model
def test_tables_know_their_axis_and_initial_values_depend_on_the_seed_alone(name):
    sizes = Sizes(11, 3, 7, undated_row=True)
    first, again, other = (MODELS[name](sizes, options(name)) for _ in range(3))
    for model, seed in ((first, 1), (again, 1), (other, 2)):
        model.initialise(torch.Generator().manual_seed(seed))
    rows = {Axis.ENTITY: 11, Axis.PREDICATE: 6, Axis.TIME: 8}
    for key, table in tables_of(first).items():
        assert table.axis is Axis.NONE or len(table.weight) == rows[table.axis]
        assert table.weight.equal(tables_of(again)[key].weight)
        assert not table.weight.equal(tables_of(other)[key].weight)
    state = again.state_dict()
    assert all(tensor.equal(state[key]) for key, tensor in first.state_dict().items())


@every_model
@FEW
@given(make=drawn())
def test_the_undated_row_is_off_the_time_axis(name, make):
    case = make(name)
    for axis in case.model().time_axes():
        assert len(axis) == case.sizes.timestamps


def test_initial_values_of_the_papers_models_are_small():
    model = MODELS["tntcomplex"](Sizes(50, 5, 5))
    model.initialise(torch.Generator().manual_seed(1))
    assert 0.008 < model.u.weight.std() < 0.012


def test_the_union_contains_its_parts():
    """With some tables zero it is TNTComplEx, with others TIMEPLEX."""
    for part_name, renamed in (("tntcomplex", {"w": "w_"}), ("timeplex", {})):
        part = Case(part_name, Sizes(4, 2, 3), options(part_name), batch=6, seed=0)
        union = Case("unioncomplex", part.sizes, options("unioncomplex"), 6, 0).model()
        values = {renamed.get(name, name): table for name, table in tensors(part.model()).items()}
        with torch.no_grad():
            for name, table in tensors(union).items():
                table.copy_(values.get(name, torch.zeros_like(table)))
        assert_close(union.score(*part.facts()), part.model().score(*part.facts()))
