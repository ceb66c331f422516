"""The best answers exactly, in memory that does not grow with the questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from knowwhen import chunks
from knowwhen.distributed import collectives
from knowwhen.distributed.shard import Shard
from knowwhen.evaluation.probabilities import as_array, log_normaliser
from knowwhen.evaluation.questions import Floats, Slot, answer_count, slot_scores
from knowwhen.facts.table import Bools, Ints
from knowwhen.models import TemporalModel
from knowwhen.models.splitting import Split

BLOCK = 128  # scores of which only the largest is looked at first


@dataclass(frozen=True, eq=False)
class ScoredQuestion:
    """What is scored for one question: (a, b) is (s, p) for objects, (o, p + P) for subjects, (s, o) for predicates."""

    a: int
    b: int
    times: range  # the probability is the mean over these
    candidates: Ints | None = None  # the only answers there are; None: all
    hidden: Ints | None = None  # answers that keep their probability, but are not listed


@dataclass(frozen=True, eq=False)
class Ranked:
    """The ids of the best answers, best first, with their mean scores and probabilities."""

    ids: Ints
    scores: Floats
    probabilities: Floats

    def __getitem__(self, rows: Bools) -> Ranked:
        return Ranked(self.ids[rows], self.scores[rows], self.probabilities[rows])

    def columns(self) -> tuple[list[int], list[float], list[float]]:
        return self.ids.tolist(), self.scores.tolist(), self.probabilities.tolist()


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of all answers, or where processes share them, of our own."""

    scores: Tensor  # (b, n)
    shard: Shard | None

    @classmethod
    def of(cls, model: TemporalModel, slot: Slot, a: Tensor, b: Tensor, t: Tensor) -> Scored:
        """Inverse predicates are no answers."""
        s, p, o = (a, b, b) if slot == "predicate" else (a, b, a)
        found = slot_scores(model, slot, s, p, o, t)
        if isinstance(found, Split):
            return cls(found.here.whole(), found.shard)
        return cls(found.at(slice(0, answer_count(slot, model.sizes))), None)

    def places(self, answers: Ints) -> Tensor:
        """The columns of answers, as far as they are here."""
        ids = torch.from_numpy(answers).to(self.scores.device)
        return ids if self.shard is None else self.shard.places(ids[self.shard.own(ids)])

    def others(self, candidates: Ints) -> Tensor:
        """A mask of all that are not candidates."""
        mask = torch.ones(self.scores.shape[-1], dtype=torch.bool, device=self.scores.device)
        mask[self.places(candidates)] = False
        return mask

    def normaliser(self, temperature: float, model: str) -> Tensor:  # (b,)
        return log_normaliser(self.scores, temperature, model, split=self.shard is not None)

    def largest(self, order_by: Tensor, top: int) -> tuple[Tensor, Tensor]:  # (b, n) -> (b, k), (b, k)
        """The largest of a value for each answer, of all processes, and whose they are."""
        best, ids = largest(order_by, top)
        if self.shard is None:
            return best, ids
        # The same number from each process, also from one with fewer answers.
        missing = (0, top - best.shape[1])
        padded = pad(best, missing, value=-torch.inf), pad(self.shard.ids(ids), missing)
        all_best, all_ids = (torch.cat(collectives.gathered(x), dim=1) for x in padded)
        best, where = all_best.topk(top)
        some = int((best > -torch.inf).sum(1).max()) if len(best) else 0
        return best[:, :some], all_ids.gather(1, where)[:, :some]

    def at(self, values: Tensor, ids: Tensor) -> Tensor:  # (n,), (k,) -> (k,)
        """A value for each answer, at some of them."""
        if self.shard is None:
            return values[ids]
        own = ids[self.shard.own(ids)]
        return collectives.common(values[self.shard.places(own)], ids, self.shard)


