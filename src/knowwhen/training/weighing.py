"""Learns how far decomposition and evidence are to be believed, from facts that neither of them learned from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.table import Bools, Facts, Ints
from knowwhen.models import TemporalModel
from knowwhen.models.weighing import Weighing
from knowwhen.training.sampling import sample_timestamps

RIVALS = 200  # answers by question that are learned from: those with the highest scores
EPOCHS, BATCH, LEARNING_RATE, DECAY = 16, 128, 3e-3, 5e-2
SCORES = 2 << 20  # made at once


def held_out(facts: int, share: float, seed: int) -> Bools:  # (facts,)
    """Which facts decomposition and evidence do not learn from; the same for the same seed, so that runs resume."""
    chosen = np.random.default_rng(seed).permutation(facts)[: round(share * facts)]
    found = np.zeros(facts, np.bool_)
    found[chosen] = True
    return found


def learn_weighing(model: TemporalModel, train: Facts, held: Bools, positions: Ints, seed: int) -> Weighing:
    """Puts a weighing on a trained model, learned on what was held out of train; returns it."""
    weighing = model.add_weighing()
    weighing.recall(train, positions)
    generator = torch.Generator().manual_seed(seed)
    weighing.initialise(generator)
    asked = _ask(model, weighing, train, held, generator)
    weighing.standardise(asked.inputs[asked.scores > -torch.inf])
    optimizer = torch.optim.AdamW(weighing.parameters(), LEARNING_RATE, weight_decay=DECAY)
    steps = EPOCHS * -(-len(asked.rest) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(asked.rest), generator=generator)
        for rows in (order[start : start + BATCH] for start in range(0, len(order), BATCH)):
            optimizer.zero_grad()
            _loss(weighing, _Asked(*(column[rows] for column in asked))).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    return weighing


class _Asked(NamedTuple):
    """Questions with those of their answers that evidence speaks of, the right one first where it is among them."""

    inputs: Tensor  # (b, RIVALS, k)
    scores: Tensor  # (b, RIVALS), without weighing; -inf where there are not so many
    rest: Tensor  # (b,), log Σ exp of the scores of all other answers
    right: Tensor  # (b,), the score of the right answer
    is_told: Tensor  # (b,), whether evidence speaks of it


def _loss(weighing: Weighing, asked: _Asked) -> Tensor:
    """Cross-entropy of the right answer among all."""
    scores = asked.scores + weighing(asked.inputs)
    total = torch.cat([scores, asked.rest[:, None]], dim=-1).logsumexp(-1)
    return (total - torch.where(asked.is_told, scores[:, 0], asked.right)).mean()


@torch.no_grad()
def _ask(model: TemporalModel, weighing: Weighing, train: Facts, held: Bools, generator: torch.Generator) -> _Asked:
    """What was held out as questions, from both sides, each at one time of its span."""
    sizes, known = model.sizes, KnownFacts(train, model.sizes.predicates)
    facts = Facts.concatenate(train[held], train[held].reciprocal(sizes.predicates))
    times = sample_timestamps(facts, sizes.timestamps, generator, sizes.undated_row).numpy()
    size, found = max(1, SCORES // sizes.entities), []
    for rows in (slice(start, start + size) for start in range(0, len(facts), size)):
        found.append(_ask_some(model, weighing, facts[rows], times[rows], known))
    return _Asked(*(torch.cat(columns) for columns in zip(*found, strict=True)))


def _ask_some(model: TemporalModel, weighing: Weighing, facts: Facts, times: Ints, known: KnownFacts) -> _Asked:
    """Facts as questions for their objects; what else is known to be true is no answer."""
    E = model.sizes.entities
    s, p, o, t = (torch.tensor(ids) for ids in (facts.subject, facts.predicate, facts.object, times))
    every = torch.arange(len(s))
    rows, objects, parts = model.told(s, p, t)
    scores = model.whole_query(s, p, t) @ model.candidates().mT
    scores[rows, objects] += parts[:, model.object_parts()].sum(-1)
    right = scores[every, o]
    others = known.objects(facts.subject, facts.predicate, times)
    scores[others] = -torch.inf
    scores[every, o] = right
    told = torch.full_like(scores, -torch.inf)
    told[rows, objects] = scores[rows, objects]
    is_told = told[every, o] > -torch.inf
    told[every[is_told], o[is_told]] = torch.inf  # to come first
    rivals = told.topk(min(RIVALS, E)).indices
    chosen = told.gather(-1, rivals) > -torch.inf
    best = scores.gather(-1, rivals).masked_fill(~chosen, -torch.inf)
    rest = scores.scatter(-1, rivals, scores.gather(-1, rivals).masked_fill(chosen, -torch.inf)).logsumexp(-1)
    row, column = chosen.nonzero().unbind(-1)
    answer = rivals[row, column]
    place = torch.searchsorted(rows * E + objects, row * E + answer)
    found = weighing.inputs(parts[place], s[row], p[row], answer, t[row])
    inputs = found.new_zeros(*rivals.shape, found.shape[1])
    inputs[row, column] = found
    return _Asked(inputs, best, rest, right, is_told)
