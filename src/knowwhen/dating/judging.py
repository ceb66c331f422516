"""Whether a fact holds at a time: a probability from decomposition, time head and counts of known facts.

Of a fact that no dataset has, a small network judges. Of one whose begin or end is known, or that it is true at some
time, only the time head's curve is corrected. Both are learned on valid, from moments that are true and moments that
are corrupted (`moments.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from knowwhen import chunks
from knowwhen.dating.moments import Moments
from knowwhen.errors import DamagedFile
from knowwhen.evaluation.questions import Floats, answer_count
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.index.spans import SpanIndex
from knowwhen.facts.table import Bools, Facts, Ints
from knowwhen.facts.timeline import Timeline
from knowwhen.files import write_whole
from knowwhen.models import TemporalModel

Half = Literal["open", "undated"]
HALVES: tuple[Half, ...] = ("open", "undated")
"""What is known: one end of the span, or that the fact is true at some time."""
HIDDEN, STEPS, LOOK, RATE, DECAY = 16, 300, 20, 0.03, 1e-3
HELD = 0.3  # share of the facts of valid that decides when to stop, and sets the scale
LOWEST = 1e-4  # a probability along time that counts as none
FILE = "holds.json"


class Counted:
    """Known facts, counted by what they share with a moment."""

    def __init__(self, facts: Facts, predicates: int, timeline: Timeline) -> None:
        self.facts, self.predicates, self.timeline = facts, predicates, timeline

    def of(self, moments: Moments) -> Floats:  # (n, 8)
        """Gap to the nearest span of the same fact, and logarithms of counts, at the time and ever."""
        s, p, o, t = moments.subject, moments.predicate, moments.object, moments.time
        inverse = p + self.predicates
        own = self._fact.count_holding((s, p, o), t, t)
        at_once = [self._role.count_holding(key, t, t) - own for key in ((s, p), (o, inverse))]
        ever = [self._role.count((s, p)), self._role.count((o, inverse)), self._fact.count((s, p, o))]
        counts = [*at_once, *ever, self._pair.count((s, o))]
        gap, known = self._gap(moments)
        return np.stack([known, known * np.log1p(gap), *(np.log1p(np.maximum(count, 0)) for count in counts)], axis=1)

    def _gap(self, moments: Moments) -> tuple[Floats, Bools]:
        """Units to the nearest known span of the same fact, 0 inside it, and whether there is one."""
        rows, first, last = self._known.times(moments.subject, moments.predicate, moments.object)
        at, gap = self.timeline.positions, np.full(len(moments), np.inf)
        away = np.maximum(at[first] - at[moments.time[rows]], at[moments.time[rows]] - at[last])
        np.minimum.at(gap, rows, np.maximum(away, 0))
        known = np.isfinite(gap)
        return np.where(known, gap, 0.0), known

    @cached_property
    def _known(self) -> KnownFacts:
        return KnownFacts(self.facts, self.predicates, len(self.timeline))

    @cached_property
    def _role(self) -> SpanIndex:
        both = Facts.concatenate(self.facts, self.facts.reciprocal(self.predicates))
        return SpanIndex((both.subject, both.predicate), both.begin, both.end)

    @cached_property
    def _fact(self) -> SpanIndex:
        facts = self.facts
        return SpanIndex((facts.subject, facts.predicate, facts.object), facts.begin, facts.end)

    @cached_property
    def _pair(self) -> SpanIndex:
        return SpanIndex((self.facts.subject, self.facts.object), self.facts.begin, self.facts.end)


def judge_inputs(model: TemporalModel, counted: Counted, moments: Moments, along: Floats) -> Floats:  # (n, 14)
    """What the network sees: object and subject among their rivals, the curve along time (n, T), and counts."""
    s, p, o, t = moments.subject, moments.predicate, moments.object, moments.time
    sides = [_standing(model, s, p, o, t), _standing(model, o, p + counted.predicates, s, t)]
    curve = along[np.arange(len(moments)), t] + LOWEST
    times = np.stack([np.log(curve), np.log(curve / (along.max(1) + LOWEST))], axis=1)
    return np.concatenate([*sides, times, counted.of(moments)], axis=1)


def link_probability(model: TemporalModel, moments: Moments) -> Floats:  # (n,)
    """P(object | subject, predicate, time), as the decomposition and its evidence have it."""
    found = _standing(model, moments.subject, moments.predicate, moments.object, moments.time)
    return np.exp(found[:, 0])


@torch.no_grad()
def _standing(model: TemporalModel, s: Ints, p: Ints, o: Ints, t: Ints) -> Floats:  # (n, 2)
    """log P(o | s, p, t), and by how much o leads its best rival."""
    found = []
    for part in chunks.slices(len(s), chunks.rows_at_once(answer_count("object", model.sizes))):
        ids = [torch.tensor(column[part], device=model.device) for column in (s, p, o, t)]
        scores = model.objects(ids[0], ids[1], ids[3]).whole()
        own = scores.gather(1, ids[2][:, None])
        log = own[:, 0] - scores.logsumexp(1)
        rival = scores.scatter(1, ids[2][:, None], -torch.inf).amax(1)
        found.append(torch.stack([log, own[:, 0] - rival], 1).double().cpu().numpy())
    return np.concatenate(found) if found else np.empty((0, 2))


@dataclass(frozen=True, eq=False)
class Judge:
    """Probabilities that moments are true.

    New facts: sigmoid(a (w₂·tanh(W₁ x + b₁) + b₂ + bias_p) + b), x the inputs less their mean, over their spread. Known
    ones: sigmoid(a logit(curve) + b).
    """

    mean: Floats  # (F,)
    spread: Floats  # (F,)
    network: Mapping[str, Floats]
    scales: Mapping[str, tuple[float, float]]  # a and b by what is known

    def new(self, inputs: Floats, predicate: Ints) -> Floats:  # (n,)
        """For facts that are known at no time around."""
        x = torch.from_numpy((inputs - self.mean) / self.spread)
        weights = {name: torch.from_numpy(np.asarray(values)) for name, values in self.network.items()}
        return self._scaled(_logits(weights, x, torch.tensor(predicate)).numpy(), "new")

    def half(self, known: Half, curve: Floats) -> Floats:  # (n,)
        """For facts of which something is known, given the time head's curve at the time."""
        return self._scaled(_logit(curve), known)

    def _scaled(self, logits: Floats, known: str) -> Floats:
        a, b = self.scales[known]
        return np.asarray(1 / (1 + np.exp(-(a * logits + b))))

    def save(self, folder: Path) -> None:
        values = {
            "mean": self.mean.tolist(),
            "spread": self.spread.tolist(),
            "network": {name: value.tolist() for name, value in self.network.items()},
            "scales": {name: list(pair) for name, pair in self.scales.items()},
        }
        write_whole(folder / FILE, (json.dumps(values, indent=1) + "\n").encode())

    @classmethod
    def load(cls, folder: Path) -> Judge | None:
        """The judge of a model's folder; None where it has none."""
        path = folder / FILE
        if not path.exists():
            return None
        if not path.is_file():  # a pipe would have us wait for ever
            raise DamagedFile(f"{path} is not a regular file; train again")
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            network = {name: np.array(value, np.float64) for name, value in values["network"].items()}
            scales = {name: (float(a), float(b)) for name, (a, b) in values["scales"].items()}
            found = cls(np.array(values["mean"]), np.array(values["spread"]), network, scales)
            found.new(np.zeros((1, len(found.mean))), np.zeros(1, np.int64))
            found.half("open", np.zeros(1)), found.half("undated", np.zeros(1))
            return found
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, RecursionError) as error:
            raise DamagedFile(f"cannot read {path}: {error}; train again") from error


