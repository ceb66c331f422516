"""The time at which a fact is looked at: one timestamp of its span, drawn anew each time."""

from __future__ import annotations

import torch
from torch import Tensor

from knowwhen.facts.table import OPEN, Facts
from knowwhen.models.sizes import Sizes


def sample_timestamps(facts: Facts, sizes: Sizes, generator: torch.Generator) -> Tensor:  # (n,)
    """A timestamp for each fact, uniform over the ids inside its span, ends inclusive.

    An open begin or end reaches to that end of the time axis, so a static fact may get any timestamp; where undated
    facts own a row, it gets that one, T, instead.
    """
    begin, end = torch.tensor(facts.begin), torch.tensor(facts.end)
    first = torch.where(begin == OPEN, 0, begin)
    last = torch.where(end == OPEN, sizes.timestamps - 1, end)
    # float64 holds every id exactly; floor(u · n) with u < 1 is uniform over 0 … n − 1.
    draw = torch.rand(len(facts), generator=generator, dtype=torch.float64)
    chosen = first + (draw * (last - first + 1)).floor().long()
    if sizes.undated_row:
        chosen = torch.where(torch.tensor(facts.is_static), sizes.timestamps, chosen)
    return chosen
