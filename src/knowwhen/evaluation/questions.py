"""Facts as questions: one place unknown, asked at timestamps inside its span, with one filter for other answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from knowwhen.errors import BadRequest, NonFiniteScores
from knowwhen.evaluation.protocol import Filter, Protocol
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.index.ranges import ranges
from knowwhen.facts.table import OPEN, Bools, Facts, Ints
from knowwhen.models import Sizes, TemporalModel
from knowwhen.models.scores import Scores
from knowwhen.models.timestamps import sample_timestamps

Floats = NDArray[np.float64]
Slot = Literal["subject", "predicate", "object", "time"]
SLOTS: tuple[Slot, ...] = ("object", "subject", "predicate", "time")


@dataclass(frozen=True, eq=False)
class Questions:
    """Columns of questions with their answers; who asks for a subject asks for an object of the inverse p + P."""

    slot: Slot  # what is asked for; "object" covers both sides
    facts: Facts  # that `fact` points into
    fact: Ints  # row of the facts
    s: Ints
    p: Ints
    o: Ints
    t: Ints
    asks_subject: Bools
    weight: Floats  # sums to 1 over the timestamps at which a fact is asked from one side

    def __len__(self) -> int:
        return len(self.fact)

    def __getitem__(self, rows: slice | Bools | Ints) -> Questions:
        columns = ("fact", "s", "p", "o", "t", "asks_subject", "weight")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    @property
    def answers(self) -> Ints:
        return {"predicate": self.p, "time": self.t}.get(self.slot, self.o)

    def scores(self, model: TemporalModel) -> Scores:
        """The scores of all possible answers."""
        s, p, o, t = (torch.from_numpy(ids.copy()).to(model.device) for ids in (self.s, self.p, self.o, self.t))
        return slot_scores(model, self.slot, s, p, o, t)

    def others(self, known: KnownFacts, filter: Filter = "time") -> tuple[Ints, Ints]:
        """Distinct pairs (row, answer), in order of rows, of answers that are known to be right as well: no rivals.

        The whole span of a fact is its answer to a question for the time, of which one timestamp was drawn: the rest
        of its own span is a rival, as it is where probabilities along time sum to 1.
        """
        if filter == "raw":
            return np.empty(0, np.int64), np.empty(0, np.int64)
        at = self.t if filter == "time" else None
        if self.slot == "predicate":
            rows, answers = known.predicates(self.s, self.o, at)
        elif self.slot == "time":
            rows, answers = self._other_times(known)
        else:
            rows, answers = known.objects(self.s, self.p, at)
        other = answers != self.answers[rows]
        # Spans of one fact may overlap: each pair comes once.
        width = int(answers.max(initial=0)) + 1
        pairs = np.unique(rows[other] * width + answers[other])
        return pairs // width, pairs % width

    def _other_times(self, known: KnownFacts) -> tuple[Ints, Ints]:
        """Timestamps at which a fact is known to hold, outside of its own span."""
        rows, begin, end = known.times(self.s, self.p, self.o)
        which, times = ranges(begin, end + 1)
        rows = rows[which]
        own = self.facts[self.fact[rows]]
        inside = (own.begin <= times) & ((times <= own.end) | (own.end == OPEN)) & ~own.is_static
        return rows[~inside], times[~inside]


def slot_scores(model: TemporalModel, slot: Slot, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Scores:
    """The scores of all possible answers in a slot, inverse predicates among them."""
    if slot == "time":
        return model.times(s, p, o)
    return model.predicates(s, o, t) if slot == "predicate" else model.objects(s, p, t)


def answer_count(slot: Slot, sizes: Sizes) -> int:
    """How many possible answers there are."""
    return {"predicate": sizes.predicates, "time": sizes.timestamps}.get(slot, sizes.entities)


def check_finite(values: Tensor, model: str) -> Tensor:
    """The values; NaN compares false, so that a model that diverged would rank first: an error instead."""
    if not values.isfinite().all():
        raise NonFiniteScores(f"{model} gave scores that are not finite; lower training.learning_rate")
    return values


def ask(facts: Facts, sizes: Sizes, protocol: Protocol, slot: Slot | None = None) -> Questions:
    """The questions of all facts: for one slot, or for objects and then, in both directions, for subjects."""
    fact, t, weight = query_times(facts, sizes, protocol)
    inverse = facts.reciprocal(sizes.predicates)
    sides = [facts] if slot != "subject" else [inverse]
    if slot is None and protocol.directions == "both":
        sides.append(inverse)
    subject = [side is inverse for side in sides]
    return Questions(
        slot="object" if slot in (None, "subject") else slot,
        facts=facts,
        fact=np.tile(fact, len(sides)),
        s=np.concatenate([side.subject[fact] for side in sides]),
        p=np.concatenate([side.predicate[fact] for side in sides]),
        o=np.concatenate([side.object[fact] for side in sides]),
        t=np.tile(t, len(sides)),
        asks_subject=np.repeat(subject, len(fact)),
        weight=np.tile(weight, len(sides)),
    )


def count_questions(facts: Facts, sizes: Sizes, protocol: Protocol) -> int:
    """`len(ask(facts, sizes, protocol))`, before anything is asked."""
    sides = 1 if protocol.directions == "objects" else 2
    if protocol.times == "all":
        first, last = span_ids(facts, sizes)
        return sides * int((last - first + 1).sum())
    return sides * len(facts) * (1 if protocol.times == "sample" else protocol.times)


def query_times(facts: Facts, sizes: Sizes, protocol: Protocol) -> tuple[Ints, Ints, Floats]:
    """Row of the fact, timestamp and weight of each question; all of one length, facts in order."""
    if protocol.times == "all":
        first, last = span_ids(facts, sizes)
        fact, t = ranges(first, last + 1)
        return fact, t, 1 / (last - first + 1)[fact]
    draws = 1 if protocol.times == "sample" else protocol.times
    fact = np.repeat(np.arange(len(facts)), draws)
    t = sample_timestamps(facts[fact], sizes, torch.Generator().manual_seed(protocol.seed)).numpy()
    return fact, t, np.full(len(fact), 1 / draws)


def span_ids(facts: Facts, sizes: Sizes) -> tuple[Ints, Ints]:
    """First and last timestamp of each fact, both inclusive; an open end reaches to that of the axis.

    A static fact holds on the whole axis, or, where undated facts have a row of their own, is asked there: at T.
    """
    first = np.where(facts.begin == OPEN, 0, facts.begin)
    last = np.where(facts.end == OPEN, max(sizes.timestamps - 1, 0), facts.end)
    if sizes.undated_row:
        first, last = (np.where(facts.is_static, sizes.timestamps, ids) for ids in (first, last))
    return first, last


def sample_facts(dataset: Dataset, split: str, sample: int | None, seed: int) -> Facts:
    """The facts of a split, or some of them, each as likely as any other, in their order."""
    facts = dataset.facts(split)
    if not len(facts):
        raise BadRequest(f"{dataset.name} has no facts in {split}")
    if sample is None or sample >= len(facts):
        return facts
    if sample < 1:
        raise BadRequest(f"sample is {sample}; expected at least 1")
    return facts[np.sort(np.random.default_rng(seed).choice(len(facts), sample, replace=False))]
