"""Many ranges at once."""

from __future__ import annotations

import numpy as np

from knowwhen.facts.table import Ints


def ranges(start: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """Row and place for every place of start[row] … stop[row] - 1, as `for i: for j in range(start[i], stop[i])`."""
    counts = stop - start
    rows = np.repeat(np.arange(len(start)), counts)
    return rows, np.arange(len(rows)) + np.repeat(start - np.cumsum(counts) + counts, counts)
