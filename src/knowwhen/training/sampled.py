"""A softmax over a sample of candidates, whose sum over all of them is right on average.

The candidates of a step are the targets of its batch and K entities drawn without replacement, shared by all rows.
A rival c counts 1 / π_c times, π_c being the probability that it is among them; the target itself counts once:

    Z_i = exp X[i, target] + Σ_{c in the sample, c ≠ target} exp X[i, c] / π_c          E[Z_i] = Σ_c exp X[i, c]
    π_c = 1 − (1 − K/E) · H_c          H_c: no other row of a random batch of the epoch has the target c

At K = E every π is 1, and the loss is that of the full softmax. (Lacroix et al. 2020, section 5.1, leave sampling to
future work.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from knowwhen.distributed import collectives
from knowwhen.distributed.shard import Shard
from knowwhen.errors import BadRequest
from knowwhen.models.scores import Cells, Product, Scores
from knowwhen.models.splitting import Split
from knowwhen.training import softmax
from knowwhen.training.losses import chosen
from knowwhen.training.softmax import Precision

FEW, MANY, LARGE = 1024, 2048, 50_000  # draws by default, below and from so many entities
SPARE = 32  # draws more than needed, for entities that are drawn twice
WORTH = 4  # times as many entities as candidates: then a sampled step is the cheaper one


@dataclass(frozen=True)
class Sample:
    """The candidates of a step."""

    columns: Tensor  # (k,), increasing
    weights: Tensor  # (k,), 1 / π
    positions: Tensor  # (b,), where the targets are; -1: nowhere

    def part(self, shard: Shard) -> Sample:
        """The candidates of one process, by their places there; none is one that counts nothing."""
        own = shard.own(self.columns)
        columns, weights = shard.places(self.columns[own]), self.weights[own]
        if not len(own):
            columns, weights = torch.zeros_like(self.columns[:1]), torch.zeros_like(self.weights[:1])
        place = torch.full_like(self.columns, -1).index_copy(0, own, torch.arange(len(own), device=own.device))
        return Sample(columns, weights, place[self.positions])


def negatives_for(entities: int, wanted: int) -> int:
    """How many entities are drawn; 0 takes a number that goes with the size."""
    if wanted > entities:
        raise BadRequest(f"objective.negatives is {wanted}, but there are only {entities} entities")
    return wanted or min(entities, FEW if entities < LARGE else MANY)


def is_worth_it(entities: int, batch: int, negatives: int) -> bool:
    """Whether a sampled step costs less than a full one."""
    return entities > WORTH * (negatives_for(entities, negatives) + batch)


class Sampler:
    """Draws the candidates of steps; what it draws depends on torch's seed alone."""

    def __init__(self, targets: Tensor, entities: int, negatives: int) -> None:
        """`targets` (N,) are those of an epoch: how often an entity is one says how often it comes with a batch."""
        self.entities, self.negatives = entities, negatives_for(entities, negatives)
        self.examples = len(targets)
        self.counts = torch.bincount(targets, minlength=entities).double()  # (E,)
        self._weights = lru_cache(maxsize=2)(self._weights_of_all)  # of a batch, and of the last, shorter one

    def draw(self, targets: Tensor) -> Sample:
        columns = torch.unique(torch.cat([targets, self._drawn(targets.device)]))
        return Sample(columns, self._weights(len(targets))[columns], torch.searchsorted(columns, targets))

    def _drawn(self, device: torch.device) -> Tensor:  # (K,)
        """Different entities, each set of K as likely as any other, at a cost that does not grow with E."""
        if 2 * self.negatives > self.entities:
            return torch.randperm(self.entities, device=device)[: self.negatives]
        spare = self.negatives**2 // self.entities + SPARE
        while True:
            drawn = torch.randint(self.entities, (self.negatives + spare,), device=device)
            # One sort by entity, then by the place in the draw; of equal ones the first stays.
            keys = (drawn << 32 | torch.arange(len(drawn), device=device)).sort().values
            entity, place = keys >> 32, keys & 0xFFFFFFFF
            found = place[torch.cat([entity[:1] >= 0, entity[1:] != entity[:-1]])]
            if len(found) >= self.negatives:
                return drawn[found.sort().values[: self.negatives]]  # the first K, in the order of drawing
            spare *= 2

    def _weights_of_all(self, batch: int) -> Tensor:  # (E,)
        """1 / π of every entity, for batches of that size."""
        others, rest = batch - 1, self.examples - 1  # beside the row itself, whose target is another entity
        # H_c = C(rest − n, others) / C(rest, others), n the number of examples with the target c
        left = rest - self.counts - others
        log_none = torch.lgamma(rest - self.counts + 1) - torch.lgamma(left.clamp(min=0) + 1)
        log_none -= math.lgamma(rest + 1) - math.lgamma(rest - others + 1)
        none = torch.where(left >= 0, log_none.exp(), 0.0)
        return (1 / (1 - (1 - self.negatives / self.entities) * none)).float()


