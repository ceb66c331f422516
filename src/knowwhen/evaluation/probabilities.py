"""Scores to probabilities: a softmax at a temperature, without a second look at the scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from knowwhen import chunks
from knowwhen.distributed import collectives
from knowwhen.evaluation.questions import Floats, check_finite
from knowwhen.facts.table import Ints
from knowwhen.models import TemporalModel


def log_normaliser(scores: Tensor, temperature: float, model: str, *, split: bool = False) -> Tensor:  # (b, n) -> (b,)
    """log Σ exp(score / temperature) of each row: what turns scores into log probabilities.

    With `split`, other processes have the other columns.
    """
    # Some rows at a time: what is made on the way stays in the cache, where the whole would need fresh memory.
    size = chunks.rows_at_once(scores.shape[1], chunks.CACHE_BYTES, scores.element_size())
    parts = [(scores[rows] / temperature).logsumexp(-1) for rows in chunks.slices(len(scores), size)]
    if not parts:
        return scores.new_zeros(0).double()
    total = torch.cat(parts).double()
    # A score that is no number makes its row's sum none.
    return check_finite(collectives.logsumexp(total) if split else total, model)


@torch.no_grad()
def time_curves(
    model: TemporalModel, s: Ints, p: Ints, o: Ints, temperature: float
) -> tuple[NDArray[np.float32], Floats]:  # (b, T), (b, T)
    """Scores along time, and the probability that a moment of the fact's span is this timestamp."""
    scores = model.times(*(torch.tensor(ids, device=model.device) for ids in (s, p, o))).whole()
    normaliser = log_normaliser(scores, temperature, model.name)
    probabilities = (scores.double() / temperature - normaliser[:, None]).exp()
    return as_array(scores.float()), as_array(probabilities)


def as_array(column: Tensor) -> NDArray[Any]:
    found: NDArray[Any] = column.cpu().numpy()
    return found
