"""Scores as values: b rows over n columns (entities, timestamps or predicates) that are never all made at once.

Loss, ranking, top-k, calibration and correction read them at blocks of columns, at chosen columns or at single cells;
which model made them they do not know. A product with a table has fast kernels; all others go through blocks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from knowwhen import chunks
from knowwhen.models.algebra import as_real, dots, lookup, moduli
from knowwhen.models.tables import Table

FEW_ROWS, LARGE_TABLE = 8, 4 << 20  # numbers that no cache holds
DISTANCES = 1 << 16  # single distances that are made at once


class Cells(NamedTuple):
    """Sparse scores, to be added to X[rows, columns]; repeated cells add up."""

    rows: Tensor
    columns: Tensor
    values: Tensor


class Scores(ABC):
    """X, (b, n)."""

    rows: int  # b
    columns: int  # n
    depth: int = 1  # numbers that are made on the way to each score: blocks are narrower where they are many

    @abstractmethod
    def at(self, columns: slice | Tensor) -> Tensor:  # (b, k)
        """X[:, columns]: a block, or chosen columns, which differ from each other; the caller may overwrite it."""

    @abstractmethod
    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:  # (m,)
        """X[rows, columns]."""

    def whole(self) -> Tensor:  # (b, n)
        return self.at(slice(0, self.columns))

    def write(self, columns: slice, out: Tensor) -> None:
        """Puts a block into memory that is there already."""
        out.copy_(self.at(columns))

    def add_to(self, columns: slice, out: Tensor) -> None:
        """Adds a block to memory."""
        out.add_(self.at(columns))

    def split(self) -> tuple[Scores, Cells | None]:
        """What is dense, and what is added to single cells."""
        return self, None

    def scaled(self, weights: Tensor) -> Scores:
        """weights[i] X[i, j]."""
        return Scaled(self, weights)

    def __add__(self, other: Scores) -> Scores:
        return Total(self, other)


class Product(Scores):
    """X[i, j] = ⟨query_i, table_j⟩ + constant_i; complex rows are multiplied as Re⟨query_i, conj(table_j)⟩."""

    def __init__(self, query: Tensor, table: Table | Tensor, constant: Tensor | None = None) -> None:
        # A table's own parameter: through views of it, a gradient would be copied.
        self.table = table.weight if isinstance(table, Table) else as_real(table)  # (n, d)
        self.query = as_real(query)  # (b, d)
        self.constant = constant  # (b,)
        self.rows, self.columns = len(query), len(self.table)

    def at(self, columns: slice | Tensor) -> Tensor:
        table = self.table[columns] if isinstance(columns, slice) else self.candidates(columns)
        few = self.rows <= FEW_ROWS and table.numel() > LARGE_TABLE
        return self._with_constant(self._few(table) if few else self.query @ table.mT)

    def _few(self, table: Tensor) -> Tensor:  # (b, k)
        """query @ table.T, where reading the table is all that counts: three times as fast from this side.

        Two columns take less than one, for which BLAS goes another way.
        """
        query = self.query if self.rows != 1 else self.query.repeat(2, 1)
        return (table @ query.mT)[:, : self.rows].mT.contiguous()

    def candidates(self, columns: Tensor) -> Tensor:  # (k, d)
        """The rows of chosen columns."""
        return lookup(self.table, columns)

    def write(self, columns: slice, out: Tensor) -> None:
        torch.mm(self.query, self.table[columns].mT, out=out)
        self._with_constant(out)

    def _with_constant(self, scores: Tensor) -> Tensor:
        return scores if self.constant is None else scores.add_(self.constant[:, None])

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        found = dots(self.query, self.table, rows, columns)
        return found if self.constant is None else found + self.constant[rows]

    def scaled(self, weights: Tensor) -> Product:
        constant = None if self.constant is None else self.constant * weights
        return Product(self.query * weights[:, None], self.table, constant)

    def __add__(self, other: Scores) -> Scores:
        if not isinstance(other, Product) or other.table is not self.table:
            return super().__add__(other)
        constants = [constant for constant in (self.constant, other.constant) if constant is not None]
        constant = torch.stack(constants).sum(0) if constants else None
        return Product(self.query + other.query, self.table, constant)


class Distance(Scores):
    """X[i, j] = −‖query_i − table_j‖_p."""

    def __init__(self, query: Tensor, table: Table | Tensor, p: float) -> None:  # (b, d), (n, d)
        self.query, self.table, self.p = query, table.weight if isinstance(table, Table) else table, p
        self.rows, self.columns = len(query), len(self.table)

    def at(self, columns: slice | Tensor) -> Tensor:
        table = self.table[columns] if isinstance(columns, slice) else lookup(self.table, columns)
        return -distances(self.query, table, self.p)

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        parts = ((rows[part], columns[part]) for part in chunks.slices(len(rows), DISTANCES))
        found = [torch.linalg.vector_norm(self.query[r] - lookup(self.table, c), self.p, dim=-1) for r, c in parts]
        return -torch.cat([self.query[:0, 0], *found])


def distances(query: Tensor, table: Tensor, p: float) -> Tensor:  # (b, d), (n, d) -> (b, n)
    """‖query_i − table_j‖_p."""
    if p == 2 and torch.is_grad_enabled():
        # By a product, which takes a tenth of the time. It loses the digits of small distances: learning does not need
        # them, but ranks do, because equal scores have to be ties.
        squares = query.square().sum(-1)[:, None] + table.square().sum(-1) - 2 * query @ table.mT
        return squares.clamp_min(torch.finfo(squares.dtype).tiny).sqrt()  # at 0 the root has no gradient
    return torch.cdist(query, table, p, compute_mode="donot_use_mm_for_euclid_dist")


class ModulusDistance(Distance):
    """X[i, j] = −Σ_k |query_ik − table_jk| over complex numbers k, stored as pairs of real ones."""

    def __init__(self, query: Tensor, table: Table | Tensor) -> None:  # (b, r) complex, (n, 2r) real
        super().__init__(as_real(query), table if isinstance(table, Table) else as_real(table), 1)
        self.depth = self.query.shape[-1]

    def at(self, columns: slice | Tensor) -> Tensor:
        table = self.table[columns] if isinstance(columns, slice) else lookup(self.table, columns)
        return -moduli(self.query[:, None] - table)

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        parts = ((rows[part], columns[part]) for part in chunks.slices(len(rows), DISTANCES))
        found = [moduli(self.query[r] - lookup(self.table, c)) for r, c in parts]
        return -torch.cat([self.query[:0, 0], *found])


class Keyed(Scores):
    """X[i, j] of query_i and candidates(j, key_i): their rows depend on the time or the predicate of the question."""

    def __init__(
        self, query: Tensor, key: Tensor, columns: int, candidates: Callable[[Tensor, Tensor], Tensor]
    ) -> None:  # (b, d), (b,); candidates(ids, keys) -> (…, d), broadcasting
        self.query, self.key, self.candidates = query, key, candidates
        self.rows, self.columns = len(query), columns
        self.keys, self.number = torch.unique(key, return_inverse=True)
        # Candidates are made once for each key.
        self.depth = -(-len(self.keys) * query.shape[-1] // max(1, self.rows)) or 1

    @abstractmethod
    def block(self, query: Tensor, candidates: Tensor) -> Tensor:  # (b, d), (k, d) -> (b, k)
        """All pairs."""

    @abstractmethod
    def pairs(self, query: Tensor, candidates: Tensor) -> Tensor:  # (m, d), (m, d) -> (m,)
        """One by one."""

    def at(self, columns: slice | Tensor) -> Tensor:
        """Rows of one key share their candidates."""
        ids = torch.arange(self.columns, device=self.key.device)[columns]
        order = self.number.argsort(stable=True)
        sizes = torch.bincount(self.number, minlength=len(self.keys)).tolist()
        groups = self.query[order].split(sizes)  # type: ignore[no-untyped-call]
        made: list[Tensor] = []
        # Rows are looked up once for some keys, not for each: every look-up has a gradient as large as its table.
        at_once = chunks.rows_at_once(len(ids) * self.query.shape[-1], chunks.CACHE_BYTES)
        for part in chunks.slices(len(self.keys), at_once):
            made += map(self.block, groups[part], self.candidates(ids, self.keys[part, None]))  # (k, n, d)
        return torch.cat(made)[order.argsort()] if made else self.query.new_zeros(0, len(ids))

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self.pairs(self.query[rows], self.candidates(columns, self.key[rows]))


class TimedProduct(Keyed):
    """X[i, j] = ⟨query_i, candidates(j, key_i)⟩."""

    def block(self, query: Tensor, candidates: Tensor) -> Tensor:
        return query @ candidates.mT

    def pairs(self, query: Tensor, candidates: Tensor) -> Tensor:
        return (query * candidates).sum(-1)


class KeyedDistance(Keyed):
    """X[i, j] = −‖query_i − candidates(j, key_i)‖_p."""

    def __init__(
        self, query: Tensor, key: Tensor, columns: int, candidates: Callable[[Tensor, Tensor], Tensor], p: float
    ) -> None:
        super().__init__(query, key, columns, candidates)
        self.p = p

    def block(self, query: Tensor, candidates: Tensor) -> Tensor:
        return -distances(query, candidates, self.p)

    def pairs(self, query: Tensor, candidates: Tensor) -> Tensor:
        distance: Tensor = torch.linalg.vector_norm(query - candidates, self.p, dim=-1)
        return -distance


class Computed(Scores):
    """X[i, j] by a function of ids that broadcasts: slow, and right for any formula."""

    def __init__(
        self,
        rows: int,
        columns: int,
        score: Callable[[Tensor, Tensor], Tensor],
        device: torch.device | str = "cpu",
        depth: int = 1,
    ) -> None:
        self.rows, self.columns, self.score, self.device, self.depth = rows, columns, score, device, depth

    def at(self, columns: slice | Tensor) -> Tensor:
        ids = torch.arange(self.columns, device=self.device)[columns]
        rows = torch.arange(self.rows, device=self.device)[:, None]
        parts = [*chunks.slices(len(ids), chunks.rows_at_once(self.rows * self.depth))] or [slice(0)]
        # (b, 1) where the columns do not matter
        return torch.cat([self.score(rows, ids[part]).expand(self.rows, len(ids[part])) for part in parts], dim=1)

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self.score(rows, columns)


class Matrix(Scores):
    """X itself, where it was made by other means."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix
        self.rows, self.columns = matrix.shape

    def at(self, columns: slice | Tensor) -> Tensor:
        return self.matrix[:, columns].clone()

    def write(self, columns: slice, out: Tensor) -> None:
        out.copy_(self.matrix[:, columns])

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self.matrix.flatten().index_select(0, rows * self.columns + columns)


