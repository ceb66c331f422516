"""The hot kernel: cross-entropy of a batch of queries against all candidates, with its gradients.

    loss = 1/b Σ_i ( log Σ_k exp X[i, k] − X[i, target_i] )        X = query @ candidates.T

Naive equivalent: `F.cross_entropy(query @ candidates.T, targets)`. The limit is its three matrix products, the scores
and two gradients. What is done to stay near it:

- The loss ends the graph, so both gradients are computed in the forward pass, and the scores are overwritten by their
  exponentials. Nothing of size b x E is allocated twice.
- Scores are stored transposed, (E, b): a run of entities is then contiguous, and all three products take BLAS's fast
  path at any E. As (b, E), with rows 1.7 MB apart, the scores product took 1.7 times as long at E = 432,715.
- Entities go in tiles that fit the cache: there, the sum costs little beyond the exponential, and one reference score
  per row (the first tile's maximum) serves all tiles. The normalising factor is put on the small matrices:

      softmax(X)[i, k] = tile[k, i] · scale[i]
      grad_query = scale · Σ_tiles tileᵀ @ candidates          grad_candidates = tile @ (scale · query)

- The target's cell is zeroed in its tile and comes back as p_target − 1 = −Σ_rivals p, free of cancellation.
- Weights of rivals, where candidates are a sample, go on the small matrices too: on the candidates in the one product,
  on the rows of the outcome in the other, and into the sum.
- Scores are in base 2 (the query carries log2 e): exp2 takes half the time of exp in torch's CPU kernels.
- Where other processes hold the other candidates, each has top, sum and target's score of its own. Three numbers a row
  are told (`_over_processes`), and go into the scale; all else is as with one process.
- Large buffers are recycled between calls: fresh pages cost more than the arithmetic done on them.

torch.compile was measured for the elementwise part: no faster than these eager operations, so it is not used.
"""

import math
import threading
import weakref
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from knowwhen.distributed import collectives
from knowwhen.models.scores import Cells

Precision = Literal["fp32", "bf16"]

# 1000 rows of 432,715 scores in one piece: products of fewer rows are slower, and each piece rewrites grad_candidates.
CHUNK_BYTES = 2 << 30
# In L3 beside the operands. Below 2 MB the products lose speed, and on busy cores the threads wait more often.
TILE_BYTES = 8 << 20
LOG2_E = 1 / math.log(2)


def cross_entropy(
    query: Tensor,
    candidates: Tensor,
    targets: Tensor,
    *,
    extra: Cells | None = None,
    weights: Tensor | None = None,
    split: bool = False,
    precision: Precision = "fp32",
    chunk_bytes: int = CHUNK_BYTES,
) -> Tensor:
    """Mean over the batch of −X[i, target_i] + log Σ_k exp X[i, k], where X = query @ candidates.T.

    With `weights` (E,), rivals count as often: log(exp X[i, target_i] + Σ_k≠target weights[k] exp X[i, k]).
    With `split`, candidates are those of this process, and the loss is over those of all; targets that are elsewhere
    are -1, and the gradient of the query is this process's part of it.

    Naive equivalent: `F.cross_entropy(query @ candidates.T, targets)`.  # (b, d), (E, d), (b,) -> ()

    Differentiable once, in query, candidates and the values of `extra`. `precision="bf16"` multiplies in bfloat16 and
    keeps softmax and gradients in float32; "fp32" multiplies in the input's dtype. The scores take at most
    `chunk_bytes`, or one row. CPU buffers stay allocated for the next call, until `release_memory`: drop old gradients
    before it (`zero_grad()` ahead of the loss), so that theirs can be used again.
    """
    rows, columns, values = extra if extra is not None else (None, None, None)
    plan = _Plan(targets, rows, columns, weights, split, precision, chunk_bytes)
    inputs = (query, candidates, values)
    if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in inputs):
        loss: Tensor = _CrossEntropy.apply(*inputs, plan)  # type: ignore[no-untyped-call]
        return loss
    with torch.no_grad():
        return _solve(query, candidates, values, plan, (False, False, False))[0]


