"""Tables: a parameter that knows its axis, its shape and its initial values."""

import gc
import math
from contextlib import suppress

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from knowwhen.models import Sizes
from knowwhen.models.tables import (
    Axis,
    Table,
    complex_rows,
    constant,
    normal,
    real_rows,
    shared_lookups,
    tables_of,
    uniform,
    xavier,
)

SIZES = Sizes(entities=7, predicates=3, timestamps=5, undated_row=True)


def filled(table, sizes=SIZES, seed=0):
    table.allocate(sizes)
    table.initialise(torch.Generator().manual_seed(seed))
    return table


@pytest.mark.parametrize(
    ("axis", "undated", "rows", "on_axis"),
    [
        (Axis.ENTITY, True, 7, 7),
        (Axis.PREDICATE, True, 6, 3),
        (Axis.TIME, True, 6, 5),
        (Axis.TIME, False, 5, 5),
    ],
)
def test_an_axis_says_how_many_rows_there_are(axis, undated, rows, on_axis):
    sizes = Sizes(7, 3, 5, undated)
    for table, stored, seen in (
        (real_rows(axis, 4), (4,), (4,)),
        (real_rows(axis, 3, 4), (3, 4), (3, 4)),
        (complex_rows(axis, 4), (8,), (4,)),
    ):
        filled(table, sizes)
        assert table.weight.shape == (rows, *stored) and table.weight.is_floating_point()
        assert table().shape == (rows, *seen)
        assert table.along().shape == (on_axis, *seen)
        assert torch.equal(table.along(), table()[:on_axis])


def test_a_table_without_an_axis_is_one_value():
    core = filled(real_rows(Axis.NONE, 2, 3, 4))
    assert core().shape == core.weight.shape == (2, 3, 4)


def test_complex_rows_are_a_view_of_what_is_stored():
    table = filled(complex_rows(Axis.ENTITY, 2))
    assert table().is_complex()
    for k in range(2):
        assert torch.equal(table()[:, k].real, table.weight[:, 2 * k])
        assert torch.equal(table()[:, k].imag, table.weight[:, 2 * k + 1])
    with torch.no_grad():
        table.weight[3, 1] = 5  # the imaginary part of the first number
    assert table()[3, 0].imag == table(torch.tensor([3]))[0, 0].imag == 5


@given(st.lists(st.integers(0, 3), max_size=3), st.booleans(), st.booleans(), st.booleans())
def test_ids_of_any_shape_are_looked_up(shape, is_complex, deep, learning):
    table = filled(Table(Axis.ENTITY, *([3] if deep else []), 2, is_complex=is_complex))
    ids = torch.randint(7, shape, generator=torch.Generator().manual_seed(1))
    with torch.set_grad_enabled(learning):
        found = table(ids)
    assert found.shape == (*shape, *table().shape[1:])
    for place in torch.cartesian_prod(*map(torch.arange, shape)).view(-1, len(shape)) if shape else [()]:
        assert torch.equal(found[tuple(place)], table()[ids[tuple(place)]])


def test_repeated_ids_add_up_their_gradients():
    for table in (filled(real_rows(Axis.ENTITY, 3, 2)), filled(complex_rows(Axis.ENTITY, 2))):
        ids = torch.tensor([[1, 4], [1, 1]])
        table(ids).abs().square().sum().backward()
        ours, table.weight.grad = table.weight.grad, None
        weights = torch.tensor([0, 3, 0, 0, 1, 0, 0]).view(-1, *[1] * (table.weight.dim() - 1))
        assert_close(ours, 2 * table.weight.detach() * weights)


def test_initial_values():
    big = Sizes(4000, 1, 1)
    assert 0.0095 < filled(real_rows(Axis.ENTITY, 8), big).weight.std() < 0.0105
    assert 1.9 < filled(real_rows(Axis.ENTITY, 8, initial=normal(2)), big).weight.std() < 2.1
    even = filled(real_rows(Axis.ENTITY, 8, initial=uniform(3)), big).weight
    assert -3 <= even.min() < -2.9 and 2.9 < even.max() <= 3
    bound = math.sqrt(6 / (4000 + 8))
    glorot = filled(real_rows(Axis.ENTITY, 8, initial=xavier()), big).weight
    assert 0.98 * bound < glorot.abs().max() <= bound
    assert (filled(real_rows(Axis.ENTITY, 8, initial=constant(4))).weight == 4).all()


def test_initial_values_are_of_the_generator_alone():
    for initial in (None, uniform(1), xavier()):
        tables = []
        for seed, others in ((1, 5), (1, 6), (2, 5)):
            torch.manual_seed(others)
            tables.append(filled(real_rows(Axis.ENTITY, 3, initial=initial), seed=seed).weight)
        assert torch.equal(tables[0], tables[1]) and not torch.equal(tables[0], tables[2])


def test_a_step_looks_rows_of_one_tensor_up_once():
    house = nn.ModuleDict({"u": filled(real_rows(Axis.ENTITY, 3)), "v": filled(real_rows(Axis.PREDICATE, 3))})
    table, ids = house["u"], torch.tensor([1, 2])
    assert table(ids) is not table(ids) and table.looked_up(ids) is None
    with shared_lookups():
        first = table(ids)
        assert table(ids) is first is table.looked_up(ids)
        assert table(ids.clone()) is not first, "another tensor has rows of its own"
        assert house["v"](ids) is not first and house["v"].looked_up(ids.clone()) is None
    assert table.looked_up(ids) is None and table(ids) is not first
    with suppress(ZeroDivisionError), shared_lookups():
        table(ids)
        raise ZeroDivisionError
    assert table.looked_up(ids) is None, "nothing outlives a step that failed"
    assert sorted(tables_of(house)) == ["u", "v"]


def test_a_block_inside_a_step_shares_nothing_with_it():
    table, ids = filled(real_rows(Axis.ENTITY, 3)), torch.tensor([1, 2])
    with shared_lookups():
        first = table(ids)
        with shared_lookups():
            assert table.looked_up(ids) is None
            assert table(ids) is table(ids) is not first
        assert table(ids) is first


@pytest.mark.parametrize("is_complex", [False, True])
def test_ids_that_come_and_go_never_get_the_rows_of_others(is_complex):
    """An id in memory is given to the next tensor when one is gone; so it was with rows, once."""
    table = filled(Table(Axis.ENTITY, 2, is_complex=is_complex), Sizes(1000, 1, 1))
    wanted = table().detach()
    with torch.no_grad(), shared_lookups():
        for i in range(1000):
            ids = torch.tensor([i])
            assert torch.equal(table(ids)[0], wanted[i])
            del ids
            if i % 250 == 0:
                gc.collect()
            assert torch.equal(table(torch.tensor([999 - i]))[0], wanted[999 - i])
