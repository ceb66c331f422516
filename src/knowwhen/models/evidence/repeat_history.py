"""Evidence from the asked fact itself at other times: whether it comes back, or came once and for all."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from knowwhen import chunks
from knowwhen.facts.index.links import Links
from knowwhen.facts.index.ranges import numbered, ranges
from knowwhen.facts.table import Ints
from knowwhen.models.evidence.base import EvidenceTerm, LagOptions, Reason, add_up, arrays
from knowwhen.models.evidence.classes import YEARS, ByClass, looked_up
from knowwhen.models.registry import register_evidence
from knowwhen.models.scores import Cells
from knowwhen.models.sizes import Sizes


class RepeatHistoryOptions(LagOptions):
    lags: tuple[int, ...] = Field(YEARS, min_length=1, description="Upper bounds of the lag classes, before and after.")
    cap: int = Field(
        256, ge=0, description="Maximum facts of the subject under the predicate, nearest in time first; 0: no limit."
    )


class Repeats(NamedTuple):
    """The different (question, object, lag class) of a batch, in order, with the facts behind them."""

    row: Ints
    object: Ints
    lag: Ints
    place: Ints  # of each fact in the links
    number: Ints  # to which of the above each fact belongs


@register_evidence
class RepeatHistory(EvidenceTerm):
    """R[s, p, o, t] = Σ over the lag classes c of the facts (s, p, o) of B[p, c]

    B may be negative, where the weights of `pair_history` only add up: who was born somewhere in 1950 is not born there
    in 1960. A class counts once, however many facts it has.
    """

    name = "repeat_history"
    is_sparse: ClassVar[bool] = True
    Options: ClassVar[type[LagOptions]] = RepeatHistoryOptions

    def __init__(self, sizes: Sizes, dimension: int, is_complex: bool, options: Any = None) -> None:
        super().__init__(sizes, dimension, is_complex, options)
        self._links: Links | None = None

    def new_kernel(self) -> nn.Module:
        return ByClass(2 * self.sizes.predicates, self.lags.count)

    def initialise(self, generator: torch.Generator) -> None:
        self.kernel.initialise()

    @property
    def links(self) -> Links:
        if self._links is None:
            self._links = self.indexed(Links)
        return self._links

    def forget(self) -> None:
        self._links = None

    def objects(self, s: Tensor, p: Tensor, t: Tensor, rows: Tensor, asked: Tensor | None = None) -> Cells:
        """R[s, p, :, t] where there are such facts."""
        found = []
        for part in self._parts(s, p, t):
            row, object, values = self._sums(s[part], p[part], t[part], None if asked is None else asked[part])
            ids = (torch.from_numpy(column).to(s.device) for column in (row + part.start, object))
            found.append((*ids, values))
        return Cells(*(torch.cat(columns) for columns in zip(*found, strict=True)))

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor, rows: Tensor) -> Tensor:
        found = []
        for part in self._parts(s, p, t):
            row, object, values = self._sums(s[part], p[part], t[part])
            own = torch.from_numpy(object == arrays(o[part])[0][row]).to(p.device)
            found.append(add_up(values * own, row, len(s[part])))
        return torch.cat(found)

    @torch.no_grad()
    def reasons(self, s: int, p: int, o: int, t: int, rows: Tensor) -> list[Reason]:
        """The facts (s, p, o), those of one class in equal shares."""
        query = [np.array([i]) for i in (s, p, t)]
        repeats = self._repeats(query[0], query[1], query[2], np.array([-1]))
        values = looked_up(self.kernel.table(), np.full(len(repeats.lag), p), repeats.lag).cpu().numpy()
        shares = values / np.maximum(np.bincount(repeats.number, minlength=len(values)), 1)
        found = [
            Reason(int(self.links.fact[place]), int(repeats.lag[i]), float(shares[i]))
            for place, i in zip(repeats.place, repeats.number, strict=True)
            if repeats.object[i] == o and shares[i]
        ]
        return sorted(found, key=lambda reason: -abs(reason.value))

    def _parts(self, s: Tensor, p: Tensor | None, t: Tensor, each: int = 1) -> list[slice]:
        start, stop = self.links.own_range(arrays(s)[0])
        return chunks.slices_by(each * (stop - start), chunks.ENTRIES)

    def _sums(self, s: Tensor, p: Tensor, t: Tensor, asked: Tensor | None = None) -> tuple[Ints, Ints, Tensor]:
        """Rows, objects and their scores."""
        s_, p_, t_ = arrays(s, p, t)
        repeats = self._repeats(s_, p_, t_, np.full(len(s_), -1) if asked is None else arrays(asked)[0])
        values = looked_up(self.kernel.table(), p_[repeats.row], repeats.lag)
        keys, cell = numbered(repeats.row * self.sizes.entities + repeats.object)
        row, object = np.divmod(keys, self.sizes.entities)
        return row, object, add_up(values, cell, len(keys))

    def _repeats(self, s: Ints, p: Ints, t: Ints, asked: Ints) -> Repeats:
        links, E, lags = self.links, self.sizes.entities, self.lags
        where, undated = links.at(t)
        row, place = ranges(*links.window(*links.group(s, p), where, undated, self.options.cap))
        lag = links.lag(place, row, where, undated)
        keep = links.fact[place] != asked[row]
        if self.leave_out == "holding":
            keep = (lag != 0) & (lag != lags.undated_fact)
        row, place, lag = row[keep], place[keep], lag[keep]
        keys, number = numbered((row * E + links.object[place]) * lags.count + lag)
        pair, lag = np.divmod(keys, lags.count)
        return Repeats(pair // E, pair % E, lag, place, number)