@torch.no_grad()
def rank_answers(
    model: TemporalModel, slot: Slot, asked: Sequence[ScoredQuestion], temperature: float, top: int
) -> list[Ranked]:
    """The best `top` answers of each question for a name: all are scored, none is left out by an approximation."""
    found: list[Ranked | None] = [None] * len(asked)
    single = [i for i, one in enumerate(asked) if len(one.times) == 1]
    size = chunks.rows_at_once(answer_count(slot, model.sizes))
    for part in chunks.slices(len(single), size):
        some = single[part]
        ranked = _rank_at_one_time(model, slot, [asked[i] for i in some], temperature, top)
        for i, best in zip(some, ranked, strict=True):
            found[i] = best
    for i, one in enumerate(asked):
        if found[i] is None:
            found[i] = _rank_over_times(model, slot, one, temperature, top)
    return [ranked for ranked in found if ranked is not None]


def _rank_at_one_time(
    model: TemporalModel, slot: Slot, asked: Sequence[ScoredQuestion], temperature: float, top: int
) -> Iterator[Ranked]:
    device = model.device
    columns = ([one.a for one in asked], [one.b for one in asked], [one.times[0] for one in asked])
    found = Scored.of(model, slot, *(torch.tensor(ids, device=device) for ids in columns))
    scores = found.scores  # (b, n)
    for row, one in enumerate(asked):
        if one.candidates is not None:
            scores[row, found.others(one.candidates)] = -torch.inf
    normaliser = found.normaliser(temperature, model.name)  # before hiding: hidden answers keep their share
    for row, one in enumerate(asked):
        if one.hidden is not None:
            scores[row, found.places(one.hidden)] = -torch.inf
    best, ids = found.largest(scores, top)
    probabilities = (best.double() / temperature - normaliser[:, None]).exp()
    for row in range(len(asked)):
        listed = best[row] > -torch.inf
        yield Ranked(*(as_array(column[row][listed]) for column in (ids, best.double(), probabilities)))


def _rank_over_times(model: TemporalModel, slot: Slot, one: ScoredQuestion, temperature: float, top: int) -> Ranked:
    """Naive equivalent: `softmax(X[s, p, :, times] / temperature).mean(times)`, sorted."""
    device, n, count = model.device, answer_count(slot, model.sizes), len(one.times)
    score_sum, probability_sum = (torch.zeros(1, dtype=torch.float64, device=device) for _ in range(2))
    others: Tensor | None = None
    for part in chunks.slices(count, chunks.rows_at_once(n)):
        t = torch.arange(one.times.start, one.times.stop, device=device)[part]
        found = Scored.of(model, slot, torch.full_like(t, one.a), torch.full_like(t, one.b), t)
        scores = found.scores  # (b, n)
        if one.candidates is not None:
            others = found.others(one.candidates)
            scores[:, others] = -torch.inf
        normaliser = found.normaliser(temperature, model.name)
        score_sum = score_sum + scores.sum(0, dtype=torch.float64)
        probability_sum = probability_sum + (scores / temperature - normaliser[:, None].to(scores.dtype)).exp_().sum(0)
    order_by = probability_sum.clone()
    for unlisted in (others, None if one.hidden is None else found.places(one.hidden)):
        if unlisted is not None:
            order_by[unlisted] = -1
    best, ids = (column[0] for column in found.largest(order_by[None], top))
    ids = ids[best >= 0]
    return Ranked(
        *(as_array(x) for x in (ids, *(found.at(sums, ids) / count for sums in (score_sum, probability_sum))))
    )


def largest(scores: Tensor, top: int) -> tuple[Tensor, Tensor]:  # (b, n) -> (b, k), (b, k)
    """Naive equivalent: `scores.topk(min(top, n))`.

    The k largest are in the k blocks with the largest maxima: torch sorts n / BLOCK maxima and k * BLOCK scores, where
    a sort of all n takes as long as the product that makes them.
    """
    b, n = scores.shape
    k, blocks = min(top, n), n // BLOCK
    if blocks <= 4 * k:
        return scores.topk(k)
    whole = scores[:, : blocks * BLOCK].view(b, blocks, BLOCK)  # (b, blocks, BLOCK)
    chosen = whole.amax(-1).topk(k).indices  # (b, k)
    places = (chosen[:, :, None] * BLOCK + torch.arange(BLOCK, device=scores.device)).flatten(1)  # (b, k * BLOCK)
    rest = torch.arange(blocks * BLOCK, n, device=scores.device).expand(b, -1)
    places = torch.cat([places, rest], dim=1)
    best, where = scores.gather(1, places).topk(k)
    return best, places.gather(1, where)
