"""Evidence from the facts about subject and object."""

from __future__ import annotations

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from knowwhen.models.evidence.base import EvidenceOptions, add_up, arrays
from knowwhen.models.evidence.history_term import HistoryTerm
from knowwhen.models.evidence.kernels import CrossKernel, Entries
from knowwhen.models.registry import register_evidence


class PairHistoryOptions(EvidenceOptions):
    width: int = Field(32, ge=1, description="Rank of the kernel over lags and predicates.")


@register_evidence
class PairHistory(HistoryTerm):
    """What the facts (s, p', o, t') about subject and object near a time say about another predicate between them."""

    name = "pair_history"
    Options = PairHistoryOptions

    def predicates(self, s: Tensor, o: Tensor, t: Tensor, rows: Tensor) -> Tensor:
        """All predicates look at the same facts: these are gathered once."""
        R, (s_, o_, t_), found = 2 * self.sizes.predicates, arrays(s, o, t), []
        every, history = torch.arange(R, device=s.device), self.history
        assert isinstance(self.kernel, CrossKernel)
        for part in self._parts(s, None, t, each=R):
            row, place = history.around(s_[part], t_[part])
            lag, count = history.lag(row, place, t_[part]), len(s_[part])
            left_out = np.zeros((len(row), 1), np.bool_)
            if self.leave_out == "holding":
                left_out = history.is_left_out(row, place, s_[part], None, lag)
            weights = self.kernel.weights_of_all(history, Entries(row, place, lag, left_out))
            own = torch.from_numpy(history.object[place] == o_[part][row]).to(s.device)
            sums, total = (add_up(w, row, count) for w in (weights * own[:, None], weights))
            found.append(self._value(sums, total, every))
        return torch.cat(found)
