"""How much is made at once, and in which pieces; limits tuned for one kernel stand beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SCORE_BYTES = 64 << 20  # scores that are made at once; one row of them where a row is larger
CACHE_BYTES = 2 << 20  # what stays in a core's cache while it is looked at several times
ENTRIES = 4 << 20  # facts that are looked at at once for evidence, whatever the number of questions


def slices(count: int, size: int) -> Iterator[slice]:
    """0 … count in pieces of `size`, the last may be shorter."""
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def even_slices(count: int, size: int) -> Iterator[slice]:
    """Pieces of about one length, at most `size`: a product is slow on a thin rest."""
    stops = np.linspace(0, count, math.ceil(count / size) + 1).round().astype(int).tolist()
    return (slice(*ends) for ends in pairwise(stops))


def slices_by(sizes: NDArray[np.int64], limit: int) -> list[slice]:
    """Neighbours whose sizes add up to about `limit`, at least one; of nothing, one empty slice."""
    group = (np.cumsum(sizes) - sizes) // limit
    edges = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), len(sizes)]
    return [slice(*ends) for ends in pairwise(edges)]


def rows_at_once(width: int, limit: int | None = None, each: int = 4) -> int:
    """How many rows of that many numbers fit into a limit of bytes, by default SCORE_BYTES; at least one."""
    return max(1, (SCORE_BYTES if limit is None else limit) // (each * max(1, width)))