class Total(Scores):
    """The sum of two kinds of scores."""

    def __init__(self, one: Scores, other: Scores) -> None:
        self.one, self.other, self.rows, self.columns = one, other, one.rows, one.columns
        self.depth = max(one.depth, other.depth)

    def at(self, columns: slice | Tensor) -> Tensor:
        return self.one.at(columns) + self.other.at(columns)

    def write(self, columns: slice, out: Tensor) -> None:
        self.one.write(columns, out)
        self.other.add_to(columns, out)

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self.one.cells(rows, columns) + self.other.cells(rows, columns)


class Scaled(Scores):
    """Scores times a number for each row."""

    def __init__(self, scores: Scores, weights: Tensor) -> None:
        self.scores, self.weights, self.rows, self.columns = scores, weights, scores.rows, scores.columns
        self.depth = scores.depth

    def at(self, columns: slice | Tensor) -> Tensor:
        return self.scores.at(columns) * self.weights[:, None]

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self.scores.cells(rows, columns) * self.weights[rows]


class Below(Scores):
    """Scores with rows of zeros before them."""

    def __init__(self, scores: Scores, skipped: int) -> None:
        self.scores, self.skipped = scores, skipped
        self.rows, self.columns, self.depth = skipped + scores.rows, scores.columns, scores.depth

    def at(self, columns: slice | Tensor) -> Tensor:
        return pad(self.scores.at(columns), (0, 0, self.skipped, 0))

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        found = self.scores.cells((rows - self.skipped).clamp(min=0), columns)
        return found * (rows >= self.skipped)