def fast_bf16(device: torch.device | str = "cpu") -> bool:
    """Whether bfloat16 products are faster than float32 ones there. Without instructions for it they are far slower."""
    if torch.device(device).type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}  # torch >= 2.10
    return any(capabilities.get(name, False) for name in ("amx_bf16", "avx512_bf16", "bf16"))


def release_memory() -> None:
    """Gives back the buffers which this thread keeps for its next call."""
    _memory.blocks.clear()


class _Plan(NamedTuple):
    """What is not differentiated."""

    targets: Tensor
    rows: Tensor | None
    columns: Tensor | None
    weights: Tensor | None
    split: bool
    precision: Precision
    chunk_bytes: int


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, candidates: Tensor, values: Tensor | None, plan: _Plan) -> Tensor:
        loss, ctx.gradients = _solve(query, candidates, values, plan, ctx.needs_input_grad)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        # Given away, not kept: so they may be scaled in place, and autograd takes them as .grad without a copy.
        gradients, ctx.gradients = ctx.gradients, None
        if gradients is None:
            raise RuntimeError("cross_entropy gives its gradients once; compute the loss again for a second backward()")
        if not (upstream.is_cpu and upstream.item() == 1):  # on a GPU, looking would cost more than multiplying
            gradients = [g if g is None else g.mul_(upstream) for g in gradients]
        return *gradients, None


def _solve(
    query: Tensor, candidates: Tensor, values: Tensor | None, plan: _Plan, needs: Sequence[bool]
) -> tuple[Tensor, list[Tensor | None]]:
    """The loss, and the gradients of query, candidates and values that are needed, chunk by chunk of the batch."""
    (b, d), (E, _) = query.shape, candidates.shape
    exact = torch.promote_types(query.dtype, torch.float32)
    factor = candidates.to(torch.bfloat16 if plan.precision == "bf16" else query.dtype)  # (E, d)
    here = (plan.targets >= 0).nonzero()[:, 0] if plan.split else slice(None)
    # (b, d), zero where a target is elsewhere; an error if one is out of range
    wanted = candidates.index_select(0, plan.targets.clamp(min=0) if plan.split else plan.targets).to(exact)
    wanted = wanted * (plan.targets >= 0)[:, None] if plan.split else wanted
    weights = None if plan.weights is None else plan.weights.to(factor.dtype)
    loss = torch.zeros((), dtype=exact, device=query.device)
    residual = torch.empty_like(query[:, :1], dtype=exact)  # (b, 1)
    grad_query = torch.zeros_like(query, dtype=exact) if needs[0] else None
    grad_candidates = _memory.empty("gradient", (E, d), exact, query.device).zero_() if needs[1] else None
    grad_values = torch.zeros_like(values, dtype=exact) if needs[2] and values is not None else None
    pieces = min(b, math.ceil(b * E * factor.element_size() / plan.chunk_bytes))
    size = math.ceil(b / pieces)  # pieces of about equal size: BLAS is slow on a thin rest
    logits = _memory.empty("logits", (size * E,), factor.dtype, query.device)  # the same for all pieces
    for start in range(0, b, size):
        part = slice(start, start + size)
        chunk = _Chunk(query[part].to(exact), factor, plan.targets[part], logits, 1 / b, weights, plan.split)
        inside: Tensor | slice | None = None
        if plan.rows is not None and plan.columns is not None and values is not None:
            inside = slice(None)
            if size < b:
                inside = ((plan.rows >= start) & (plan.rows < start + size)).nonzero()[:, 0]
            chunk.add(plan.rows[inside] - start, plan.columns[inside], values[inside].to(exact))
        loss += chunk.exponentiate()
        if grad_query is not None or grad_candidates is not None:
            chunk.add_gradients(grad_query if grad_query is None else grad_query[part], grad_candidates, wanted[part])
            residual[part] = chunk.residual
        if grad_values is not None and inside is not None:
            grad_values[inside] = chunk.grad_values()
    if grad_candidates is not None:
        if weights is not None:  # of rivals; the targets' cells were zero until here
            grad_candidates.mul_(weights[:, None])
        grad_candidates.index_add_(0, plan.targets[here], (residual * query)[here])
    pairs = zip((query, candidates, values), (grad_query, grad_candidates, grad_values), strict=True)
    return loss, [g if g is None or x is None else g.to(x.dtype) for x, g in pairs]


