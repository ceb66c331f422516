import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from knowwhen.models import MODELS, Sizes
from knowwhen.models.algebra import as_complex
from knowwhen.models.base import Factor
from knowwhen.training.regularizers import delta, omega3, power_norm, smoothness

POWERS = st.sampled_from([1.0, 1.5, 2.0, 3.0, 4.0, 5.0])


@given(POWERS, st.integers(0, 99))
def test_power_norms_and_their_gradients_are_those_of_complex_numbers(p, seed):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(4, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    naive = as_complex(rows).abs().pow(p).sum(-1)
    assert_close(power_norm(rows, p), naive)
    upstream = torch.randn(4, generator=generator, dtype=torch.float64)
    (ours,) = torch.autograd.grad(power_norm(rows, p), rows, upstream)
    (theirs,) = torch.autograd.grad(naive, rows, upstream)
    assert_close(ours, theirs)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 4.0])
def test_gradients_are_zero_at_zero(p):
    rows = torch.zeros(2, 4, requires_grad=True)
    power_norm(rows, p).sum().backward()
    assert_close(rows.grad, torch.zeros(2, 4))


def facts_of(model):
    generator = torch.Generator().manual_seed(3)
    E, P, T = model.sizes.entities, model.sizes.predicates, model.sizes.timestamps
    return [torch.randint(n, (7,), generator=generator) for n in (E, 2 * P, E, T)]


def cubes(z, p=3):
    return (z.abs() ** p).sum(-1)


def test_omega3_has_the_weights_of_the_paper():
    """Section 3.2: TComplEx counts entities once, TNTComplEx twice, and predicate ⊙ time is one factor."""
    sizes = Sizes(5, 2, 3)
    for name in ("tcomplex", "tntcomplex"):
        model = MODELS[name](sizes, 2).double()
        torch.nn.init.normal_(model.entity)
        for table in model.parameters():
            torch.nn.init.normal_(table)
        s, p, o, t = facts_of(model)
        u, w = as_complex(model.entity), as_complex(model.timestamp)
        if name == "tcomplex":
            by_hand = cubes(u[s]) + cubes(u[o]) + cubes(as_complex(model.predicate)[p] * w[t])
        else:
            temporal, static = as_complex(model.predicate_temporal), as_complex(model.predicate_static)
            by_hand = 2 * cubes(u[s]) + 2 * cubes(u[o]) + cubes(temporal[p] * w[t]) + cubes(static[p])
        assert_close(omega3(model.factors(s, p, o, t)), by_hand.mean() / 3)


@pytest.mark.parametrize("power", [2, 3, 4])
def test_delta_penalises_each_factor_for_itself(power):
    model = MODELS["tntcomplex"](Sizes(5, 2, 3), 2).double()
    for table in model.parameters():
        torch.nn.init.normal_(table)
    s, p, o, t = facts_of(model)
    rows = {name: as_complex(table) for name, table in model.named_parameters()}
    by_hand = 2 * cubes(rows["entity"][s], power) + 2 * cubes(rows["entity"][o], power)
    by_hand = by_hand + cubes(rows["predicate_temporal"][p], power) + cubes(rows["timestamp"][t], power)
    by_hand = by_hand + cubes(rows["predicate_static"][p], power)
    assert_close(delta(model.separate_factors(s, p, o, t), power), by_hand.mean() / power)


def test_real_factors_are_penalised_by_their_absolute_values():
    rows = torch.tensor([[1.0, -2.0], [3.0, 0.0]])
    assert_close(omega3([Factor(1, rows)]), torch.tensor((1 + 8 + 27) / 2 / 3))


@pytest.mark.parametrize("p", [2, 3, 4])
def test_smoothness_by_hand(p):
    axis = torch.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [3.0, 5.0]])  # moduli of the steps: 5, 0, 1
    assert_close(smoothness(axis, p), torch.tensor((5.0**p + 0 + 1) / 3))
    gaps = torch.from_numpy(np.array([10, 1, 2]))
    assert_close(smoothness(axis, p, gaps), torch.tensor((5.0**p / 10 + 0 + 1 / 2) / 3))


def test_an_axis_of_one_timestamp_is_smooth():
    assert smoothness(torch.ones(1, 4, requires_grad=True), 3) == 0