class Listed(Scores):
    """Scores that are 0 but in cells that can be listed, each once: fewer than all, and more than a few."""

    device: torch.device

    @abstractmethod
    def listed(self, columns: slice = slice(None)) -> Cells:
        """All cells of a block of columns that may not be 0, with the columns' own numbers."""

    def at(self, columns: slice | Tensor) -> Tensor:
        if isinstance(columns, slice):
            start, stop, _ = columns.indices(self.columns)
            rows, ids, values = self.listed(columns)
            return values.new_zeros(self.rows, stop - start).index_put_((rows, ids - start), values)
        rows = torch.arange(self.rows, device=self.device).repeat_interleave(len(columns))
        return self.cells(rows, columns.repeat(self.rows)).view(self.rows, len(columns))

    def add_to(self, columns: slice, out: Tensor) -> None:
        rows, ids, values = self.listed(columns)
        out.index_put_((rows, ids - columns.indices(self.columns)[0]), values, accumulate=True)


class Nothing(Listed):
    """0 everywhere."""

    def __init__(self, like: Tensor, rows: int, columns: int) -> None:
        self.like, self.rows, self.columns, self.device = like, rows, columns, like.device

    def listed(self, columns: slice = slice(None)) -> Cells:
        none = torch.empty(0, dtype=torch.int64, device=self.device)
        return Cells(none, none, self.like.new_zeros(0))

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self.like.new_zeros(len(rows))

    def __add__(self, other: Scores) -> Scores:
        return other


class Sparse(Scores):
    """Dense scores, and what is added to single cells of them."""

    def __init__(self, dense: Scores, added: Cells) -> None:
        self.dense, self.added, self.rows, self.columns = dense, added, dense.rows, dense.columns
        self.depth = dense.depth

    def at(self, columns: slice | Tensor) -> Tensor:
        ids = torch.arange(self.columns, device=self.added.rows.device)[columns]
        place = torch.full((self.columns,), -1, dtype=torch.int64, device=ids.device)
        place[ids] = torch.arange(len(ids), device=ids.device)
        where = place[self.added.columns]
        inside = (where >= 0).nonzero()[:, 0]
        cells = (self.added.rows[inside], where[inside])
        return self.dense.at(columns).index_put_(cells, self.added.values[inside], accumulate=True)

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        keys, values = self.added.rows * self.columns + self.added.columns, self.added.values
        different, number = torch.unique(keys, return_inverse=True)
        sums = values.new_zeros(len(different) + 1).index_add(0, number, values)  # the last is that of no cell
        wanted = rows * self.columns + columns
        place = torch.searchsorted(different, wanted).clamp(max=max(len(different) - 1, 0))
        known = different[place] == wanted if len(different) else torch.zeros_like(wanted, dtype=torch.bool)
        return self.dense.cells(rows, columns) + sums[torch.where(known, place, len(different))]

    def split(self) -> tuple[Scores, Cells | None]:
        return self.dense, self.added
