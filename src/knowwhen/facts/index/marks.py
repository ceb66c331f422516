"""A filter of keys: most of those that there are not need not be searched for."""

from __future__ import annotations

import numpy as np

from knowwhen.facts.table import Ints

BYTES, LARGEST = 8, 26  # bytes for each key; at most 2^26 in all
MIXER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads keys that lie close together


class Marks:
    """One mark for each key, in a place that is hashed from it (a Bloom filter of one hash); immutable."""

    def __init__(self, keys: Ints) -> None:
        bits = min((BYTES * len(keys) | 1).bit_length(), LARGEST)
        self._shift = np.uint64(64 - bits)
        self._marks = np.zeros(1 << bits, np.bool_)
        self._marks[self._place(keys)] = True
        self._marks.setflags(write=False)

    def perhaps(self, keys: Ints) -> Ints:
        """The rows of all that are among the keys, and of a few others."""
        return np.flatnonzero(self._marks[self._place(keys)])

    def _place(self, keys: Ints) -> Ints:
        return np.asarray(keys.view(np.uint64) * MIXER >> self._shift).view(np.int64)
