"""Questions whether a fact holds at a time, with the right answers: true ones, and ones corrupted in every place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
import torch

from knowwhen import chunks
from knowwhen.evaluation.questions import span_ids
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.table import Bools, Facts, Ints
from knowwhen.models import Sizes, TemporalModel

TRIES = 20  # draws of a corrupted fact, until one is not known to be true
RIVALS = 10  # best answers of the model, of which a wrong one is drawn
KINDS = ("true", "time", "object", "subject", "predicate", "rival object", "rival subject", "known")
"""Of drawn moments: a held-out fact at a time of its span; the same at another time, with another object, subject or
predicate, with one of the model's own best objects or subjects; and a training fact at a time outside its span."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Facts at single times: ids of subjects, predicates, objects and timestamps, all of one length."""

    subject: Ints
    predicate: Ints
    object: Ints
    time: Ints

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: slice | Ints | Bools) -> Moments:
        return Moments(*(getattr(self, field.name)[rows] for field in fields(self)))

    @classmethod
    def concatenate(cls, *parts: Moments) -> Moments:
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Moments whose answers are known."""

    moments: Moments
    truth: Bools
    kind: Ints  # place in KINDS
    group: Ints  # the held-out fact that each was made from

    def __len__(self) -> int:
        return len(self.truth)


def draw_moments(model: TemporalModel, dataset: Dataset, split: str, facts: int, seed: int = 0) -> Drawn:
    """One moment of each kind for each of some dated facts of a split.

    Times are drawn from the whole axis, predicates from all, objects and subjects from those that training saw in that
    place of the predicate, or from the model's best answers: whoever asks for what is probable meets these. What the
    split and those before it know to be true is no corruption: it is drawn again, and left out after `TRIES` draws.
    """
    rng = np.random.default_rng(seed)
    held = _some(dataset.facts(split), facts, rng)
    trained = _some(dataset.train, len(held), rng)
    sizes = Sizes(0, 0, len(dataset.timeline))
    true, elsewhere = (_inside(part, sizes, rng) for part in (held, trained))
    pools = {name: _pools(getattr(dataset.train, name), dataset.train.predicate) for name in ("subject", "object")}

    best = {name: _best(model, true, name) for name in pools}  # (n, RIVALS) each

    def change(kind: str, moments: Moments, rows: Ints) -> Moments:
        n = len(rows)
        if kind in ("time", "known"):
            return replace(moments, time=rng.integers(0, sizes.timestamps, n))
        if kind == "predicate":
            return replace(moments, predicate=rng.integers(0, len(dataset.predicates), n))
        if kind in pools:
            return replace(moments, **{kind: _from_pools(pools[kind], moments.predicate, rng)})
        name = kind.removeprefix("rival ")
        return replace(moments, **{name: best[name][rows, rng.integers(0, best[name].shape[1], n)]})

    parts = [(true, np.arange(len(true)))]
    for kind in KINDS[1:]:
        parts.append(_corrupted(elsewhere if kind == "known" else true, partial(change, kind), dataset.known_to(split)))
    return Drawn(
        Moments.concatenate(*(moments for moments, _ in parts)),
        np.concatenate([np.full(len(rows), kind == 0) for kind, (_, rows) in enumerate(parts)]),
        np.concatenate([np.full(len(rows), kind) for kind, (_, rows) in enumerate(parts)]),
        np.concatenate([rows for _, rows in parts]),
    )


def is_known(known: KnownFacts, moments: Moments) -> Bools:  # (n,)
    """Whether some fact says that each holds then."""
    rows, objects = known.objects(moments.subject, moments.predicate, moments.time)
    found = np.zeros(len(moments), np.bool_)
    found[rows[objects == moments.object[rows]]] = True
    return found


def _corrupted(moments: Moments, change: Callable[[Moments, Ints], Moments], known: KnownFacts) -> tuple[Moments, Ints]:
    """Changed moments that no fact knows to be true, and the rows they were made from."""
    found, rows, left = list[Moments](), list[Ints](), np.arange(len(moments))
    for _ in range(TRIES):
        wrong = change(moments[left], left)
        true = is_known(known, wrong)
        found.append(wrong[~true])
        rows.append(left[~true])
        left = left[true]
    return Moments.concatenate(*found), np.concatenate(rows)


@torch.no_grad()
def _best(model: TemporalModel, moments: Moments, name: str) -> Ints:  # (n, RIVALS)
    """The model's best objects, or subjects, at the times of moments."""
    a, b = moments.subject, moments.predicate
    if name == "subject":
        a, b = moments.object, moments.predicate + model.sizes.predicates
    k, found = min(RIVALS, model.sizes.entities), list[Ints]()
    for part in chunks.slices(len(moments), chunks.rows_at_once(model.sizes.entities)):
        ids = (torch.tensor(column[part], device=model.device) for column in (a, b, moments.time))
        found.append(model.objects(*ids).whole().topk(k).indices.cpu().numpy())
    return np.concatenate(found)


def _some(facts: Facts, count: int, rng: np.random.Generator) -> Facts:
    """Some facts that have a time."""
    dated = np.flatnonzero(~facts.is_static)
    return facts[np.sort(rng.permutation(dated)[:count])]


def _inside(facts: Facts, sizes: Sizes, rng: np.random.Generator) -> Moments:
    """Each fact at a timestamp of its span; an open end reaches to that of the axis."""
    first, last = span_ids(facts, sizes)
    return Moments(facts.subject, facts.predicate, facts.object, rng.integers(first, last + 1))


def _pools(names: Ints, predicate: Ints) -> dict[int, Ints]:
    """The names that training saw under each predicate, as often as it did."""
    order = np.argsort(predicate, kind="stable")
    found, starts = np.unique(predicate[order], return_index=True)
    return dict(zip(found.tolist(), np.split(names[order], starts[1:]), strict=True))


def _from_pools(pools: dict[int, Ints], predicate: Ints, rng: np.random.Generator) -> Ints:
    found, everything = np.empty(len(predicate), np.int64), np.concatenate([*pools.values()])
    for p in np.unique(predicate).tolist():
        rows = predicate == p
        found[rows] = rng.choice(pools.get(p, everything), int(rows.sum()))
    return found
