"""The best answers exactly, in memory that does not grow with the questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from knowwhen import chunks
from knowwhen.evaluation.probabilities import as_array, log_normaliser
from knowwhen.evaluation.questions import Floats, Slot, answer_count, slot_scores
from knowwhen.facts.table import Bools, Ints
from knowwhen.models import TemporalModel

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


def score_rows(model: TemporalModel, slot: Slot, a: Tensor, b: Tensor, t: Tensor) -> Tensor:  # (b, E) or (b, P)
    """The scores of all answers; inverse predicates are no answers."""
    s, p, o = (a, b, b) if slot == "predicate" else (a, b, a)
    return slot_scores(model, slot, s, p, o, t).at(slice(0, answer_count(slot, model.sizes)))


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
    scores = score_rows(model, slot, *(torch.tensor(ids, device=device) for ids in columns))  # (b, n)
    for row, one in enumerate(asked):
        if one.candidates is not None:
            scores[row, _others(one.candidates, scores)] = -torch.inf
    normaliser = log_normaliser(scores, temperature, model.name)  # before hiding: hidden answers keep their share
    for row, one in enumerate(asked):
        if one.hidden is not None:
            scores[row, torch.from_numpy(one.hidden).to(device)] = -torch.inf
    best, ids = largest(scores, top)
    probabilities = (best.double() / temperature - normaliser[:, None]).exp()
    for row in range(len(asked)):
        listed = best[row] > -torch.inf
        yield Ranked(*(as_array(column[row][listed]) for column in (ids, best.double(), probabilities)))


def _rank_over_times(model: TemporalModel, slot: Slot, one: ScoredQuestion, temperature: float, top: int) -> Ranked:
    """Naive equivalent: `softmax(X[s, p, :, times] / temperature).mean(times)`, sorted."""
    device, n = model.device, answer_count(slot, model.sizes)
    score_sum, probability_sum = (torch.zeros(n, dtype=torch.float64, device=device) for _ in range(2))
    others = None if one.candidates is None else _others(one.candidates, score_sum)
    for part in chunks.slices(len(one.times), chunks.rows_at_once(n)):
        t = torch.arange(one.times.start, one.times.stop, device=device)[part]
        scores = score_rows(model, slot, torch.full_like(t, one.a), torch.full_like(t, one.b), t)  # (b, n)
        if others is not None:
            scores[:, others] = -torch.inf
        normaliser = log_normaliser(scores, temperature, model.name)
        score_sum += scores.sum(0, dtype=torch.float64)
        probability_sum += (scores / temperature - normaliser[:, None].to(scores.dtype)).exp_().sum(0)
    order_by = probability_sum.clone()
    for unlisted in (others, None if one.hidden is None else torch.from_numpy(one.hidden).to(device)):
        if unlisted is not None:
            order_by[unlisted] = -1
    best, ids = (found[0] for found in largest(order_by[None], top))
    ids = ids[best >= 0]
    return Ranked(*(as_array(x) for x in (ids, score_sum[ids] / len(one.times), probability_sum[ids] / len(one.times))))


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


def _others(candidates: Ints, like: Tensor) -> Tensor:
    """A mask of all that are not candidates."""
    mask = torch.ones(like.shape[-1], dtype=torch.bool, device=like.device)
    mask[torch.from_numpy(candidates).to(like.device)] = False
    return mask
