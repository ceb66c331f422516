"""What is believed of begin and end: a distribution over spans, and the answers read off it. The only decoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from knowwhen.evaluation.intervals import aeiou
from knowwhen.evaluation.questions import Floats
from knowwhen.facts.table import Ints


@dataclass(frozen=True, eq=False)
class Belief:
    """Of n questions, the m most probable spans that are closed, and the chances of begins and ends by timestamp."""

    begin: Ints  # (n, m) ids of timestamps
    end: Ints  # (n, m)
    weight: Floats  # (n, m), sums to 1: the share of each among them
    closed: Floats  # (n,), how probable it is that there is an end at all
    mass: Floats  # (n,), how much of what is closed the m spans hold
    covered: Floats  # (n,), how probable it is that the begin is one of those for which ends were scored
    begins: Floats  # (n, T), sums to 1
    ends: Floats  # (n, T), sums to `closed`
    holds: Floats  # (n, T): that it holds then; without an end, up to the last timestamp
    positions: Ints  # (T,)

    def __len__(self) -> int:
        return len(self.begin)

    def spans(self, top: int = 1) -> tuple[Ints, Ints, Floats]:  # (n, k) each
        """The best k spans and the probability of each, ends included.

        They are chosen for the metric they are judged by: the first has the highest aeIOU to be expected, each further
        one adds most to the best of all so far.
        """
        best, weight, n = self._fits(), self.weight, np.arange(len(self))
        chosen, reached = list[Ints](), np.zeros_like(weight)
        for _ in range(min(top, weight.shape[1])):
            # Naive equivalent: `[Σ_j weight_j max(reached_j, aeIOU(span_i, span_j)) for i]`
            gain = (np.maximum(best, reached[:, None, :]) * weight[:, None, :]).sum(-1)  # (n, m)
            if chosen:
                gain[n[:, None], np.stack(chosen, 1)] = -1
            chosen.append(gain.argmax(-1))
            reached = np.maximum(reached, best[n, chosen[-1]])
        which = np.stack(chosen, 1)
        first, last = (np.take_along_axis(ids, which, 1) for ids in (self.begin, self.end))
        return first, last, np.take_along_axis(weight, which, 1) * (self.mass * self.closed)[:, None]

    def _fits(self) -> Floats:  # (n, m, m)
        b, e = self.positions[self.begin], self.positions[self.end]
        return aeiou(b[:, :, None], e[:, :, None], b[:, None, :], e[:, None, :])

    def middle_begin(self) -> Ints:  # (n,)
        """The median begin: no other timestamp has a smaller error to be expected."""
        return median(self.begins)

    def middle_end(self) -> Ints:  # (n,)
        return median(self.ends)


def median(probability: Floats) -> Ints:  # (n, T) -> (n,)
    """The first timestamp at which half of the mass is reached."""
    reached = probability.cumsum(-1) >= 0.5 * probability.sum(-1, keepdims=True) - 1e-12
    return np.asarray(reached.argmax(-1))


def shortest_range(probability: Floats, level: float, positions: Ints) -> tuple[Ints, Ints]:  # (n, T) -> (n,), (n,)
    """First and last timestamp of the shortest stretch, in units, that holds `level` of each row's mass."""
    total = np.concatenate([np.zeros((len(probability), 1)), probability.cumsum(-1)], axis=1)
    first, last = np.empty(len(probability), np.int64), np.empty(len(probability), np.int64)
    for i, sums in enumerate(total):
        wanted = level * sums[-1] - 1e-12
        # The last timestamp that each first one needs.
        stop = np.searchsorted(sums, sums[:-1] + wanted)
        start = np.flatnonzero(stop <= len(positions))
        stop = np.maximum(stop[start], start + 1)
        place = (positions[stop - 1] - positions[start]).argmin()
        first[i], last[i] = start[place], stop[place] - 1
    return first, last
