"""Every kind of scores beside its naive definition, a number at a time: what tests of scores and of losses share."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from hypothesis import strategies as st
from torch import Tensor

from knowwhen.models import Sizes
from knowwhen.models.scores import (
    Below,
    Cells,
    Computed,
    Distance,
    KeyedDistance,
    Matrix,
    ModulusDistance,
    Nothing,
    Product,
    Scores,
    Sparse,
    TimedProduct,
)
from knowwhen.models.tables import Axis, Table


@dataclass(frozen=True)
class Made:
    """Scores, X[i, j] as a formula of the same leaves, and those leaves."""

    scores: Scores
    naive: Callable[[int, int], Tensor]
    leaves: list[Tensor]

    @property
    def whole(self) -> Tensor:  # (b, n)
        return torch.stack(
            [torch.stack([self.naive(i, j) for j in range(self.scores.columns)]) for i in self.every_row]
        )

    @property
    def every_row(self) -> range:
        return range(self.scores.rows)


@dataclass(frozen=True)
class Case:
    """Sizes and a seed."""

    kind: str
    b: int
    n: int
    d: int
    seed: int

    def made(self) -> Made:
        return KINDS[self.kind](self, torch.Generator().manual_seed(self.seed))

    def table(self, g: torch.Generator, *, is_complex: bool = False) -> Table:
        table = Table(Axis.ENTITY, self.d, is_complex=is_complex).allocate(Sizes(self.n, 1, 1)).double()
        with torch.no_grad():
            table.weight.copy_(torch.randn(table.weight.shape, generator=g, dtype=torch.float64))
        return table


def leaf(g: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=g, dtype=torch.float64).requires_grad_()


def product(case: Case, g: torch.Generator) -> Made:
    table, query = case.table(g), leaf(g, case.b, case.d)
    naive = lambda i, j: sum(query[i, k] * table.weight[j, k] for k in range(case.d))  # noqa: E731
    return Made(Product(query, table), naive, [query, table.weight])


def product_with_constant(case: Case, g: torch.Generator) -> Made:
    made, constant = product(case, g), leaf(g, case.b)
    scores = Product(made.scores.query, made.scores.table, constant)
    return Made(scores, lambda i, j: made.naive(i, j) + constant[i], [*made.leaves, constant])


def complex_product(case: Case, g: torch.Generator) -> Made:
    table, query = case.table(g, is_complex=True), leaf(g, case.b, 2 * case.d)

    def naive(i: int, j: int) -> Tensor:
        a, b = query[i].view(-1, 2), table.weight[j].view(-1, 2)
        return sum(a[k, 0] * b[k, 0] + a[k, 1] * b[k, 1] for k in range(case.d))

    return Made(Product(torch.view_as_complex(query.view(case.b, -1, 2)), table), naive, [query, table.weight])


def distance(p: int) -> Callable[[Case, torch.Generator], Made]:
    def make(case: Case, g: torch.Generator) -> Made:
        table, query = case.table(g), leaf(g, case.b, case.d)

        def naive(i: int, j: int) -> Tensor:
            powers = sum((query[i, k] - table.weight[j, k]).abs() ** p for k in range(case.d))
            return -(powers ** (1 / p))

        return Made(Distance(query, table, p), naive, [query, table.weight])

    return make


def timed_product(case: Case, g: torch.Generator) -> Made:
    """Candidates are rows of a table times those of their time."""
    table, query, times = case.table(g), leaf(g, case.b, case.d), leaf(g, 3, case.d)
    t = torch.randint(3, (case.b,), generator=g)
    naive = lambda i, j: sum(query[i, k] * table.weight[j, k] * times[t[i], k] for k in range(case.d))  # noqa: E731
    scores = TimedProduct(query, t, case.n, lambda ids, at: table(ids) * times[at])
    return Made(scores, naive, [query, table.weight, times])


def keyed_distance(p: int) -> Callable[[Case, torch.Generator], Made]:
    """As a timed product."""

    def make(case: Case, g: torch.Generator) -> Made:
        table, query, times = case.table(g), leaf(g, case.b, case.d), leaf(g, 3, case.d)
        t = torch.randint(3, (case.b,), generator=g)

        def naive(i: int, j: int) -> Tensor:
            powers = sum((query[i, k] - table.weight[j, k] * times[t[i], k]).abs() ** p for k in range(case.d))
            return -(powers ** (1 / p))

        scores = KeyedDistance(query, t, case.n, lambda ids, at: table(ids) * times[at], p)
        return Made(scores, naive, [query, table.weight, times])

    return make


def modulus_distance(case: Case, g: torch.Generator) -> Made:
    table, query = case.table(g, is_complex=True), leaf(g, case.b, 2 * case.d)

    def naive(i: int, j: int) -> Tensor:
        gap = query[i] - table.weight[j]
        return -sum((gap[2 * k] ** 2 + gap[2 * k + 1] ** 2).sqrt() for k in range(case.d))

    point = torch.view_as_complex(query.view(case.b, -1, 2))
    return Made(ModulusDistance(point, table), naive, [query, table.weight])


def computed(case: Case, g: torch.Generator) -> Made:
    table, query = case.table(g), leaf(g, case.b, case.d)
    naive = lambda i, j: sum(torch.sin(query[i, k] + table.weight[j, k]) for k in range(case.d))  # noqa: E731
    return Made(
        Computed(case.b, case.n, lambda i, j: torch.sin(query[i] + table(j)).sum(-1)), naive, [query, table.weight]
    )


def computed_without_columns(case: Case, g: torch.Generator) -> Made:
    """As a static model's scores along time: the same in every column."""
    value = leaf(g, case.b)
    return Made(Computed(case.b, case.n, lambda i, j: value[i]), lambda i, j: value[i], [value])


