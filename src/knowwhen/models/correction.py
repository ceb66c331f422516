"""The correction: how far to believe decomposition and evidence, by how many facts there are about an answer."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from knowwhen import chunks
from knowwhen.facts.index.counts import COUNTED, Counts
from knowwhen.models.evidence.base import LeaveOut
from knowwhen.models.sizes import Background, Sizes

WIDTH = 128
FARTHEST = 4.0  # an input beyond so many standard deviations says no more


class Correction(nn.Module):
    """A correction of the score where evidence speaks of an answer: a network of one hidden layer.

    Its inputs are what the decomposition and each evidence term say, and the logarithms of counts of facts. It is
    learned on facts that the others did not learn from: what they learned from they know too well.
    """

    def __init__(self, sizes: Sizes, terms: int, leave_out: LeaveOut = "holding") -> None:
        """`terms` is the number of evidence terms."""
        super().__init__()
        self.sizes, self.leave_out = sizes, leave_out
        inputs = 1 + terms + len(COUNTED)
        self.hidden, self.out = nn.Linear(inputs, WIDTH), nn.Linear(WIDTH, 1, bias=False)
        self.mean, self.deviation = (
            nn.Parameter(values, requires_grad=False) for values in (torch.zeros(inputs), torch.ones(inputs))
        )
        self._background: Background | None = None
        self._counts: Counts | None = None

    def initialise(self, generator: torch.Generator) -> None:
        """It begins with no correction."""
        bound = self.hidden.in_features**-0.5
        for table in (self.hidden.weight, self.hidden.bias):
            nn.init.uniform_(table, -bound, bound, generator)
        nn.init.zeros_(self.out.weight)

    def recall(self, background: Background) -> None:
        """Takes the facts that are counted from here on; they are indexed when they are first needed."""
        self._background, self._counts = background, None

    @property
    def counts(self) -> Counts:
        if self._counts is None:
            assert self._background is not None, "counting needs facts: correction.recall(background)"
            facts, positions = self._background.facts, self._background.positions
            self._counts = Counts(facts, self.sizes.predicates, positions)
        return self._counts

    def inputs(  # (n, 1 + terms + COUNTED)
        self, parts: Tensor, s: Tensor, p: Tensor, o: Tensor, t: Tensor, right: Tensor | None = None
    ) -> Tensor:
        """What is known of answers, `parts` (n, 1 + terms) being what decomposition and evidence say.

        `right` (n,) are the right answers where training facts are asked for, which do not count themselves.
        """
        answers = None if right is None else right.cpu().numpy()
        ids = (ids.cpu().numpy() for ids in (s, p, o, t))
        counts = self.counts.of(*ids, itself=self.leave_out == "itself", right=answers)
        logarithms = np.log1p(counts.T, out=np.empty(counts.shape[::-1]))  # column by column, as they are in memory
        return torch.cat([parts, torch.from_numpy(logarithms).to(parts).mT], dim=-1)

    @torch.no_grad()
    def standardise(self, inputs: Tensor) -> None:
        """Takes the mean and deviation of inputs as those of all; of fewer than two, nothing is taken."""
        if len(inputs) < 2:
            return
        self.mean.copy_(inputs.mean(0))
        self.deviation.copy_(inputs.std(0).clamp(min=1e-3))

    def forward(self, inputs: Tensor) -> Tensor:  # (n, 1 + terms + COUNTED) -> (n,)
        if torch.is_grad_enabled():
            return self._of(inputs)
        # So many at a time that the hidden layer stays in the cache: in half the time.
        rows = chunks.rows_at_once(WIDTH, chunks.CACHE_BYTES // 2)
        return torch.cat([self._of(inputs[part]) for part in chunks.slices(len(inputs), rows)] or [inputs[:, 0]])

    def _of(self, inputs: Tensor) -> Tensor:
        x = ((inputs - self.mean) / self.deviation).clamp(-FARTHEST, FARTHEST)
        correction: Tensor = self.out(self.hidden(x).relu_())[..., 0]
        return correction