def sampled_cross_entropy(scores: Scores, targets: Tensor, sample: Sample, precision: Precision = "fp32") -> Tensor:
    """Mean over the batch of −X[i, target_i] + log Z_i.

    What evidence adds to single cells is not left to chance: in each row, those cells are candidates for themselves,
    and none of the sample.
    """
    split = isinstance(scores, Split)
    if isinstance(scores, Split):  # our columns alone
        targets, sample, scores = scores.shard.here(targets), sample.part(scores.shard), scores.here
    dense, cells = scores.split()
    if cells is None and isinstance(dense, Product):
        rows, weights = dense.candidates(sample.columns), sample.weights
        return softmax.cross_entropy(
            dense.query, rows, sample.positions, weights=weights, split=split, precision=precision
        )
    rivals, own = _rivals_and_own(scores, targets, sample)
    if split:
        rivals, own = collectives.logsumexp(rivals), collectives.summed(own)
    return (rivals.logaddexp(own) - own).mean()


def _rivals_and_own(scores: Scores, targets: Tensor, sample: Sample) -> tuple[Tensor, Tensor]:  # (b,), (b,)
    """log Σ of the rivals' exp X / π, and the targets' X, 0 for targets that are in no column."""
    dense, cells = scores.split()
    x = chosen(dense, sample.columns)  # (b, k)
    never = torch.finfo(x.dtype).min / 2  # -inf would make gradients NaN where a row has no rival
    here = (sample.positions >= 0).nonzero()[:, 0]
    own = x.new_zeros(len(x)).index_put((here,), x[here, sample.positions[here]])
    rivals = x + sample.weights.to(x.dtype).log().clamp(min=never)
    taken = torch.zeros_like(x, dtype=torch.bool)
    taken[here, sample.positions[here]] = True
    if cells is None:
        return rivals.masked_fill(taken, never).logsumexp(-1), own
    added = _added_up(cells, scores.columns)
    place = torch.searchsorted(sample.columns, added.columns).clamp(max=len(sample.columns) - 1)
    inside = sample.columns[place] == added.columns
    taken[added.rows[inside], place[inside]] = True
    single = dense.cells(added.rows, added.columns) + added.values  # (m,)
    is_target = added.columns == targets[added.rows]
    own = own.index_put((added.rows[is_target],), single[is_target])
    shared = rivals.masked_fill(taken, never).logsumexp(-1)
    return shared.logaddexp(_logsumexp(single[~is_target], added.rows[~is_target], scores.rows)), own


def _added_up(cells: Cells, columns: int) -> Cells:
    """The same with each cell once."""
    keys, number = torch.unique(cells.rows * columns + cells.columns, return_inverse=True)
    values = cells.values.new_zeros(len(keys)).index_add(0, number, cells.values)
    return Cells(keys // columns, keys % columns, values)


def _logsumexp(values: Tensor, rows: Tensor, count: int) -> Tensor:  # (m,), (m,) -> (count,)
    """log Σ exp of the values of each row; -inf where it has none."""
    top = values.new_full((count,), -torch.inf).scatter_reduce(0, rows, values.detach(), "amax")
    top = top.masked_fill(top == -torch.inf, 0)
    return top + values.new_zeros(count).index_add(0, rows, (values - top[rows]).exp()).log()
