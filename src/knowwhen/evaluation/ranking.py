"""Facts to ranks: how many rivals score better than a query's answer, and how many the same.

Naive equivalent for one query: `rivals = [score[e] for e in entities if e is not a known answer]`, then
`better = sum(x > score[o] for x in rivals)`. The limit is the product that makes the scores. To stay near it:

- All entities are counted, then the few known answers are taken off again, from the same scores: nothing is written
  into the matrix.
- Scores are compared into floats, not booleans, and summed as such: whole numbers are exact there, and torch adds
  floats six times as fast as booleans.
- Scores go in tiles of entities that stay in the cache while they are looked at three times.
- All batches use the same memory: fresh pages cost more than the comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from knowwhen import chunks
from knowwhen.console import Progress
from knowwhen.distributed import collectives
from knowwhen.distributed.shard import Shard
from knowwhen.evaluation.protocol import Protocol, Ties
from knowwhen.evaluation.questions import Floats, Questions, check_finite
from knowwhen.evaluation.scorers import ObjectScorer
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.index.ranges import rows_in_order
from knowwhen.facts.table import Bools, Facts, Ints
from knowwhen.models import TemporalModel
from knowwhen.models.scores import Scores
from knowwhen.models.splitting import Split

BATCH = 256  # queries at once, fewer where SCORE_BYTES says so
SCORE_BYTES = 192 << 20  # the scores of a batch, whatever the number of entities
TILE_BYTES = 12 << 20  # scores that are compared at once: in L3, with as many bytes for the outcome
TIES: dict[Ties, float] = {"half": 0.5, "pessimistic": 1.0, "optimistic": 0.0}


@dataclass(frozen=True, eq=False)
class Ranks:
    """For each query, how many rivals its answer has before it and beside it; ranks under all rules for ties."""

    questions: Questions
    better: Ints  # rivals with a higher score
    equal: Ints  # rivals with the same score; the answer is not its own rival
    unseen: Bools  # the fact holds an entity that training never saw
    protocol: Protocol

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def facts(self) -> Facts:
        return self.questions.facts

    def rank(self, ties: Ties | None = None) -> Floats:  # (n,)
        """The rank of each answer, from 1; of rivals with its score, half, all or none stand before it."""
        return 1 + self.better + TIES[ties or self.protocol.ties] * self.equal


def rank_objects(
    model: ObjectScorer,
    questions: Questions,
    known: KnownFacts,
    protocol: Protocol,
    *,
    seen: Bools | None = None,
    progress: Progress | None = None,
) -> Ranks:
    """The ranks of the questions' answers among all entities that are not known to be right as well.

    `seen` says of each entity whether training saw it; None: all of them.
    """
    counts = [np.empty(len(questions), np.int64) for _ in range(2)]
    room = Room.of(model)
    # Questions of one predicate and time follow each other: models share what they make for these.
    order = rows_in_order([questions.p, questions.t])
    for batch in chunks.even_slices(len(questions), room.batch):
        rows = order[batch]
        part = questions[rows]
        scores = ScoreTiles.of(model, part, room)
        for column, found in zip(
            counts, scores.count_rivals(part.o, *part.others(known, protocol.filter)), strict=True
        ):
            column[rows] = found.cpu().numpy()
        if progress:
            progress(batch.stop, len(questions))
    better, equal = counts
    return Ranks(questions, better, equal, _unseen(questions.facts, seen)[questions.fact], protocol)


def _unseen(facts: Facts, seen: Bools | None) -> Bools:
    if seen is None:
        return np.zeros(len(facts), np.bool_)
    return ~(seen[facts.subject] & seen[facts.object])


@dataclass(frozen=True, eq=False)
class Room:
    """Memory for the scores of a batch and for the comparisons of a tile, used again and again."""

    batch: int  # queries at once
    width: int  # entities in a tile
    scores: Tensor  # (batch * E,)
    compared: Tensor  # (batch * width,), float32 whatever the scores are: their sums are whole numbers

    @classmethod
    def of(cls, model: ObjectScorer) -> Room:
        shard = model.shard if isinstance(model, TemporalModel) else None
        E = model.sizes.entities if shard is None else shard.count(model.sizes.entities)
        parameters = model.parameters() if isinstance(model, torch.nn.Module) else iter(())
        like = next(parameters, torch.empty(0))  # for its type and device
        batch = min(BATCH, chunks.rows_at_once(E, SCORE_BYTES, like.element_size()))
        width = math.ceil(E / math.ceil(batch * E * like.element_size() / TILE_BYTES))
        compared = torch.empty(batch * width, dtype=torch.float32, device=like.device)
        return cls(batch, width, like.new_empty(batch * E), compared)


@dataclass(frozen=True, eq=False)
class ScoreTiles:
    """The scores of b queries for E entities, as tiles (b, width) one behind the other; the last may be narrower."""

    flat: Tensor  # (b * E,)
    batch: int
    entities: int
    width: int
    room: Room
    model: str  # its name, for an error
    shard: Shard | None = None  # where entities are our own, and those of other processes are rivals too

    @classmethod
    @torch.no_grad()
    def of(cls, model: ObjectScorer, questions: Questions, room: Room) -> ScoreTiles:
        """The scores of all entities as answers to the questions."""
        device = room.scores.device
        s, p, t = (torch.from_numpy(column).to(device) for column in (questions.s, questions.p, questions.t))
        scored = model.objects(s, p, t)
        shard = scored.shard if isinstance(scored, Split) else None
        dense, cells = (scored.here if isinstance(scored, Split) else scored).split()
        scores = replace(cls.made(dense, room, model.name), shard=shard)
        if cells is not None:
            scores.add(*cells)
        return scores

    @classmethod
    @torch.no_grad()
    def made(cls, dense: Scores, room: Room, model: str) -> ScoreTiles:
        scores = cls(room.scores[: dense.rows * dense.columns], dense.rows, dense.columns, room.width, room, model)
        for start, tile in scores.tiles():
            dense.write(slice(start, start + tile.shape[1]), tile)
        return scores

    def tiles(self) -> Iterator[tuple[int, Tensor]]:
        """The first entity of each tile, and its scores."""
        for start in range(0, self.entities, self.width):
            width = min(self.width, self.entities - start)
            place = start * self.batch
            yield start, self.flat[place : place + self.batch * width].view(self.batch, width)

    def at(self, rows: Tensor, entities: Tensor) -> Tensor:
        """The scores of single cells: of answers and rivals alike, so that a tie is a tie."""
        return self.flat[self._places(rows, entities)]

    def add(self, rows: Tensor, entities: Tensor, values: Tensor) -> None:
        """Adds to single cells; repeated ones add up."""
        self.flat.index_add_(0, self._places(rows, entities), values.to(self.flat.dtype))

    def _places(self, rows: Tensor, entities: Tensor) -> Tensor:
        start = entities // self.width * self.width
        width = (self.entities - start).clamp(max=self.width)
        return start * self.batch + rows * width + entities - start

    @torch.no_grad()
    def count_rivals(self, answers: Ints, rows: Ints, others: Ints) -> tuple[Tensor, Tensor]:  # (b,), (b,)
        """How many entities but the pairs (row, other) score above and equal to each row's answer."""
        device = self.flat.device
        o, row, other = (torch.from_numpy(ids).to(device) for ids in (answers, rows, others))
        every = torch.arange(self.batch, device=device)
        if self.shard is None:
            target = self.at(every, o)
        else:
            own = self.shard.own(o)
            target = self.flat.new_full((self.batch,), -torch.inf)
            target[own] = self.at(own, self.shard.places(o[own]))
            target = collectives.largest(target)
            inside = self.shard.own(other)
            row, other = row[inside], self.shard.places(other[inside])
        above, not_below = self._count(target[:, None])
        left_out = self.at(row, other)
        for count, taken in ((above, left_out > target[row]), (not_below, left_out >= target[row])):
            count.index_add_(0, row, taken.to(count.dtype), alpha=-1)
        if self.shard is not None:
            above, not_below = collectives.add_up(torch.stack([above, not_below]))
        return above, not_below - above - 1  # the answer equals itself

    def _count(self, target: Tensor) -> tuple[Tensor, Tensor]:  # (b, 1) -> (b,), (b,)
        """Naive equivalent: `(scores > target).sum(-1), (scores >= target).sum(-1)`."""
        above, not_below = (torch.zeros(self.batch, dtype=torch.int64, device=target.device) for _ in range(2))
        for _, tile in self.tiles():
            # A sum may overflow where no score does.
            if not tile.sum().isfinite():
                check_finite(tile, self.model)
            compared = self.room.compared[: tile.numel()].view(tile.shape)
            above += torch.gt(tile, target, out=compared).sum(-1).long()
            not_below += torch.ge(tile, target, out=compared).sum(-1).long()
        return above, not_below
