"""Optimizers by name, and a moving average of the weights beside them: it generalises better than the last step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adagrad import adagrad

from knowwhen.models.algebra import keeps_rows, take_rows
from knowwhen.training.config import Config

Parameters = Iterable[nn.Parameter]


Rows = dict[Tensor, tuple[Tensor, Tensor]]
"""Of tables of which only some rows have a gradient: which, and these gradients."""


def gather_rows(parameters: Iterable[Tensor]) -> Rows:
    """What look-ups kept since the last step; a table that also has a dense gradient gets it there."""
    found: Rows = {}
    for table in parameters:
        rows = take_rows(table)
        if rows is not None and table.grad is not None:
            table.grad.index_add_(0, *rows)
        elif rows is not None:
            found[table] = rows
    return found


class RowAdagrad(torch.optim.Adagrad):
    """Adagrad that can take a step with some rows of a table, and touch only these.

    It equals the dense one, in which rows without a gradient stay as they are.
    """

    @torch.no_grad()
    def step_rows(self, rows: Rows) -> None:
        for group in self.param_groups:
            for table in group["params"]:
                if table in rows:
                    self._step(table, *rows[table], group)

    def _step(self, table: Tensor, rows: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        """sum ← sum + g²; row ← row − rate · g / (√sum + eps), by torch's own kernel on a copy of the rows."""
        sums, steps = self.state[table]["sum"], self.state[table]["step"].clone()
        some, sum_ = table.index_select(0, rows), sums.index_select(0, rows)
        settings = {name: group[name] for name in ("fused", "lr", "weight_decay", "lr_decay", "eps", "maximize")}
        adagrad([some], [gradient], [sum_], [steps], **settings)
        table.index_copy_(0, rows, some)
        sums.index_copy_(0, rows, sum_)


def take_step(optimizer: torch.optim.Optimizer, averages: Averages) -> None:
    """One step, in which tables with gradients for some rows are touched in these alone where that is the same."""
    parameters = [table for group in optimizer.param_groups for table in group["params"]]
    rows = gather_rows(parameters)
    if isinstance(optimizer, RowAdagrad):
        averages.catch_up(rows)
        optimizer.step_rows(rows)
    else:  # moments move every row
        for table, (ids, gradient) in rows.items():
            table.grad = torch.zeros_like(table).index_add_(0, ids, gradient)
        rows = {}
    optimizer.step()
    averages.update(rows)


OPTIMIZERS: dict[str, Callable[[Parameters, float, bool], torch.optim.Optimizer]] = {
    "adagrad": lambda parameters, rate, fused: RowAdagrad(parameters, lr=rate, fused=fused),
    "adam": lambda parameters, rate, fused: torch.optim.Adam(parameters, lr=rate, fused=fused),
}


def optimizer_for(model: nn.Module, config: Config) -> torch.optim.Optimizer:
    training, rate = config.training, config.evidence.learning_rate
    parameters: Any = model.parameters()
    if rate:
        evidence = [table for name, table in model.named_parameters() if name.startswith("evidence.")]
        rest = [table for name, table in model.named_parameters() if not name.startswith("evidence.")]
        parameters = [{"params": rest}, {"params": evidence, "lr": rate}]
    return OPTIMIZERS[training.optimizer](parameters, training.learning_rate, training.device != "mps")


class Averages:
    """An exponential average of each parameter over about `steps` steps; 0 keeps none.

    average ← average + (parameter − average) / steps, after every step. A row that a step does not touch is averaged
    when it is next touched or read: m steps at once are average ← parameter + (average − parameter) (1 − 1/steps)^m.
    """

    def __init__(self, model: nn.Module, steps: int) -> None:
        self.steps, self.taken = steps, 0
        self.parameters = dict(model.named_parameters()) if steps else {}
        self.tensors = {name: table.detach().clone() for name, table in self.parameters.items()}
        # By row, the last step that its average knows of.
        lazy = [name for name, table in self.parameters.items() if keeps_rows(table)]
        self.known = {name: torch.zeros(len(self.tensors[name]), dtype=torch.int64) for name in lazy}

    @torch.no_grad()
    def catch_up(self, rows: Rows) -> None:
        """Averages what is about to be touched up to the step before."""
        for name, known in self.known.items():
            if self.parameters[name] in rows:
                self._catch_up(name, known, rows[self.parameters[name]][0])

    def _catch_up(self, name: str, known: Tensor, rows: Tensor) -> None:
        late = rows[(known[rows.to(known.device)] < self.taken).to(rows.device)]
        self.tensors[name][late] = self._caught_up(name, late)
        known[late.to(known.device)] = self.taken

    def _caught_up(self, name: str, rows: Tensor) -> Tensor:
        """The averages of rows as they are after all steps so far."""
        now, average = self.parameters[name].detach()[rows], self.tensors[name][rows]
        missed = self.taken - self.known[name][rows.to(self.known[name].device)]
        kept = ((1 - 1 / self.steps) ** missed.double()).to(average).view(-1, *[1] * (average.dim() - 1))
        return torch.where(kept == 1, average, now + (average - now) * kept)

    @torch.no_grad()
    def update(self, rows: Rows) -> None:
        """Counts a step that moved some rows of some tables, and all of the others."""
        if not self.steps:
            return
        whole = [name for name, table in self.parameters.items() if table not in rows]
        for name in whole:
            if name in self.known:
                self._catch_up(name, self.known[name], torch.arange(len(self.known[name])))
                self.known[name] += 1
        tables: list[Tensor] = [self.parameters[name] for name in whole]
        if whole:
            torch._foreach_lerp_([self.tensors[name] for name in whole], tables, 1 / self.steps)
        self.taken += 1
        for name, table in self.parameters.items():
            if table in rows:
                ids = rows[table][0]
                average = self.tensors[name]
                average[ids] = average[ids].lerp(table.detach()[ids], 1 / self.steps)
                self.known[name][ids.to(self.known[name].device)] = self.taken

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside, the parameters are their averages; what is kept of these does not change by looking."""
        kept = {name: table.detach().clone() for name, table in self.parameters.items()}
        averages = {name: self._caught_up(name, torch.arange(len(known))) for name, known in self.known.items()}
        self._put(self.tensors | averages)
        try:
            yield
        finally:
            self._put(kept)

    @torch.no_grad()
    def _put(self, values: Mapping[str, Tensor]) -> None:
        for name, table in self.parameters.items():
            table.copy_(values[name])

    def state(self) -> dict[str, Tensor]:
        """All that a checkpoint needs, as tensors."""
        found = {f"average.{name}": tensor for name, tensor in self.tensors.items()}
        found |= {f"average_known.{name}": known for name, known in self.known.items()}
        return found | ({"average_taken": torch.tensor(self.taken)} if self.steps else {})

    @torch.no_grad()
    def load(self, tensors: Mapping[str, Tensor]) -> None:
        for name, tensor in self.state().items():
            if name == "average_taken":
                self.taken = int(tensors[name])
            else:
                tensor.copy_(tensors[name])
