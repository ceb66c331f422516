"""Learning the time head: on train, each fact left out of its own surroundings; what valid agrees with is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from knowwhen.dating.beliefs import shortest_range
from knowwhen.dating.gaps import Facing, GapHead, frequent_pairs
from knowwhen.dating.head import Fitted, TimeHead, model_logs
from knowwhen.dating.neighbours import Asked, Neighbourhood
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import OPEN, Bools, Facts, Ints
from knowwhen.models import TemporalModel

FACTS = 40_000  # of train, in each epoch: more do not move the tables
VALID = 4_000  # facts of valid to fit on
BATCH, LEAST_STEPS, MOST_EPOCHS = 256, 400, 30
RATE, DECAY = 0.02, 1e-4
RANGE = 0.8
Progress = Callable[[int, int], None]


def learn_times(
    dataset: Dataset,
    model: TemporalModel | None = None,
    *,
    epochs: int = 4,
    seed: int = 0,
    progress: Progress | None = None,
) -> TimeHead | None:
    """A time head for the facts of train, fitted on valid; None where no begin is known, or the axis is a point."""
    train, P = dataset.train, len(dataset.predicates)
    begun = np.flatnonzero(train.begin != OPEN)
    if len(dataset.timeline) < 2 or not len(begun):
        return None
    at = dataset.timeline.positions
    neighbourhood = Neighbourhood(train, P, dataset.timeline)
    some = begun[: 4 * FACTS]
    pairs = frequent_pairs(neighbourhood.around(Asked.of(train[some], some)), Asked.of(train[some]), P)
    has_intervals = bool((train.is_interval | train.is_half_open).any())
    heads = [GapHead(P, at, pairs, ends=False), *([GapHead(P, at, pairs, ends=True)] if has_intervals else [])]
    head = TimeHead(heads[0], heads[1] if has_intervals else None).recall(dataset)
    rng, steps = np.random.default_rng(seed), -(-min(len(begun), FACTS) // BATCH)
    epochs = min(max(epochs, -(-LEAST_STEPS // steps)), max(epochs, MOST_EPOCHS))
    optimizer = torch.optim.Adam([t for h in heads for t in h.parameters()], RATE, weight_decay=DECAY, fused=True)
    valid = _some_valid(dataset, seed)
    facing = head.facing(Asked.of(valid)) if len(valid) else None
    best, kept, done = np.inf, [_copy(h) for h in heads], 0
    for epoch in range(epochs):
        rows = rng.permutation(begun)[:FACTS]
        for start in range(0, len(rows), BATCH):
            for group in optimizer.param_groups:
                group["lr"] = RATE * (1 - done / (epochs * steps))
            _step(head, optimizer, train, rows[start : start + BATCH])
            done += 1
        if progress:
            progress(epoch + 1, epochs)
        loss = sum(_losses(head, valid, facing)) if facing is not None else -epoch
        if loss < best:
            best, kept = loss, [_copy(h) for h in heads]
    for h, state in zip(heads, kept, strict=True):
        h.load_state_dict(state)
    return _fit(head, valid, facing, model) if facing is not None else head


def _step(head: TimeHead, optimizer: torch.optim.Optimizer, train: Facts, rows: Ints) -> None:
    facts = train[rows]
    losses = _mean_losses(head, facts, head.facing(Asked.of(facts, rows)))
    optimizer.zero_grad()
    torch.stack(losses).sum().backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def _mean_losses(head: TimeHead, facts: Facts, facing: Facing) -> list[Tensor]:
    """Cross-entropy of the begins, and of the ends given them; a fact without an end has the last column."""
    p, begin, end = (torch.from_numpy(c.copy()) for c in (facts.predicate, facts.begin, facts.end))
    losses = [cross_entropy(head.begins(p, facing, head.axis), begin)]
    if head.ends is not None:
        losses.append(cross_entropy(head.ends(p, facing, head.axis, begin), torch.where(end < 0, len(head.axis), end)))
    return losses


@torch.no_grad()
def _losses(head: TimeHead, facts: Facts, facing: Facing) -> list[float]:
    found = [
        [loss.item() * len(part) for loss in _mean_losses(head, facts[part.numpy()], facing[part])]
        for part in torch.split(torch.arange(len(facts)), BATCH)
    ]
    return [sum(column) / len(facts) for column in zip(*found, strict=True)]


def _fit(head: TimeHead, valid: Facts, facing: Facing, model: TemporalModel | None) -> TimeHead:
    """The head with scales of the least loss on valid, and with ranges that hold their share of it."""
    asked, begin = Asked.of(valid), torch.from_numpy(valid.begin.copy())
    p = torch.from_numpy(valid.predicate.copy())
    with torch.no_grad():
        curves = [head.begins(p, facing, head.axis).double()]
        if model is not None and model.decomposition.temporal:
            curves.append(model_logs(model, asked).double())
    scales = _least(curves, begin, [1.0, 0.0])
    end_scale = 1.0
    if head.ends is not None:
        with torch.no_grad():
            ends = head.ends(p, facing, head.axis, begin).double()
        target = torch.from_numpy(np.where(valid.end == OPEN, len(head.axis), valid.end))
        (end_scale,) = _least([ends], target, [1.0])
    fitted = Fitted(scales[0], scales[1] if len(scales) > 1 else 0.0, end_scale)
    return _with_levels(replace(head, fitted=fitted), valid, model)


def _least(curves: Sequence[Tensor], target: Tensor, start: Sequence[float]) -> list[float]:
    """The factors of curves (n, T) whose sum has the least cross-entropy; none is negative."""
    scale = torch.tensor(start[: len(curves)], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([scale], max_iter=40, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = cross_entropy(torch.stack([s * c for s, c in zip(scale, curves, strict=True)]).sum(0), target)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    found = [max(0.0, float(value)) for value in scale.detach()]
    return found if np.isfinite(found).all() and found[0] > 0 else list(start[: len(curves)])


def _with_levels(head: TimeHead, valid: Facts, model: TemporalModel | None) -> TimeHead:
    """The head with the masses at which ranges hold RANGE of the begins and ends of valid.

    On a coarse axis the shortest range that holds 80 % of the mass holds more, so that less mass does.
    """
    at, found = head.axis.numpy(), {}
    beliefs = [*head.believe(Asked.of(valid), model)]
    for name, truth in (("begins", valid.begin), ("ends", valid.end)):
        mass = np.concatenate([getattr(belief, name) for belief in beliefs])
        known = truth != OPEN
        levels = np.linspace(0.3, 0.99, 24)
        if known.any():
            cover = [_coverage(mass[known], truth[known], level, at) for level in levels]
            found[name] = float(np.interp(RANGE, np.maximum.accumulate(cover), levels))
    levels_of = {"begin_level": found.get("begins", RANGE), "end_level": found.get("ends", RANGE)}
    return replace(head, fitted=replace(head.fitted, **levels_of))


def _coverage(mass: np.ndarray, truth: Ints, level: float, positions: Ints) -> float:
    first, last = shortest_range(mass, level, positions)
    inside: Bools = (first <= truth) & (truth <= last)
    return float(inside.mean())


def _some_valid(dataset: Dataset, seed: int) -> Facts:
    """Facts of valid whose begin is known, or some of them."""
    valid = dataset.valid[dataset.valid.begin != OPEN]
    if len(valid) <= VALID:
        return valid
    return valid[np.sort(np.random.default_rng(seed).choice(len(valid), VALID, replace=False))]


def _copy(head: GapHead) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in head.state_dict().items()}
