"""Penalties, as pure functions; their weights belong to the loop.

Weighted by the batch, as in the paper: the factors are those of the batch's facts, so rows are penalised as often as
they occur. Complex rows are penalised by their moduli, real ones by absolute values; gradients are finite at zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from knowwhen.models.algebra import as_complex, as_real
from knowwhen.models.base import Factor


def omega3(factors: Sequence[Factor]) -> Tensor:
    """Ω³ = 1/3 Σ_f weight_f ‖f‖₃³, batch mean: the nuclear 3-norm's variational form.

    Lacroix et al. 2020, section 3.2. `factors` are the model's: with predicate and time in one mode, and TNTComplEx's
    entities counting twice.
    """
    return _norms(factors, 3) / 3


def delta(factors: Sequence[Factor], p: int) -> Tensor:
    """Δ^p = 1/p Σ_f weight_f ‖f‖_p^p over the separate factors (Lacroix et al. 2020, section 3.5); batch mean."""
    return _norms(factors, p) / p


def smoothness(axis: Tensor, p: float, gaps: Tensor | None = None) -> Tensor:
    """Λ_p = 1/(T−1) Σ_i ‖w_{i+1} − w_i‖_p^p (Lacroix et al. 2020, section 3.3); rows (T, …) in the order of time.

    With `gaps` (T−1,), the real distances of neighbouring timestamps, each term is divided by its gap.
    """
    if len(axis) < 2:
        return axis.real.new_zeros(()) if axis.is_complex() else axis.new_zeros(())
    steps: Tensor = _Steps.apply(axis)  # type: ignore[no-untyped-call]
    norms = power_norm(steps, p)  # (T - 1,)
    return (norms if gaps is None else norms / gaps).mean()


def _norms(factors: Sequence[Factor], p: float) -> Tensor:
    return reduce(add, (weight * power_norm(rows, p).mean() for weight, rows in factors), torch.zeros(()))


def power_norm(rows: Tensor, p: float) -> Tensor:  # (n, …) -> (n,)
    """Σ_j |z_j|^p of each row of complex or real numbers.

    Naive equivalent: `rows.abs().pow(p).flatten(1).sum(-1)`. For complex rows the gradient p |z|^(p−2) z is written
    out: it takes a few products, and is 0 at 0 where a square root's is NaN.
    """
    if not rows.is_complex():
        return rows.abs().pow(p).flatten(1).sum(-1)
    norms: Tensor = _PowerNorm.apply(as_real(rows).flatten(1), p)  # type: ignore[no-untyped-call]
    return norms


class _Steps(torch.autograd.Function):
    """axis[1:] − axis[:-1]; autograd's own backward fills two tables of zeros and adds them up."""

    @staticmethod
    def forward(ctx: Any, axis: Tensor) -> Tensor:
        return axis[1:] - axis[:-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        gradient = upstream.new_empty(len(upstream) + 1, *upstream.shape[1:])
        gradient[0], gradient[-1] = -upstream[0], upstream[-1]
        torch.sub(upstream[:-1], upstream[1:], out=gradient[1:-1])
        return gradient


class _PowerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, p: float) -> Tensor:
        z = as_complex(rows)
        squares = (z * z.conj()).real  # (n, r); a fifth of the time of abs() or of a sum over pairs
        slope = _power(squares, p - 2)  # |z|^(p − 2)
        ctx.p = p
        ctx.save_for_backward(rows, slope)
        return (squares * slope).sum(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        rows, slope = ctx.saved_tensors
        scale = slope * (ctx.p * upstream[..., None])  # (n, r)
        return as_real(as_complex(rows) * scale), None


def _power(squares: Tensor, exponent: float) -> Tensor:
    """|z|^exponent from |z|², 0 where z is 0 and the exponent negative; without `pow` where it can be done without."""
    if exponent == 0:
        return torch.ones_like(squares)
    if exponent == 1:
        return squares.sqrt()
    if exponent == 2:
        return squares
    return torch.where(squares > 0, squares.pow(exponent / 2), 0)
