"""Optimizers by name, and a moving average of the weights beside them: it generalises better than the last step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from knowwhen.training.config import Config

Parameters = Iterable[nn.Parameter]
OPTIMIZERS: dict[str, Callable[[Parameters, float, bool], torch.optim.Optimizer]] = {
    "adagrad": lambda parameters, rate, fused: torch.optim.Adagrad(parameters, lr=rate, fused=fused),
    "adam": lambda parameters, rate, fused: torch.optim.Adam(parameters, lr=rate, fused=fused),
}


def optimizer_for(model: nn.Module, config: Config) -> torch.optim.Optimizer:
    training = config.training
    return OPTIMIZERS[training.optimizer](model.parameters(), training.learning_rate, training.device != "mps")


class Averages:
    """An exponential average of each parameter over about `steps` steps; 0 keeps none.

    average ← average + (parameter − average) / steps, after every step.
    """

    def __init__(self, model: nn.Module, steps: int) -> None:
        self.steps = steps
        self.parameters = dict(model.named_parameters()) if steps else {}
        self.tensors = {name: table.detach().clone() for name, table in self.parameters.items()}

    @torch.no_grad()
    def update(self) -> None:
        if self.steps:
            torch._foreach_lerp_(list(self.tensors.values()), self._tables(), 1 / self.steps)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside, the parameters are their averages."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for table, average in zip(self._tables(), self.tensors.values(), strict=True):
            kept = table.clone()
            table.copy_(average)
            average.copy_(kept)

    def _tables(self) -> list[Tensor]:
        return list(self.parameters.values())
