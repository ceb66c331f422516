"""Losses of scores: they read a value, and do not know which model made it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from knowwhen import chunks
from knowwhen.distributed import collectives
from knowwhen.models.scores import Cells, Listed, Product, Scores, Sparse
from knowwhen.models.splitting import Split
from knowwhen.models.tables import shared_lookups
from knowwhen.training import softmax
from knowwhen.training.softmax import Precision

NEVER = -1e4  # no score of a rival: its exponential is 0
REMADE_BYTES = 1 << 30  # made on the way to chosen scores: more is made again for its gradient, block by block
CELL_BYTES = 256 << 20  # scores of which only some cells are not 0, made at once


def cross_entropy(scores: Scores, targets: Tensor, precision: Precision = "fp32") -> Tensor:  # (b, n), (b,) -> ()
    """Mean over the batch of −X[i, target_i] + log Σ_k exp X[i, k].

    Naive equivalent: `F.cross_entropy(scores.whole(), targets)`. A product has a kernel of its own, whatever is added
    to single cells; a constant of a row cancels. All else goes block by block.
    """
    split = isinstance(scores, Split)
    if isinstance(scores, Split):  # our columns alone
        targets, scores = scores.shard.here(targets), scores.here
    dense, cells = scores.split()
    if isinstance(dense, Product):
        return softmax.cross_entropy(dense.query, dense.table, targets, extra=cells, split=split, precision=precision)
    if isinstance(dense, Listed):
        every = [dense.listed(), *([cells] if cells is not None else [])]
        return _of_cells(Cells(*(torch.cat(columns) for columns in zip(*every, strict=True))), scores, targets)
    total, own = _by_blocks(scores, targets)
    if split:
        total, own = collectives.logsumexp(total), collectives.summed(own)
    return (total - own).mean()


def chosen(scores: Scores, columns: Tensor) -> Tensor:  # (b, k)
    """scores.at(columns), in blocks that are made again for their gradient where what is made on the way is large."""
    if 4 * scores.rows * scores.depth * len(columns) <= REMADE_BYTES or scores.depth == 1:
        return scores.at(columns)

    def block(some: Tensor) -> Tensor:
        with shared_lookups():  # of its own, as above
            return scores.at(some)

    width = chunks.rows_at_once(scores.rows * scores.depth)
    parts = (columns[part] for part in chunks.slices(len(columns), width))
    return torch.cat([checkpoint(block, some, use_reentrant=False) for some in parts], dim=1)


def without(scores: Scores, rows: Tensor, columns: Tensor) -> Scores:
    """The same scores, but what is in these cells is no rival."""
    if isinstance(scores, Split):
        own, shard = scores.shard.own(columns), scores.shard
        return Split(without(scores.here, rows[own], shard.places(columns[own])), shard, scores.columns)
    dense, cells = scores.split()
    never = torch.full((len(rows),), NEVER, dtype=torch.get_default_dtype(), device=rows.device)
    if cells is None:
        return Sparse(dense, Cells(rows, columns, never))
    pairs = zip(cells, (rows, columns, never.to(cells.values)), strict=True)
    return Sparse(dense, Cells(*(torch.cat(pair) for pair in pairs)))


class _CellEntropy(torch.autograd.Function):
    """Cross-entropy where all scores but those of some cells are 0; its gradient is made with it, as in softmax.py."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, rows: Tensor, columns: Tensor, targets: Tensor, width: int) -> Tensor:
        b = len(targets)
        scores = values.new_zeros(b * width)
        place = rows * width + columns
        scores.index_add_(0, place, values)
        wanted = torch.arange(b, device=targets.device) * width + targets
        own = scores.index_select(0, wanted)
        x = scores.view(b, width)
        top = x.amax(1, keepdim=True)
        total = x.sub_(top).exp_().sum(1)
        gradient = scores.index_select(0, place) * (1 / total).index_select(0, rows)
        gradient -= (place == wanted.index_select(0, rows)).to(gradient)
        ctx.gradient = gradient / b
        return (total.log() + top[:, 0] - own).mean()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.gradient * upstream, None, None, None, None


def _of_cells(cells: Cells, scores: Scores, targets: Tensor) -> Tensor:
    """Some rows at a time, so that their scores fit."""
    size, found = chunks.rows_at_once(scores.columns, CELL_BYTES), []
    for part in chunks.slices(len(targets), size):
        rows, columns, values = cells
        if size < len(targets):
            inside = ((rows >= part.start) & (rows < part.stop)).nonzero()[:, 0]
            rows, columns, values = (column.index_select(0, inside) for column in cells)
        loss: Tensor = _CellEntropy.apply(values, rows - part.start, columns, targets[part], scores.columns)  # type: ignore[no-untyped-call]
        found.append(loss * (part.stop - part.start))
    return torch.stack(found).sum() / len(targets)


def _by_blocks(scores: Scores, targets: Tensor) -> tuple[Tensor, Tensor]:  # (b,), (b,)
    """log Σ_k exp X[i, k], and X[i, target_i], 0 where the target is in no column.

    One block of columns at a time, made again for its gradient: memory is that of a block.
    """

    def block(columns: slice) -> tuple[Tensor, Tensor]:  # (b,), (b,)
        with shared_lookups():  # of its own: those of the step are over when the block is made again
            x = scores.at(columns)
        inside = (targets >= columns.start) & (targets < columns.stop)
        place = torch.where(inside, targets - columns.start, 0)
        return x.logsumexp(-1), x.gather(-1, place[:, None])[:, 0] * inside

    width = chunks.rows_at_once(scores.rows * scores.depth)
    parts = [
        checkpoint(block, columns, use_reentrant=False)  # with the same dropout
        for columns in chunks.slices(scores.columns, width)
    ]
    totals, own = (torch.stack(columns) for columns in zip(*parts, strict=True))
    return totals.logsumexp(0), own.sum(0)
