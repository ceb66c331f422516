"""Losses of scores: they read a value, and do not know which model made it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from knowwhen import chunks
from knowwhen.distributed import collectives
from knowwhen.models.scores import Product, Scores
from knowwhen.models.splitting import Split
from knowwhen.models.tables import shared_lookups
from knowwhen.training import softmax
from knowwhen.training.softmax import Precision


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
    total, own = _by_blocks(scores, targets)
    if split:
        total, own = collectives.logsumexp(total), collectives.summed(own)
    return (total - own).mean()


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
