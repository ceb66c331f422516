"""Learns how far decomposition and evidence are to be believed, from facts that neither of them learned from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from knowwhen import chunks
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.questions import Questions, ask
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.table import Bools, Facts, Ints
from knowwhen.models import Background, TemporalModel
from knowwhen.models.correction import Correction
from knowwhen.models.timestamps import sample_timestamps

RIVALS = 200  # answers by question that are learned from: those with the highest scores
EPOCHS, BATCH, LEARNING_RATE, DECAY = 16, 128, 3e-3, 5e-2
WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # of a decomposition that was learned apart
PRIOR = 50.0  # questions
SCORE_BYTES = 8 << 20  # made at once


def held_out(facts: int, share: float, seed: int) -> Bools:  # (facts,)
    """Which facts decomposition and evidence do not learn from; the same for the same seed, so that runs resume."""
    chosen = np.random.default_rng(seed).permutation(facts)[: round(share * facts)]
    found = np.zeros(facts, np.bool_)
    found[chosen] = True
    return found


def learn_correction(model: TemporalModel, background: Background, held: Bools, seed: int) -> TemporalModel:
    """The model with a correction that is learned on facts held out of training; the model given stays as it is.

    `held` says which of the background's facts these are.
    """
    corrected = model.corrected()
    correction = corrected.correction
    assert correction is not None
    correction.to(next(model.parameters())).recall(background)
    generator = torch.Generator().manual_seed(seed)
    correction.initialise(generator)
    asked = _ask(model, correction, HeldOut.of(model, background, held, generator))
    correction.standardise(asked.inputs[asked.scores > -torch.inf])
    optimizer = torch.optim.AdamW(correction.parameters(), LEARNING_RATE, weight_decay=DECAY)
    steps = EPOCHS * -(-len(asked.rest) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(asked.rest), generator=generator).to(asked.rest.device)
        for rows in (order[part] for part in chunks.slices(len(order), BATCH)):
            optimizer.zero_grad()
            _loss(correction, Candidates(*(column[rows] for column in asked))).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    return corrected.eval()


class Candidates(NamedTuple):
    """Questions with those of their answers that evidence scores, the right one first where it is among them."""

    inputs: Tensor  # (b, RIVALS, k)
    scores: Tensor  # (b, RIVALS), without correction; -inf where there are not so many
    rest: Tensor  # (b,), log Σ exp of the scores of all other answers
    right: Tensor  # (b,), the score of the right answer
    is_scored: Tensor  # (b,), whether evidence scores it


def _loss(correction: Correction, asked: Candidates) -> Tensor:
    """Cross-entropy of the right answer among all."""
    scores = asked.scores + correction(asked.inputs)
    total = torch.cat([scores, asked.rest[:, None]], dim=-1).logsumexp(-1)
    return (total - torch.where(asked.is_scored, scores[:, 0], asked.right)).mean()


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What was held out as questions, from both sides, each at one time of its span."""

    questions: Questions
    asked: Ints  # (n,), the row of each in the background's facts
    known: KnownFacts  # of train alone

    @classmethod
    def of(cls, model: TemporalModel, background: Background, held: Bools, generator: torch.Generator) -> HeldOut:
        facts, rows = background.facts[held], np.flatnonzero(held)
        both = Facts.concatenate(facts, facts.reciprocal(model.sizes.predicates))
        times = sample_timestamps(both, model.sizes, generator).numpy()
        questions = replace(ask(facts, model.sizes, Protocol()), t=times)
        return cls(questions, np.concatenate([rows, rows]), KnownFacts(background.facts, model.sizes.predicates))

    def parts(self, model: TemporalModel) -> Iterator[HeldOut]:
        """Some of them at a time, so that their scores fit."""
        for rows in chunks.slices(len(self.questions), chunks.rows_at_once(model.sizes.entities, SCORE_BYTES)):
            yield HeldOut(self.questions[rows], self.asked[rows], self.known)

    def columns(self, device: torch.device) -> list[Tensor]:
        """s, p, o, t, and the rows that are asked for."""
        questions = self.questions
        columns = (questions.s, questions.p, questions.o, questions.t, self.asked)
        return [torch.from_numpy(ids).to(device) for ids in columns]

    def others(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """What else is known to be true, which is no answer: rows and objects."""
        rows, objects = (torch.from_numpy(ids).to(device) for ids in self.questions.others(self.known))
        return rows, objects


@torch.no_grad()
def learn_weights(model: TemporalModel, background: Background, held: Bools, seed: int) -> TemporalModel:
    """The model with weights of its decomposition under which what was held out is most probable, by predicate.

    Each predicate's own facts speak for a weight, and so do all facts together, as PRIOR of its own would.
    """
    generator = torch.Generator().manual_seed(seed)
    asked, R = HeldOut.of(model, background, held, generator), 2 * model.sizes.predicates
    losses, counts = torch.zeros(len(WEIGHTS), R, dtype=torch.float64), torch.zeros(R, dtype=torch.float64)
    for some in asked.parts(model):
        s, p, o, t, rows = some.columns(model.device)
        decomposition, evidence = (scores.whole() for scores in model.objects_apart(s, p, t, rows))
        right, others = (torch.arange(len(s), device=s.device), o), some.others(model.device)
        counts += torch.bincount(p.cpu(), minlength=R)
        for i, weight in enumerate(WEIGHTS):
            scores = evidence + weight * decomposition
            own = scores[right]
            scores[others] = -torch.inf
            losses[i].index_add_(0, p.cpu(), (scores.logsumexp(-1) - own).double().cpu())
    mean = losses.sum(1, keepdim=True) / counts.sum().clamp(min=1)
    best = torch.tensor(WEIGHTS)[(losses + PRIOR * mean).argmin(0)]
    return model.weighted(best)


@torch.no_grad()
def _ask(model: TemporalModel, correction: Correction, held: HeldOut) -> Candidates:
    found = [_ask_some(model, correction, some) for some in held.parts(model)]
    return Candidates(*(torch.cat(columns) for columns in zip(*found, strict=True)))


def _ask_some(model: TemporalModel, correction: Correction, held: HeldOut) -> Candidates:
    """Questions for objects; what else is known to be true is no answer."""
    E, device = model.sizes.entities, model.device
    s, p, o, t, asked = held.columns(device)
    every = torch.arange(len(s), device=device)
    found = model.object_parts(s, p, t, asked=asked)
    rows, objects, parts = found.spoken(model.sparse_parts)
    scores = found.scores().whole()
    right = scores[every, o]
    scores[held.others(device)] = -torch.inf
    spoken = torch.full_like(scores, -torch.inf)
    spoken[rows, objects] = scores[rows, objects]
    is_scored = spoken[every, o] > -torch.inf
    spoken[every[is_scored], o[is_scored]] = torch.inf  # to come first
    rivals = spoken.topk(min(RIVALS, E)).indices
    chosen = spoken.gather(-1, rivals) > -torch.inf
    best = scores.gather(-1, rivals).masked_fill(~chosen, -torch.inf)
    rest = scores.scatter(-1, rivals, scores.gather(-1, rivals).masked_fill(chosen, -torch.inf)).logsumexp(-1)
    row, column = chosen.nonzero().unbind(-1)
    answer = rivals[row, column]
    place = torch.searchsorted(rows * E + objects, row * E + answer)
    given = correction.inputs(parts[place], s[row], p[row], answer, t[row], o[row])
    inputs = given.new_zeros(*rivals.shape, given.shape[1])
    inputs[row, column] = given
    return Candidates(inputs, best, rest, right, is_scored)
