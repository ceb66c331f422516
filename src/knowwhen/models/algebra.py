"""Complex arithmetic on real tables: parameters are stored (n, 2r) and viewed (n, r) complex."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag

DOTS = 2048
PRODUCT_PAYS = 100  # times as fast for each cell as looking up two rows


def lookup(table: Tensor, ids: Tensor) -> Tensor:  # (n, d), (b,) -> (b, d)
    """table[ids], with a backward pass that costs b rows, not n.

    Autograd's own makes a dense gradient of zeros for every look-up and adds it to the others; ours adds the b rows to
    table.grad in place, or keeps them for themselves where `keep_rows` says so. So it is for parameters and
    `backward()`, not for `torch.autograd.grad`.
    """
    if table.is_leaf and table.requires_grad and torch.is_grad_enabled():
        rows: Tensor = _Lookup.apply(table, ids)  # type: ignore[no-untyped-call]
        return rows
    return table[ids]


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:
        ctx.table = table
        ctx.save_for_backward(ids)
        return table.detach().index_select(0, ids)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None]:
        (ids,) = ctx.saved_tensors
        if keeps_rows(ctx.table):
            ctx.table.row_gradients.append((ids, gradient))
            return None, None
        if ctx.table.grad is None:
            ctx.table.grad = torch.zeros_like(ctx.table)
        ctx.table.grad.index_add_(0, ids, gradient)
        return None, None


def keep_rows(table: Tensor) -> None:
    """From here on the gradients of looked-up rows are kept for themselves: nothing as large as the table is made."""
    table.row_gradients = []  # type: ignore[attr-defined]


def keeps_rows(table: Tensor) -> bool:
    return getattr(table, "row_gradients", None) is not None


def take_rows(table: Tensor) -> tuple[Tensor, Tensor] | None:  # (k,), (k, d)
    """The different rows that were looked up since they were last taken, in order, with their gradients."""
    kept = getattr(table, "row_gradients", None)
    if not kept:
        return None
    ids, values = (torch.cat(column) for column in zip(*kept, strict=True))
    kept.clear()
    ids, order = ids.sort(stable=True)
    start = torch.cat([ids[:1] >= 0, ids[1:] != ids[:-1]]).nonzero()[:, 0]  # where another id begins
    # A third of the time of index_add_: it reads each row once, on all cores.
    sums = embedding_bag(order, values.flatten(1), start, mode="sum")
    return ids[start], sums.view(len(start), *table.shape[1:])


def as_complex(rows: Tensor) -> Tensor:  # (…, 2r) real -> (…, r) complex, no copy
    return torch.view_as_complex(rows.view(*rows.shape[:-1], rows.shape[-1] // 2, 2))


def as_real(rows: Tensor) -> Tensor:  # (…, r) complex -> (…, 2r) real
    """The real view of complex rows; real ones stay as they are."""
    return torch.view_as_real(rows.resolve_conj()).flatten(-2) if rows.is_complex() else rows


def moduli(rows: Tensor) -> Tensor:  # (…, 2r) real -> (…)
    """Σ_k |z_k| of complex numbers stored as pairs; its gradient is 0 at 0."""
    pairs = rows.view(*rows.shape[:-1], rows.shape[-1] // 2, 2)
    found: Tensor = torch.linalg.vector_norm(pairs, dim=-1).sum(-1)
    return found


def real_dot(a: Tensor, b: Tensor) -> Tensor:
    """Re⟨a_i, b̄_j⟩ for all pairs of rows: the dot product of the real views, one real matmul."""
    return as_real(a) @ as_real(b).mT


def dots(a: Tensor, b: Tensor, rows: Tensor, columns: Tensor) -> Tensor:  # (m, d), (n, d), (c,), (c,) -> (c,)
    """(a @ b.mT)[rows, columns]: by that very product, or cell by cell where these are few."""
    if keeps_rows(b) and torch.is_grad_enabled():
        return (a[rows] * lookup(b, columns)).sum(-1)
    if len(rows) * PRODUCT_PAYS > len(a) * len(b):
        return (a @ b.mT)[rows, columns]
    # So many at a time that what is made on the way stays in the cache.
    parts = (slice(start, start + DOTS) for start in range(0, len(rows), DOTS))
    return torch.cat([a[:0, 0], *((a[rows[part]] * b[columns[part]]).sum(-1) for part in parts)])
