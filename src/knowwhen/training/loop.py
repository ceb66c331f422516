"""The training loop: batches of facts in both directions, each at a timestamp drawn anew every epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from knowwhen.errors import Diverged
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.table import Facts, Ints
from knowwhen.models import Sizes, TemporalModel
from knowwhen.models.algebra import keep_rows
from knowwhen.models.tables import tables_of
from knowwhen.models.timestamps import sample_timestamps
from knowwhen.training.config import Config
from knowwhen.training.objective import Batch, Objective, total
from knowwhen.training.optimizers import Averages, optimizer_for, take_step
from knowwhen.training.sampled import Sampler, is_worth_it

Record = dict[str, Any]  # one line of metrics.jsonl
Validate = Callable[[TemporalModel], Record]  # must hold "mrr"


def best_valid_mrr(records: Sequence[Record]) -> float | None:
    """The best MRR on valid, corrected or not; None where there was no validation."""
    mrrs = [record[look]["mrr"] for record in records for look in ("valid", "corrected") if look in record]
    return max(mrrs, default=None)


@dataclass
class State:
    """Where a run stands: all that is needed, beside the tensors, to go on as if it had never stopped."""

    epoch: int = 0  # epochs that are complete
    step: int = 0  # steps of the next epoch that are done
    sums: dict[str, float] = field(default_factory=dict)  # of the next epoch's terms, so far
    records: list[Record] = field(default_factory=list)  # of complete epochs
    best_mrr: float = -1.0
    validations_since_best: int = 0
    stopped_early: bool = False


class Spent(NamedTuple):
    """Seconds of work: by the clock, and of the processor, which other programs on the machine do not lengthen."""

    seconds: float = 0.0
    processor: float = 0.0

    @classmethod
    def now(cls) -> Spent:
        return cls(time.perf_counter(), time.process_time())

    def since(self, start: Spent) -> Spent:
        return Spent(self.seconds - start.seconds, self.processor - start.processor)

    def plus(self, more: Spent) -> Spent:
        return Spent(self.seconds + more.seconds, self.processor + more.processor)

    def to_dict(self) -> Record:
        """As a line of timing.jsonl has it."""
        return {"seconds": round(self.seconds, 3), "processor_seconds": round(self.processor, 3)}


class Watcher(Protocol):
    """Who looks on: shows progress, saves the state, asks to stop."""

    def after_step(self, state: State, steps: int, examples: int, spent: Spent) -> None:
        """May save the state, or raise to stop."""

    def after_epoch(self, state: State, is_best: bool) -> None:
        """Saves the state; the epoch's record is the last of the state's."""


class TrainingFacts:
    """Training facts in both directions, as tensors, and their order and timestamps in an epoch."""

    def __init__(self, facts: Facts, sizes: Sizes, device: str = "cpu", leaving: Leaving | None = None) -> None:
        both = Facts.concatenate(facts, facts.reciprocal(sizes.predicates))
        self.facts, self.sizes, self.device = both, sizes, device
        self.columns = [torch.tensor(c, device=device) for c in (both.subject, both.predicate, both.object)]
        self.dated = torch.tensor(~both.is_static, device=device)
        self.leaving = leaving

    def sampler(self, config: Config) -> Sampler | None:
        """What draws candidates where steps look at a sample of them."""
        E = self.sizes.entities
        return Sampler(self.columns[2], E, config.objective.negatives) if samples(config, E) else None

    def known(self, config: Config) -> KnownFacts | None:
        """What is true, where the labels of a step are all of it."""
        if config.objective.labels == "target":
            return None
        one_side = self.facts[: len(self.facts) // 2]
        return KnownFacts(one_side, self.sizes.predicates, self.sizes.timestamps)

    def __len__(self) -> int:
        return len(self.facts)

    def epoch(self, seed: int, epoch: int) -> tuple[Tensor, Tensor]:  # (n,), (n,)
        """The order of the facts and a timestamp for each; they depend on seed and epoch alone, so that runs resume."""
        generator = torch.Generator().manual_seed((seed + 1) * 1_000_003 + epoch)
        order = torch.randperm(len(self), generator=generator)
        times = sample_timestamps(self.facts, self.sizes, generator)
        return order.to(self.device), times.to(self.device)

    def batch(self, rows: Tensor, times: Tensor) -> Batch:
        s, p, o = (column[rows] for column in self.columns)
        batch = Batch(s, p, o, times[rows], self.dated[rows])
        return batch if self.leaving is None else self.leaving.out_of(batch, rows)


class Leaving:
    """Tells evidence which training facts are asked for, and leaves other true answers out of their rivals."""

    def __init__(self, train: Facts, sizes: Sizes, rows: Ints, others: bool) -> None:
        """`rows` are those of the facts that are learned from; all others of train stay evidence."""
        self.asked = torch.from_numpy(np.concatenate([rows, rows]))
        # Never what a filter knows: with facts of valid, what is missing among the rivals would tell the answers.
        self.known = KnownFacts(train, sizes.predicates, sizes.timestamps) if others else None

    def out_of(self, batch: Batch, rows: Tensor) -> Batch:
        device, asked = batch.s.device, self.asked[rows.cpu()].to(batch.s.device)
        if self.known is None:
            return replace(batch, asked=asked)
        row, other = self.known.objects(*(ids.cpu().numpy() for ids in (batch.s, batch.p, batch.t)))
        some = np.flatnonzero(other != batch.o.cpu().numpy()[row])
        others = (torch.from_numpy(row[some]).to(device), torch.from_numpy(other[some]).to(device))
        return replace(batch, asked=asked, others=others)


class Learner:
    """All that changes in training: the model, its optimizer, and the averages of its weights."""

    def __init__(self, model: TemporalModel, config: Config) -> None:
        self.model, self.config = model, config
        if samples(config, model.sizes.entities):
            for table in tables_of(model).values():
                keep_rows(table.weight)
        self.optimizer = optimizer_for(model, config)
        self.averages = Averages(model, config.training.averaging)

    def step(self, objective: Objective, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """One step; returns the loss and its terms. The epoch is for an error."""
        self.optimizer.zero_grad()
        terms = objective.terms(self.model, batch)
        loss = total(terms)
        if not loss.isfinite():
            raise Diverged(
                f"the loss is {loss.item()} in epoch {epoch + 1}; lower training.learning_rate (now "
                f"{self.config.training.learning_rate}) or raise the penalties. Earlier checkpoints are intact"
            )
        loss.backward()  # type: ignore[no-untyped-call]
        self.model.add_up_gradients()
        take_step(self.optimizer, self.averages)
        return {"loss": loss, **terms}


def fit(
    learner: Learner,
    facts: TrainingFacts,
    objective: Objective,
    state: State,
    watcher: Watcher,
    validate: Validate | None = None,
) -> State:
    """Trains until the last epoch, or until validation has not improved for long enough; returns the final state."""
    config, model = learner.config, learner.model
    size = config.training.batch_size
    steps = math.ceil(len(facts) / size)
    while state.epoch < config.training.epochs and not state.stopped_early:
        model.train()
        order, times = facts.epoch(config.training.seed, state.epoch)
        while state.step < steps:
            start = Spent.now()
            batch = facts.batch(order[state.step * size : (state.step + 1) * size], times)
            with seeded(model.device, config.training.seed, state.epoch, state.step):
                terms = learner.step(objective, batch, state.epoch)
            for name, value in terms.items():
                state.sums[name] = state.sums.get(name, 0.0) + value.item() * len(batch)
            state.step += 1
            watcher.after_step(state, steps, len(batch), Spent.now().since(start))
        record: Record = {"epoch": state.epoch + 1, **{k: v / len(facts) for k, v in state.sums.items()}}
        state.epoch, state.step, state.sums = state.epoch + 1, 0, {}
        is_best = False
        if validate and _is_due(config, state.epoch):
            with learner.averages.applied():
                record["valid"] = validate(model.eval())
            is_best = _judge(state, record["valid"]["mrr"], config.validation.patience)
        state.records.append(record)
        watcher.after_epoch(state, is_best)
    model.eval()
    return state


def samples(config: Config, entities: int) -> bool:
    """Whether steps look at a sample of the candidates."""
    objective = config.objective
    if objective.sampling == "auto":
        return is_worth_it(entities, config.training.batch_size, objective.negatives)
    return objective.sampling == "uniform"


@contextmanager
def seeded(device: torch.device, *numbers: int) -> Iterator[None]:
    """Inside, what torch draws (dropout) depends on the numbers alone, so that runs resume; outside nothing changes."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        seed = 0
        for number in numbers:
            seed = (seed * 1_000_003 + number + 1) % (1 << 63)
        torch.manual_seed(seed)
        yield


def _is_due(config: Config, epoch: int) -> bool:
    every = config.validation.every
    return every > 0 and (epoch % every == 0 or epoch == config.training.epochs)


def _judge(state: State, mrr: float, patience: int) -> bool:
    """Whether this is the best validation so far; ends the run when that one is too long ago."""
    if mrr > state.best_mrr:
        state.best_mrr, state.validations_since_best = mrr, 0
        return True
    state.validations_since_best += 1
    state.stopped_early = 0 < patience <= state.validations_since_best
    return False
