"""Evidence from what others do under the same predicate."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from pydantic import Field

from knowwhen.models.evidence.base import EvidenceOptions
from knowwhen.models.evidence.history_term import HistoryTerm
from knowwhen.models.evidence.kernels import Kernel, LagKernel
from knowwhen.models.registry import register_evidence

STRENGTH, SCALE = 0.1, 2.0


class PredicateHistoryOptions(EvidenceOptions):
    window: int = Field(7, ge=0, description="Ignore facts further away, in units of the time axis; 0: use all.")


@register_evidence
class PredicateHistory(HistoryTerm):
    """What others do under the same predicate near a time: facts (x, p, o, t') with x other than s."""

    name = "predicate_history"
    by: ClassVar[Literal["subject", "predicate"]] = "predicate"
    Options = PredicateHistoryOptions

    def new_kernel(self) -> Kernel:
        return LagKernel(self.sizes, self.lags.count)

    def initialise(self, generator: torch.Generator) -> None:
        """It begins small: what others do is less than what is known of the subject."""
        super().initialise(generator)
        with torch.no_grad():
            self.strength.fill_(STRENGTH)
            self.scale.fill_(SCALE)
