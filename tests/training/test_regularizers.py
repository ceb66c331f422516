import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from knowwhen.models import MODELS, Sizes
from knowwhen.models.base import Factor
from knowwhen.training.regularizers import delta, omega3, power_norm, smoothness

POWERS = st.sampled_from([1.0, 1.5, 2.0, 3.0, 4.0, 5.0])


@given(POWERS, st.integers(0, 99))
def test_power_norms_and_their_gradients_are_those_of_complex_numbers(p, seed):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(4, 3, generator=generator, dtype=torch.complex128, requires_grad=True)
    naive = rows.abs().pow(p).sum(-1)
    assert_close(power_norm(rows, p), naive)
    upstream = torch.randn(4, generator=generator, dtype=torch.float64)
    (ours,) = torch.autograd.grad(power_norm(rows, p), rows, upstream)
    (theirs,) = torch.autograd.grad(naive, rows, upstream)
    assert_close(ours, theirs)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 4.0])
def test_gradients_are_zero_at_zero(p):
    for dtype in (torch.float32, torch.complex64):
        rows = torch.zeros(2, 4, dtype=dtype, requires_grad=True)
        power_norm(rows, p).sum().backward()
        assert_close(rows.grad, torch.zeros(2, 4, dtype=dtype))


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
        model = MODELS[name](sizes).double()
        for table in model.parameters():
            torch.nn.init.normal_(table)
        s, p, o, t = facts_of(model)
        u, w = model.u(), model.w()
        if name == "tcomplex":
            by_hand = cubes(u[s]) + cubes(u[o]) + cubes(model.v()[p] * w[t])
        else:
            by_hand = 2 * cubes(u[s]) + 2 * cubes(u[o]) + cubes(model.v_()[p] * w[t]) + cubes(model.v()[p])
        assert_close(omega3(model.factors(s, p, o, t)), by_hand.mean() / 3)


@pytest.mark.parametrize("power", [2, 3, 4])
def test_delta_penalises_each_factor_for_itself(power):
    model = MODELS["tntcomplex"](Sizes(5, 2, 3)).double()
    for table in model.parameters():
        torch.nn.init.normal_(table)
    s, p, o, t = facts_of(model)
    by_hand = 2 * cubes(model.u()[s], power) + 2 * cubes(model.u()[o], power)
    by_hand = by_hand + cubes(model.v_()[p], power) + cubes(model.w()[t], power) + cubes(model.v()[p], power)
    assert_close(delta(model.separate_factors(s, p, o, t), power), by_hand.mean() / power)


def test_real_factors_are_penalised_by_their_absolute_values():
    rows = torch.tensor([[1.0, -2.0], [3.0, 0.0]])
    assert_close(omega3([Factor(1, rows)]), torch.tensor((1 + 8 + 27) / 2 / 3))


@pytest.mark.parametrize("p", [2, 3, 4])
def test_smoothness_by_hand(p):
    axis = torch.tensor([[0], [3 + 4j], [3 + 4j], [3 + 5j]])  # moduli of the steps: 5, 0, 1
    assert_close(smoothness(axis, p), torch.tensor((5.0**p + 0 + 1) / 3))
    gaps = torch.from_numpy(np.array([10, 1, 2]))
    assert_close(smoothness(axis, p, gaps), torch.tensor((5.0**p / 10 + 0 + 1 / 2) / 3))


def test_an_axis_of_one_timestamp_is_smooth():
    assert smoothness(torch.ones(1, 4, requires_grad=True), 3) == 0


def test_real_timestamps_are_not_paired_as_complex_ones():
    axis = torch.tensor([[0.0, 0.0], [3.0, -4.0]])
    assert_close(smoothness(axis, 3), torch.tensor(27.0 + 64.0))


def test_nothing_to_penalise_costs_nothing():
    assert omega3([]) == delta([], 4) == 0
