"""Adagrad, with a moving average of the weights beside them: it generalises better than where the last step stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


class AveragingAdagrad(torch.optim.Adagrad):
    """Adagrad that keeps an exponential average of each parameter over about `steps` steps; 0 keeps none.

    average ← average + (parameter − average) / steps, after every step. It is part of the optimizer's state, so that
    checkpoints hold it.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, fused: bool, steps: int) -> None:
        super().__init__(parameters, lr=lr, fused=fused)
        self.steps = steps
        if steps:
            for table in self._tables():
                self.state[table]["average"] = table.detach().clone()

    def step(self, closure: Any = None) -> Any:
        loss = super().step(closure)
        if self.steps:
            tables = self._tables()
            with torch.no_grad():
                torch._foreach_lerp_(self._averages(), tables, 1 / self.steps)
        return loss

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Inside, the parameters are their averages."""
        if not self.steps:
            yield
            return
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        with torch.no_grad():
            for table, average in zip(self._tables(), self._averages(), strict=True):
                kept = table.clone()
                table.copy_(average)
                average.copy_(kept)

    def _tables(self) -> list[Tensor]:
        return [table for group in self.param_groups for table in group["params"]]

    def _averages(self) -> list[Tensor]:
        return [self.state[table]["average"] for table in self._tables()]