def learn_judge(
    inputs: Floats,
    predicate: Ints,
    truth: Bools,
    group: Ints,
    halves: Mapping[Half, tuple[Floats, Bools]],
    *,
    predicates: int,
    seed: int = 0,
) -> Judge:
    """A judge of moments: `group` says which belong together, so that no fact is on both sides of the early stop."""
    mean, spread = inputs.mean(0), np.maximum(inputs.std(0), 1e-6)
    x, p, y = (torch.tensor(column) for column in ((inputs - mean) / spread, predicate, truth.astype(np.float64)))
    held = torch.from_numpy(np.random.default_rng(seed).random(int(group.max()) + 1)[group] < HELD)
    weights = _network(inputs.shape[1], predicates, seed)
    optimizer = torch.optim.Adam([*weights.values()], RATE)
    best, kept = np.inf, {name: value.detach().clone() for name, value in weights.items()}
    for step in range(STEPS):
        if step % LOOK == 0:
            with torch.no_grad():
                loss = float(binary_cross_entropy_with_logits(_logits(weights, x[held], p[held]), y[held]))
            if loss < best:
                best, kept = loss, {name: value.detach().clone() for name, value in weights.items()}
        optimizer.zero_grad()
        size = torch.stack([value.square().sum() for value in weights.values()]).sum()
        fit = binary_cross_entropy_with_logits(_logits(weights, x[~held], p[~held]), y[~held])
        (fit + DECAY * size).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    logits = _logits(kept, x[held], p[held]).numpy()
    scales = {"new": scale_of(logits, truth[held.numpy()])}
    scales |= {name: scale_of(_logit(curve), right) for name, (curve, right) in halves.items()}
    return Judge(mean, spread, {name: value.numpy() for name, value in kept.items()}, scales)


def scale_of(logits: Floats, truth: Bools) -> tuple[float, float]:
    """a and b of the least cross-entropy of sigmoid(a x + b) (Platt 1999); 1 and 0 where one answer is missing.

    A normal prior about 1 and 0 weighs as much as one question: where logits part all answers, a stays finite.
    """
    if truth.all() or not truth.any():
        return 1.0, 0.0
    x, y = torch.from_numpy(logits.astype(np.float64)), torch.from_numpy(truth.astype(np.float64))
    start = torch.tensor([1.0, 0.0], dtype=torch.float64)
    found = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([found], max_iter=60, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        prior = ((found - start) ** 2).sum() / 2
        value = binary_cross_entropy_with_logits(found[0] * x + found[1], y) + prior / len(x)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    a, b = found.detach().tolist()
    return (a, b) if np.isfinite([a, b]).all() and a > 0 else (1.0, 0.0)


def _network(inputs: int, predicates: int, seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(inputs, HIDDEN, generator=generator, dtype=torch.float64) / inputs**0.5
    shapes = {"b1": (HIDDEN,), "w2": (HIDDEN,), "b2": (), "bias": (predicates,)}
    weights = {"w1": first, **{name: torch.zeros(shape, dtype=torch.float64) for name, shape in shapes.items()}}
    weights["w2"] = torch.randn(HIDDEN, generator=generator, dtype=torch.float64) / HIDDEN**0.5
    return {name: value.requires_grad_() for name, value in weights.items()}


def _logits(weights: Mapping[str, Tensor], x: Tensor, p: Tensor) -> Tensor:  # (n, F), (n,) -> (n,)
    hidden = torch.tanh(x @ weights["w1"] + weights["b1"])
    return hidden @ weights["w2"] + weights["b2"] + weights["bias"][p]


def _logit(probability: Floats) -> Floats:
    sure = np.clip(probability, LOWEST, 1 - LOWEST)
    return np.asarray(np.log(sure / (1 - sure)))