class _Cells:
    """Cells (entity, column) of the transposed scores, in order of entity, so that each tile finds its own."""

    def __init__(self, entities: Tensor, columns: Tensor, edges: list[int], width: int) -> None:
        entities, self.order = entities.int().sort(stable=True)  # numbers of 32 bits take a quarter of the time
        self.columns = columns[self.order]
        self.flat = entities.long() * width + self.columns  # in X.T as one row
        inner = torch.tensor(edges[1:-1], dtype=entities.dtype, device=entities.device)
        # With one tile, as on a GPU, nothing has to be waited for.
        cuts = torch.searchsorted(entities, inner).tolist() if edges[1:-1] else []
        self.spans = [slice(*ends) for ends in pairwise([0, *cuts, len(entities)])]
        self.starts = [edge * width for edge in edges]

    def of(self, tile: int) -> Tensor:
        """Where they are in a tile as one row: index_select and scatter_add_ take half the time of pairs of indices."""
        return self.flat[self.spans[tile]] - self.starts[tile]


class _Chunk:
    """The scores of some rows of the batch: first exponentiated, then multiplied into gradients."""

    def __init__(
        self,
        query: Tensor,
        factor: Tensor,
        targets: Tensor,
        buffer: Tensor,
        weight: float,
        weights: Tensor | None,
        split: bool,
    ) -> None:
        self.query, self.factor, self.targets, self.weight, self.split = query, factor, targets, weight, split
        self.weights = weights  # (E,), of rivals; the target's cell is zero, so it is none of them
        (n, _), (E, _) = query.shape, factor.shape
        self.logits = buffer[: E * n].view(E, n)
        tiles = math.ceil(self.logits.nbytes / TILE_BYTES) if query.is_cpu else 1
        width = math.ceil(E / min(tiles, E))
        self.edges = [*range(0, E, width), E]
        self.spans = [slice(*ends) for ends in pairwise(self.edges)]
        self.query2 = (query * LOG2_E).to(factor.dtype).mT  # (d, n)
        rows = (targets >= 0).nonzero()[:, 0] if split else torch.arange(n, device=query.device)
        self.targeted = _Cells(targets[rows] if split else targets, rows, self.edges, n)
        self.added: _Cells | None = None

    def add(self, rows: Tensor, columns: Tensor, values: Tensor) -> None:
        self.added = _Cells(columns, rows, self.edges, len(self.query))
        self.values = values[self.added.order] * LOG2_E

    def scores(self, i: int) -> Tensor:  # (width, n)
        """Tile i of X.T, in base 2."""
        span = self.spans[i]
        x = torch.mm(self.factor[span], self.query2, out=self.logits[span]).to(self.query.dtype)
        if self.added is not None:
            x.view(-1).scatter_add_(0, self.added.of(i), self.values[self.added.spans[i]])
        return x  # self.logits[span] itself, unless the products are in lower precision

    def exponentials(self, top: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:  # (n,) each
        """Overwrites X.T by 2^(X.T - top), zero at the targets; top, the sum of it, and the targets' scores."""
        rivals, own = torch.zeros_like(self.query[:, 0]), torch.full_like(self.query[:, 0], -torch.inf)
        for i, span in enumerate(self.spans):
            x, target = self.scores(i), self.targeted.of(i)
            if top is None:
                top = x.amax(0)
            own[self.targeted.columns[self.targeted.spans[i]]] = x.view(-1)[target]
            x.sub_(top).exp2_()
            x.view(-1)[target] = 0
            rivals += x.sum(0) if self.weights is None else self.weights[span].to(x.dtype) @ x
            if x.dtype != self.logits.dtype:
                self.logits[span] = x
        assert top is not None
        return top, rivals, own

    def exponentiate(self) -> Tensor:  # ()
        """The chunk's share of the loss; from here on softmax(X).T / b = logits * scale, but for the targets."""
        top, rivals, own = self.exponentials(top=None)
        total = rivals + torch.exp2(own - top)
        # Against the first tile's maximum, no later tile has to be searched for its own. Scores far above it (more than
        # 44 in float32) would overflow: then once more, against the true maximum.
        if len(self.spans) > 1 and not total.max() < torch.finfo(self.logits.dtype).max ** 0.5:
            top = torch.stack([self.scores(i).amax(0) for i in range(len(self.spans))]).amax(0)
            top, rivals, own = self.exponentials(top)
            total = rivals + torch.exp2(own - top)
        share = torch.ones_like(total)
        if self.split:
            top, rivals, own, share = self._over_processes(top, rivals, own)
            total = rivals + torch.exp2(own - top)
        self.residual = (-rivals * self.weight / total)[:, None]  # (n, 1): (p_target - 1) / b
        self.scale = (self.weight / total * share)[:, None]  # (n, 1)
        loss: Tensor = (top + total.log2() - own).sum() * (self.weight / LOG2_E)
        return loss

    def _over_processes(self, top: Tensor, rivals: Tensor, own: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The same over the candidates of all processes, and 2^(our top - that of all)."""
        best, own = collectives.largest(torch.stack([top, own]))  # elsewhere, the target's score is -inf
        share = torch.exp2(top - best)
        return best, collectives.add_up(rivals * share), own, share

    def add_gradients(self, grad_query: Tensor | None, grad_candidates: Tensor | None, wanted: Tensor) -> None:
        """Adds G @ candidates, and of G.T @ query the part of rivals; G = (softmax(X) - onehot(targets)) / b."""
        scaled = (self.query * self.scale).to(self.logits.dtype)
        for span in self.spans:  # both products while the tile is in the cache
            factor = self.factor[span] if self.weights is None else self.factor[span] * self.weights[span, None]
            if grad_query is not None:
                _add_product(grad_query, self.logits[span].mT, factor)
            if grad_candidates is not None:
                _add_product(grad_candidates[span], self.logits[span], scaled)
        if grad_query is not None:
            grad_query.mul_(self.scale).addcmul_(self.residual, wanted)

    def grad_values(self) -> Tensor:
        """G at the added cells, in the order they were given."""
        assert self.added is not None
        flat, columns, order = self.added.flat, self.added.columns, self.added.order
        gradient = self.logits.view(-1).index_select(0, flat).to(self.scale.dtype)
        gradient *= self.scale[:, 0].index_select(0, columns)
        if self.weights is not None:
            gradient *= self.weights.index_select(0, flat // len(self.query))
        hit = flat == (self.targets * len(self.query)).index_select(0, columns) + columns
        gradient += self.residual[:, 0].index_select(0, columns) * hit
        return torch.empty_like(gradient).index_copy_(0, order, gradient)


def _add_product(to: Tensor, a: Tensor, b: Tensor) -> None:
    """to += a @ b, without an intermediate where that can be."""
    if to.dtype == a.dtype:
        to.addmm_(a, b)
    else:
        to += a @ b


class _Memory(threading.local):
    """CPU blocks kept between calls, per thread. Devices with a caching allocator need none of this.

    A block is lent through a numpy array which the tensor's storage keeps alive, and is free again when that array is
    gone: a gradient still held by someone (.grad, a list) is never overwritten.
    """

    def __init__(self) -> None:
        self.blocks: dict[str, tuple[Tensor, weakref.ref[Any]]] = {}

    def empty(self, use: str, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
        """An uninitialised tensor: `torch.empty(shape, dtype=dtype, device=device)`."""
        if device.type != "cpu":
            return torch.empty(shape, dtype=dtype, device=device)
        size = math.prod(shape) * dtype.itemsize
        block, lent = self.blocks.pop(use, (None, None))
        if block is None or block.nbytes < size or (lent is not None and lent() is not None):
            block = torch.empty(size, dtype=torch.uint8)
        array = block[:size].numpy()
        self.blocks[use] = (block, weakref.ref(array))
        return torch.from_numpy(array).view(dtype).view(shape)


_memory = _Memory()
