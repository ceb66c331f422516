"""What processes tell each other: every function is called by all of them, in the same order.

Whatever is computed from the batch alone is the same in all processes, gradients too: it is *common*. What is computed
from a process's own rows is its own. Each function says which of the two it takes and gives, in both directions:

    forward             backward            cost for each process, in numbers sent
    common(own rows)    own of common       (n − 1)/n of what is shared
    used(common)        sum of own          2 (n − 1)/n of its size
    summed(own)         common, as it is    2 (n − 1)/n of its size
    delivered(own)      returned            once there, once back

torch's own differentiable collectives take the gradient of a common result for n gradients, and add them up. Its
DTensor with `loss_parallel` keeps (b, E/n) scores and their gradients beside them: `benchmarks/distributed` has it
beside ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable

from knowwhen.distributed.shard import Shard
from knowwhen.errors import LostOthers

Result = TypeVar("Result")


def told(call: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """What a call of torch.distributed gives; its errors are those of lost processes."""
    try:
        return call(*arguments, **options)
    except RuntimeError as error:  # as gloo's and NCCL's all are
        reason = (str(error).splitlines() or [""])[0]
        raise LostOthers(f"the other processes do not respond ({reason})") from error


def add_up(x: Tensor) -> Tensor:
    """The sum over processes, in place."""
    told(dist.all_reduce, x)
    return x


def largest(x: Tensor) -> Tensor:
    """The maximum over processes, in place."""
    told(dist.all_reduce, x, op=dist.ReduceOp.MAX)
    return x


def from_first(x: Tensor) -> Tensor:
    """What the first process has, in place."""
    told(dist.broadcast, x, 0)
    return x


def gathered(x: Tensor) -> list[Tensor]:
    """What each process has, of one shape everywhere."""
    size = dist.get_world_size()
    found = [torch.empty_like(x) for _ in range(size)]
    told(dist.all_gather, found, x.contiguous())
    return found


def wait_for_all() -> None:
    told(dist.barrier)


def common(own: Tensor, ids: Tensor, shard: Shard) -> Tensor:  # (k, …), (m,) -> (m, …)
    """The rows of `ids`, of which each process gives those it holds, in their order."""
    found: Tensor = _Common.apply(own, ids, shard)  # type: ignore[no-untyped-call]
    return found


class _Common(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, own: Tensor, ids: Tensor, shard: Shard) -> Tensor:
        ctx.save_for_backward(shard.own(ids))
        owners, order = shard.owners(ids).sort(stable=True)
        counts = torch.bincount(owners, minlength=shard.size).tolist()
        found = own.new_empty(len(ids), *own.shape[1:])
        # As exact as the rows are uneven, where all_gather would fill every share up to the largest.
        given = own.contiguous().repeat(shard.size, *[1] * (own.dim() - 1))
        told(dist.all_to_all_single, found, given, counts, [len(own)] * shard.size)
        return torch.empty_like(found).index_copy_(0, order, found)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (own,) = ctx.saved_tensors
        return gradient.index_select(0, own), None, None


def used(x: Tensor) -> Tensor:
    """A common value that goes into what is a process's own: its gradients are added up."""
    found: Tensor = _Used.apply(x)  # type: ignore[no-untyped-call]
    return found


class _Used(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return add_up(gradient.contiguous().clone())


def summed(own: Tensor) -> Tensor:
    """The sum of what each process has."""
    found: Tensor = _Summed.apply(own)  # type: ignore[no-untyped-call]
    return found


class _Summed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, own: Tensor) -> Tensor:
        return add_up(own.contiguous().clone())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient


def logsumexp(own: Tensor) -> Tensor:  # (b,)
    """log Σ exp over processes; -inf counts as nothing."""
    top = largest(own.detach().clone()).clamp(min=torch.finfo(own.dtype).min)
    return top + summed((own - top).exp()).log()


def delivered(values: Tensor, numbers: Tensor, owners: Tensor, shard: Shard) -> tuple[Tensor, Tensor]:
    """What all processes have for us: values (m,) and the numbers (m, k) with them, each sent to its owner."""
    order = owners.sort(stable=True).indices
    sent = torch.bincount(owners, minlength=shard.size)
    received = torch.empty_like(sent)
    told(dist.all_to_all_single, received, sent)
    splits = received.tolist(), sent.tolist()
    some = numbers.index_select(0, order).contiguous()
    with_them = some.new_empty(sum(splits[0]), *some.shape[1:])
    told(dist.all_to_all_single, with_them, some, *splits)
    found: Tensor = _Delivered.apply(values.index_select(0, order), *splits)  # type: ignore[no-untyped-call]
    return found, with_them


class _Delivered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, received: list[int], sent: list[int]) -> Tensor:
        ctx.splits = sent, received
        found = values.new_empty(sum(received))
        told(dist.all_to_all_single, found, values.contiguous(), received, sent)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        back = gradient.new_empty(sum(ctx.splits[0]))
        told(dist.all_to_all_single, back, gradient.contiguous(), *ctx.splits)
        return back, None, None