def matrix(case: Case, g: torch.Generator) -> Made:
    X = leaf(g, case.b, case.n)
    return Made(Matrix(X), lambda i, j: X[i, j], [X])


def total(case: Case, g: torch.Generator) -> Made:
    one, other = distance(1)(case, g), product_with_constant(case, g)
    return Made(
        one.scores + other.scores, lambda i, j: one.naive(i, j) + other.naive(i, j), [*one.leaves, *other.leaves]
    )


def sparse(dense: Callable[[Case, torch.Generator], Made]) -> Callable[[Case, torch.Generator], Made]:
    """On top of a kind; cells are drawn with repetition, and may be none."""

    def make(case: Case, g: torch.Generator) -> Made:
        below, m = dense(case, g), int(torch.randint(2 * case.b * case.n, (), generator=g))
        rows, columns = (torch.randint(n, (m,), generator=g) for n in (case.b, case.n))
        values = leaf(g, m)

        def naive(i: int, j: int) -> Tensor:
            own = [values[k] for k in range(m) if (int(rows[k]), int(columns[k])) == (i, j)]
            return below.naive(i, j) + sum(own, torch.zeros((), dtype=torch.float64))

        return Made(Sparse(below.scores, Cells(rows, columns, values)), naive, [*below.leaves, values])

    return make


def scaled(case: Case, g: torch.Generator) -> Made:
    made, weights = distance(2)(case, g), leaf(g, case.b)
    return Made(made.scores.scaled(weights), lambda i, j: weights[i] * made.naive(i, j), [*made.leaves, weights])


def below(case: Case, g: torch.Generator) -> Made:
    """Zeros in the first rows."""
    skipped = case.seed % case.b
    made = product(replace(case, b=case.b - skipped), g)
    naive = lambda i, j: 0 * made.naive(0, j) if i < skipped else made.naive(i - skipped, j)  # noqa: E731
    return Made(Below(made.scores, skipped), naive, made.leaves)


def nothing(case: Case, g: torch.Generator) -> Made:
    value = leaf(g, 1)
    return Made(Nothing(value, case.b, case.n), lambda i, j: value[0] * 0, [value])


KINDS: dict[str, Callable[[Case, torch.Generator], Made]] = {
    "product": product,
    "product with constant": product_with_constant,
    "complex product": complex_product,
    "distance 1": distance(1),
    "distance 2": distance(2),
    "timed product": timed_product,
    "keyed distance 1": keyed_distance(1),
    "keyed distance 2": keyed_distance(2),
    "modulus distance": modulus_distance,
    "computed": computed,
    "computed without columns": computed_without_columns,
    "matrix": matrix,
    "total": total,
    "scaled": scaled,
    "below": below,
    "sparse on nothing": sparse(nothing),
    "sparse on product": sparse(product_with_constant),
    "sparse on distance": sparse(distance(2)),
    "sparse on timed product": sparse(timed_product),
    "sparse on total": sparse(total),
}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    small = st.integers(1, 5)
    return Case(draw(st.sampled_from(sorted(KINDS))), draw(small), draw(small), draw(small), draw(st.integers(0, 999)))


def naive_gradients(made: Made, value: Tensor) -> list[Tensor]:
    """Of a value made of the naive matrix, by autograd alone."""
    return list(torch.autograd.grad(value, made.leaves, allow_unused=True, materialize_grads=True))


def gradients(made: Made) -> list[Tensor]:
    return [torch.zeros_like(x) if x.grad is None else x.grad for x in made.leaves]
