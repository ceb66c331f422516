"""What models of the calendar share: year, month and day of each timestamp."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from knowwhen.models.base import Decomposition
from knowwhen.models.sizes import Background, Sizes

UNITS = 3  # year, month, day


class CalendarModel(Decomposition):
    """Scores depend on the date, not on a row for each timestamp. Facts without time are asked at 0, 0, 0."""

    calendar: Tensor  # (T + 1, 3)

    def __init__(self, sizes: Sizes, options: Any = None) -> None:
        super().__init__(sizes, options)
        self.register_buffer("calendar", torch.zeros(sizes.timestamps + 1, UNITS), persistent=False)

    def recall(self, background: Background) -> None:
        self.calendar.zero_()[: len(background.calendar)] = torch.from_numpy(background.calendar).to(self.calendar)
