"""Losses that models were published with: over negatives drawn for each fact, and over all entities one by one."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus
from torch.utils.checkpoint import checkpoint

from knowwhen import chunks
from knowwhen.models.scores import Scores
from knowwhen.models.tables import shared_lookups


def with_negatives(scores: Scores, targets: Tensor, negatives: int) -> Tensor:  # (b, n), (b,) -> (b, 1 + negatives)
    """Scores of the target, then of entities drawn at random for each row; one that is true is not left out."""
    drawn = torch.randint(scores.columns, (scores.rows, negatives), device=targets.device)
    columns = torch.cat([targets[:, None], drawn], dim=1)
    rows = torch.arange(scores.rows, device=targets.device).repeat_interleave(1 + negatives)
    return scores.cells(rows, columns.flatten()).view_as(columns)


def softmax_loss(x: Tensor) -> Tensor:  # (b, 1 + n)
    """Mean of −x₀ + log Σ_k exp x_k: cross-entropy of the target among its own negatives (Goel et al. 2020)."""
    return (x.logsumexp(-1) - x[:, 0]).mean()


def margin_loss(x: Tensor, margin: float) -> Tensor:  # (b, 1 + n)
    """Mean of max(0, γ − x₀ + x_k) over facts and negatives (Bordes et al. 2013)."""
    return (margin - x[:, :1] + x[:, 1:]).relu().mean()


def negative_sampling_loss(x: Tensor, margin: float, adversarial: float) -> Tensor:  # (b, 1 + n)
    """Mean of ½ (−log σ(γ + x₀) − Σ_k w_k log σ(−γ − x_k)), w = softmax(α x) (Sun et al. 2019, eq. 5 and 6).

    The weights w are not learned from; with α = 0 all negatives count alike.
    """
    weights = (adversarial * x[:, 1:].detach()).softmax(-1)
    missed = (weights * logsigmoid(-margin - x[:, 1:])).sum(-1)
    return -(logsigmoid(margin + x[:, 0]) + missed).mean() / 2


def binary_loss(x: Tensor, smoothing: float) -> Tensor:  # (b, 1 + n)
    """Binary cross-entropy of the target, which is true, and its negatives, which are not; mean over both.

    Labels are y (1 − ε) + ε / (1 + n).
    """
    wrong = smoothing / x.shape[1]
    return (softplus(x) - wrong * x).mean() - (1 - smoothing) * x[:, 0].mean() / x.shape[1]


def binary_loss_of_all(scores: Scores, rows: Tensor, columns: Tensor, smoothing: float) -> Tensor:
    """Binary cross-entropy over all entities, of which those at (rows, columns) are true; mean over all b × n.

    Naive equivalent: `F.binary_cross_entropy_with_logits(scores.whole(), labels * (1 - smoothing) + smoothing / n)`.
    It is Σ softplus(x) − y x, so that what is true is read by itself; the rest goes block by block, each made again for
    its gradient.
    """
    share = smoothing / scores.columns

    def block(part: slice) -> Tensor:
        with shared_lookups():  # of its own, as in `losses.py`
            x = scores.at(part)
        return (softplus(x) - share * x).sum()

    width = chunks.rows_at_once(scores.rows * scores.depth)
    total = torch.stack([checkpoint(block, part, use_reentrant=False) for part in chunks.slices(scores.columns, width)])
    true = scores.cells(rows, columns).sum()
    return (total.sum() - (1 - smoothing) * true) / (scores.rows * scores.columns)
