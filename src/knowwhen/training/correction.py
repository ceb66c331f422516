"""Learns how far decomposition and evidence are to be believed, from facts that neither of them learned from."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from knowwhen import chunks
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.questions import Questions, ask
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.table import Bools, Facts
from knowwhen.models import Background, TemporalModel
from knowwhen.models.correction import Correction
from knowwhen.models.timestamps import sample_timestamps

RIVALS = 200  # answers by question that are learned from: those with the highest scores
EPOCHS, BATCH, LEARNING_RATE, DECAY = 16, 128, 3e-3, 5e-2
SCORE_BYTES = 8 << 20  # made at once


def held_out(facts: int, share: float, seed: int) -> Bools:  # (facts,)
    """Which facts decomposition and evidence do not learn from; the same for the same seed, so that runs resume."""
    chosen = np.random.default_rng(seed).permutation(facts)[: round(share * facts)]
    found = np.zeros(facts, np.bool_)
    found[chosen] = True
    return found


def learn_correction(model: TemporalModel, background: Background, held: Facts, seed: int) -> TemporalModel:
    """The model with a correction that is learned on facts held out of training; the model given stays as it is."""
    corrected = TemporalModel(model.decomposition, dict(model.evidence.items()), corrected=True)  # type: ignore[arg-type]
    correction = corrected.correction
    assert correction is not None
    correction.to(next(model.parameters())).recall(background)
    generator = torch.Generator().manual_seed(seed)
    correction.initialise(generator)
    asked = _ask(model, correction, held, KnownFacts(background.facts, model.sizes.predicates), generator)
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


@torch.no_grad()
def _ask(
    model: TemporalModel, correction: Correction, held: Facts, known: KnownFacts, generator: torch.Generator
) -> Candidates:
    """What was held out as questions, from both sides, each at one time of its span."""
    both = Facts.concatenate(held, held.reciprocal(model.sizes.predicates))
    times = sample_timestamps(both, model.sizes, generator).numpy()
    questions, found = replace(ask(held, model.sizes, Protocol()), t=times), []
    for rows in chunks.slices(len(questions), chunks.rows_at_once(model.sizes.entities, SCORE_BYTES)):
        found.append(_ask_some(model, correction, questions[rows], known))
    return Candidates(*(torch.cat(columns) for columns in zip(*found, strict=True)))


def _ask_some(model: TemporalModel, correction: Correction, questions: Questions, known: KnownFacts) -> Candidates:
    """Questions for objects; what else is known to be true is no answer."""
    E, device = model.sizes.entities, model.device
    columns = (questions.s, questions.p, questions.o, questions.t)
    s, p, o, t = (torch.from_numpy(ids).to(device) for ids in columns)
    every = torch.arange(len(s), device=device)
    found = model.object_parts(s, p, t)
    rows, objects, parts = found.spoken(model.sparse_parts)
    scores = found.total().whole()
    scores[rows, objects] += parts[:, model.sparse_parts].sum(-1)
    right = scores[every, o]
    scores[tuple(torch.from_numpy(ids).to(device) for ids in questions.others(known))] = -torch.inf
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
    given = correction.inputs(parts[place], s[row], p[row], answer, t[row])
    inputs = given.new_zeros(*rivals.shape, given.shape[1])
    inputs[row, column] = given
    return Candidates(inputs, best, rest, right, is_scored)
