"""Many ranges, or many groups, at once."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from knowwhen.facts.table import Bools, Ints

Values = TypeVar("Values", Ints, Bools)


def ranges(start: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """Row and place for every place of start[row] … stop[row] - 1, as `for i: for j in range(start[i], stop[i])`."""
    counts = stop - start
    rows = np.repeat(np.arange(len(start)), counts)
    return rows, np.arange(len(rows)) + np.repeat(start - np.cumsum(counts) + counts, counts)


def spread(values: Values, rows: Ints) -> Values:
    """values[rows] for rows in order, in a tenth of the time."""
    return np.repeat(values, np.diff(np.searchsorted(rows, np.arange(len(values) + 1))))


def ordered(keys: Ints) -> tuple[Ints, Ints]:
    """Keys from 0 in order, and the place each had: np.argsort(keys, kind="stable").

    Key and place are sorted as one number, which numpy does in a third of the time of sorting indirectly, where both
    fit 63 bits.
    """
    bits = len(keys).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits > 63:
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    packed = np.sort(keys << bits | np.arange(len(keys)))
    return packed >> bits, packed & ((1 << bits) - 1)


def numbered(keys: Ints) -> tuple[Ints, Ints]:
    """The different keys in order, and the number of each key among them: np.unique(keys, return_inverse=True)."""
    keys, place = ordered(keys)
    first = np.diff(keys, prepend=-1) != 0
    number = np.empty(len(keys), np.int64)
    number[place] = np.cumsum(first) - 1
    return keys[first], number
