"""The training loop: Adagrad on batches of facts in both directions, each at a timestamp drawn anew every epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from knowwhen.errors import Diverged
from knowwhen.facts.table import Facts
from knowwhen.models.base import TemporalModel
from knowwhen.models.sizes import Sizes
from knowwhen.training.averaging import AveragingAdagrad
from knowwhen.training.config import Config
from knowwhen.training.objective import Batch, Objective, total
from knowwhen.training.sampling import sample_timestamps

Record = dict[str, Any]  # one line of metrics.jsonl
Validate = Callable[[TemporalModel], Record]  # must hold "mrr"


@dataclass
class State:
    """Where a run stands: all that is needed, beside the tensors, to go on as if it had never stopped."""

    epoch: int = 0  # epochs that are complete
    step: int = 0  # steps of the next epoch that are done
    sums: dict[str, float] = field(default_factory=dict)  # of the next epoch's terms, so far
    history: list[Record] = field(default_factory=list)
    best_mrr: float = -1.0
    looks_since_best: int = 0
    stopped_early: bool = False


class Watcher(Protocol):
    """Who looks on: shows progress, saves the state, asks to stop."""

    def after_step(self, state: State, steps: int, examples: int, seconds: float) -> None:
        """May save the state, or raise to stop."""

    def after_epoch(self, state: State, is_best: bool) -> None:
        """Saves the state; the epoch's record is the last of its history."""


class TrainingFacts:
    """Training facts in both directions, as tensors, and their order and timestamps in an epoch."""

    def __init__(self, facts: Facts, sizes: Sizes, device: str = "cpu") -> None:
        both = Facts.concatenate(facts, facts.reciprocal(sizes.predicates))
        self.facts, self.sizes, self.device = both, sizes, device
        self.columns = [torch.tensor(c, device=device) for c in (both.subject, both.predicate, both.object)]
        self.dated = torch.tensor(~both.is_static, device=device)

    def __len__(self) -> int:
        return len(self.facts)

    def epoch(self, seed: int, epoch: int) -> tuple[Tensor, Tensor]:  # (n,), (n,)
        """The order of the facts and a timestamp for each; they depend on seed and epoch alone, so that runs resume."""
        generator = torch.Generator().manual_seed((seed + 1) * 1_000_003 + epoch)
        order = torch.randperm(len(self), generator=generator)
        times = sample_timestamps(self.facts, self.sizes.timestamps, generator, self.sizes.undated_row)
        return order.to(self.device), times.to(self.device)

    def batch(self, rows: Tensor, times: Tensor) -> Batch:
        s, p, o = (column[rows] for column in self.columns)
        return Batch(s, p, o, times[rows], self.dated[rows])


def optimizer_for(model: TemporalModel, config: Config) -> AveragingAdagrad:
    training = config.training
    return AveragingAdagrad(
        model.parameters(), training.learning_rate, fused=training.device != "mps", steps=training.averaging
    )


def fit(
    model: TemporalModel,
    optimizer: AveragingAdagrad,
    facts: TrainingFacts,
    objective: Objective,
    config: Config,
    state: State,
    watcher: Watcher,
    validate: Validate | None = None,
) -> State:
    """Trains until the last epoch, or until validation has not improved for long enough; returns the final state."""
    size = config.training.batch_size
    steps = math.ceil(len(facts) / size)
    while state.epoch < config.training.epochs and not state.stopped_early:
        order, times = facts.epoch(config.training.seed, state.epoch)
        while state.step < steps:
            start = time.perf_counter()
            batch = facts.batch(order[state.step * size : (state.step + 1) * size], times)
            optimizer.zero_grad()
            terms = objective.terms(model, batch)
            loss = total(terms)
            if not loss.isfinite():
                raise Diverged(
                    f"the loss is {loss.item()} in epoch {state.epoch + 1}; lower training.learning_rate "
                    f"(now {config.training.learning_rate}) or raise the penalties. Earlier checkpoints are intact"
                )
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            for name, value in {"loss": loss, **terms}.items():
                state.sums[name] = state.sums.get(name, 0.0) + value.item() * len(batch)
            state.step += 1
            watcher.after_step(state, steps, len(batch), time.perf_counter() - start)
        record: Record = {"epoch": state.epoch + 1, **{k: v / len(facts) for k, v in state.sums.items()}}
        state.epoch, state.step, state.sums = state.epoch + 1, 0, {}
        is_best = False
        if validate and _is_due(config, state.epoch):
            with optimizer.averaged():
                record["valid"] = validate(model)
            is_best = _judge(state, record["valid"]["mrr"], config.validation.patience)
        state.history.append(record)
        watcher.after_epoch(state, is_best)
    return state


def _is_due(config: Config, epoch: int) -> bool:
    every = config.validation.every
    return every > 0 and (epoch % every == 0 or epoch == config.training.epochs)


def _judge(state: State, mrr: float, patience: int) -> bool:
    """Whether this is the best look so far; ends the run when the last good one is too long ago."""
    if mrr > state.best_mrr:
        state.best_mrr, state.looks_since_best = mrr, 0
        return True
    state.looks_since_best += 1
    state.stopped_early = 0 < patience <= state.looks_since_best
    return False
