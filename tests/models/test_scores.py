"""Scores as values: every kind is the matrix that its formula defines, however it is read."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from knowwhen.models import scores as module
from knowwhen.models.scores import Computed, Keyed, Listed, Matrix, Nothing, Product, Scores, Sparse
from tests.models.kinds_of_scores import KINDS, Case, cases, gradients, naive_gradients


def test_every_kind_is_tested():
    every = {kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Scores)}
    tested = {type(Case(kind, 2, 2, 2, 0).made().scores) for kind in KINDS}
    assert tested == every - {Scores, Keyed, Listed, Nothing}, "write a new kind's definition in kinds_of_scores.py"


@st.composite
def choices(draw, n):
    """Columns that differ from each other, in any order."""
    return torch.tensor(draw(st.permutations(range(n)))[: draw(st.integers(0, n))], dtype=torch.int64)


@given(cases(), st.data())
def test_every_reading_is_of_the_naive_matrix(case, data):
    made = case.made()
    scores, X = made.scores, made.whole.detach()
    assert (scores.rows, scores.columns) == X.shape
    with torch.no_grad():
        assert_close(scores.whole(), X)
        start, stop = sorted(data.draw(st.tuples(*[st.integers(0, case.n)] * 2)))
        assert_close(scores.at(slice(start, stop)), X[:, start:stop])
        chosen = data.draw(choices(case.n))
        assert_close(scores.at(chosen), X[:, chosen])
        out = torch.full((case.b, stop - start), torch.nan, dtype=torch.float64)
        scores.write(slice(start, stop), out)
        assert_close(out, X[:, start:stop])
        scores.add_to(slice(start, stop), out)
        assert_close(out, 2 * X[:, start:stop])
        m = data.draw(st.integers(0, 8))
        rows, columns = (
            torch.tensor(data.draw(st.lists(st.integers(0, n - 1), min_size=m, max_size=m)), dtype=torch.int64)
            for n in X.shape
        )
        assert_close(scores.cells(rows, columns), X[rows, columns])


@given(cases())
def test_what_is_dense_and_what_is_added_are_all(case):
    made = case.made()
    dense, added = made.scores.split()
    with torch.no_grad():
        whole = dense.whole()
        for i, j, value in zip(*added, strict=True) if added is not None else ():
            whole[i, j] += value
    assert_close(whole, made.whole.detach())
    assert (added is not None) == isinstance(made.scores, Sparse)


@given(cases(), st.data())
def test_what_is_read_may_be_overwritten(case, data):
    scores, chosen = case.made().scores, data.draw(choices(case.n))
    with torch.no_grad():
        for columns in (slice(0, case.n), chosen):
            first = scores.at(columns)
            kept = first.clone()
            first.fill_(torch.nan)
            assert torch.equal(scores.at(columns), kept)
        every = torch.arange(case.n)
        scores.cells(every * 0, every).fill_(torch.nan)
        assert scores.whole().isfinite().all()


@given(cases(), st.data())
def test_gradients_of_what_is_read_are_autograds(case, data):
    """Chosen columns too, whose gradient is added to a table's rows in place."""
    made, chosen = case.made(), data.draw(choices(case.n))
    g = torch.Generator().manual_seed(case.seed)
    for columns in (slice(0, case.n), slice(1, case.n), chosen):
        for leaf in made.leaves:
            leaf.grad = None
        weights = torch.randn(made.scores.at(columns).shape, generator=g, dtype=torch.float64)
        (made.scores.at(columns) * weights).sum().backward()
        naive = naive_gradients(made, (made.whole[:, columns] * weights).sum())
        assert_close(gradients(made), naive)


@given(cases())
def test_gradients_of_cells_are_autograds(case):
    made, g = case.made(), torch.Generator().manual_seed(case.seed)
    rows, columns = (torch.randint(n, (6,), generator=g) for n in (case.b, case.n))
    weights = torch.randn(6, generator=g, dtype=torch.float64)
    (made.scores.cells(rows, columns) * weights).sum().backward()
    assert_close(gradients(made), naive_gradients(made, (made.whole[rows, columns] * weights).sum()))


@pytest.mark.parametrize("one", ["product", "product with constant"])
@pytest.mark.parametrize("other", ["product", "product with constant"])
def test_products_with_one_table_are_one_product(one, other):
    first, second = Case(one, 3, 4, 2, 0).made(), Case(other, 3, 4, 2, 1).made()
    again = Product(second.scores.query, first.scores.table, second.scores.constant)
    both = first.scores + again
    assert isinstance(both, Product) and both.table is first.scores.table
    assert_close(both.whole(), first.scores.whole() + again.whole())
    assert both.constant is not None or (one, other) == ("product", "product")
    assert_close((again + first.scores).whole(), both.whole())


def test_products_with_different_tables_stay_apart():
    first, second = Case("product", 3, 4, 2, 0).made().scores, Case("product", 3, 4, 2, 1).made().scores
    both = first + second
    assert not isinstance(both, Product)
    assert_close(both.whole(), first.whole() + second.whole())


def test_a_distance_of_nothing_is_zero_with_a_gradient():
    """Where a query meets its candidate, the gradient is no NaN; and equal candidates have exactly equal scores."""
    for p in (1, 2):
        made = Case(f"distance {p}", 2, 4, 3, 0).made()
        query, table = made.leaves
        with torch.no_grad():
            table[0] = table[2] = query[0]
            X = made.scores.whole()
        assert X[0, 0] == X[0, 2] == 0 and X[1, 0] == X[1, 2]
        learned = made.scores.whole()
        assert_close(learned, X, atol=1e-6, rtol=1e-12)
        learned.sum().backward()
        assert query.grad.isfinite().all() and table.grad.isfinite().all()


def test_a_formula_may_give_what_it_keeps_or_one_number_for_all():
    X, ones = torch.rand(2, 4), torch.ones(())
    kept = X.clone()
    Computed(2, 4, lambda i, j: X).at(slice(0, 4)).fill_(0)
    assert torch.equal(X, kept)
    Computed(3, 4, lambda i, j: ones.expand(3, 4)).at(slice(0, 4)).add_(torch.rand(3, 4))
    assert ones == 1


def test_a_matrix_stays_as_it_was_given():
    X = torch.rand(3, 4)
    Matrix(X).at(slice(0, 4)).zero_()
    Matrix(X).at(torch.tensor([1])).zero_()
    assert X.abs().sum() > 0


@pytest.mark.parametrize("kind", ["product", "product with constant", "distance 2"])
def test_a_scaled_product_stays_a_product_for_which_there_are_fast_kernels(kind):
    made, weights = Case(kind, 3, 4, 2, 0).made(), torch.tensor([2.0, 0.0, -1.0], dtype=torch.float64)
    scaled = made.scores.scaled(weights)
    assert isinstance(scaled, Product) == kind.startswith("product")
    assert_close(scaled.whole(), made.whole * weights[:, None])
