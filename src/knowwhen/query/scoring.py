"""Scores of all possible answers: the best of them exactly, in memory that does not grow with the questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from knowwhen.errors import NonFiniteScores
from knowwhen.facts.table import Ints
from knowwhen.models import Sizes, TemporalModel

Floats = NDArray[np.float64]
Slot = Literal["subject", "predicate", "object", "time"]
SLOTS: tuple[Slot, ...] = ("object", "subject", "predicate", "time")
BLOCK = 128  # scores of which only the largest is looked at first
CACHED_BYTES = 2 << 20
SCORE_BYTES = 64 << 20  # scores that are made at once; one row of them where a row is larger


@dataclass(frozen=True, eq=False)
class Asked:
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


def rows_at_once(width: int) -> int:
    """Rows of that many scores that are made at once."""
    return max(1, SCORE_BYTES // (4 * max(1, width)))


def width_of(slot: Slot, sizes: Sizes) -> int:
    """How many possible answers there are."""
    return {"predicate": sizes.predicates, "time": sizes.timestamps}.get(slot, sizes.entities)


def depends_on_time(model: TemporalModel) -> bool:
    """Whether scores differ between timestamps: those of a static decomposition do where evidence is added."""
    return model.temporal or bool(model.evidence_terms())


def score_rows(model: TemporalModel, slot: Slot, a: Tensor, b: Tensor, t: Tensor) -> Tensor:  # (b, E) or (b, P)
    """The scores of all answers; inverse predicates are no answers."""
    if slot == "predicate":
        return model.score_predicates(a, b, t)[:, : model.sizes.predicates]
    return model.score_objects(a, b, t)


def log_normaliser(scores: Tensor, temperature: float, model: str) -> Tensor:  # (b, n) -> (b,)
    """log Σ exp(score / temperature) of each row: what turns scores into log probabilities."""
    size = max(1, CACHED_BYTES // (scores.element_size() * max(1, scores.shape[1])))
    # Some rows at a time: what is made on the way stays in the cache, where the whole would need fresh memory.
    parts = [(scores[i : i + size] / temperature).logsumexp(-1) for i in range(0, len(scores), size)]
    found = torch.cat(parts).double()
    # A score that is no number makes its row's sum none: no second look at all scores is needed.
    if not found.isfinite().all():
        raise NonFiniteScores(f"{model} gave scores that are not finite; lower the learning rate")
    return found


@torch.no_grad()
def rank_answers(
    model: TemporalModel, slot: Slot, asked: Sequence[Asked], temperature: float, top: int
) -> list[Ranked]:
    """The best `top` answers of each question for a name: all are scored, none is left out by an approximation."""
    found: list[Ranked | None] = [None] * len(asked)
    single = [i for i, one in enumerate(asked) if len(one.times) == 1]
    size = rows_at_once(width_of(slot, model.sizes))
    for start in range(0, len(single), size):
        some = single[start : start + size]
        ranked = _rank_at_one_time(model, slot, [asked[i] for i in some], temperature, top)
        for i, best in zip(some, ranked, strict=True):
            found[i] = best
    for i, one in enumerate(asked):
        if found[i] is None:
            found[i] = _rank_over_times(model, slot, one, temperature, top)
    return [ranked for ranked in found if ranked is not None]


def _rank_at_one_time(
    model: TemporalModel, slot: Slot, asked: Sequence[Asked], temperature: float, top: int
) -> Iterator[Ranked]:
    device = model.candidates().device
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
        yield Ranked(*(_array(column[row][listed]) for column in (ids, best.double(), probabilities)))


def _rank_over_times(model: TemporalModel, slot: Slot, one: Asked, temperature: float, top: int) -> Ranked:
    """Naive equivalent: `softmax(X[s, p, :, times] / temperature).mean(times)`, sorted."""
    device, n = model.candidates().device, width_of(slot, model.sizes)
    score_sum, probability_sum = (torch.zeros(n, dtype=torch.float64, device=device) for _ in range(2))
    others = None if one.candidates is None else _others(one.candidates, score_sum)
    size = rows_at_once(n)
    for start in range(one.times.start, one.times.stop, size):
        t = torch.arange(start, min(start + size, one.times.stop), device=device)
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
    return Ranked(*(_array(x) for x in (ids, score_sum[ids] / len(one.times), probability_sum[ids] / len(one.times))))


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


@torch.no_grad()
def time_curves(
    model: TemporalModel, s: Ints, p: Ints, o: Ints, temperature: float
) -> tuple[NDArray[np.float32], Floats]:  # (b, T), (b, T)
    """Scores along time, and the probability that a moment of the fact's span is this timestamp."""
    device = model.candidates().device
    scores = model.score_timestamps(*(torch.tensor(ids, device=device) for ids in (s, p, o)))
    normaliser = log_normaliser(scores, temperature, model.name)
    probabilities = (scores.double() / temperature - normaliser[:, None]).exp()
    return _array(scores.float()), _array(probabilities)


def _others(candidates: Ints, like: Tensor) -> Tensor:
    """A mask of all that are not candidates."""
    mask = torch.ones(like.shape[-1], dtype=torch.bool, device=like.device)
    mask[torch.from_numpy(candidates).to(like.device)] = False
    return mask


def _array(column: Tensor) -> NDArray[Any]:
    found: NDArray[Any] = column.cpu().numpy()
    return found
