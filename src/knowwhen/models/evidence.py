"""Evidence: what single facts say about an answer, added to the score of the decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from knowwhen.facts.history import History, Lags
from knowwhen.facts.ranges import ranges
from knowwhen.facts.table import Facts, Ints
from knowwhen.models.algebra import Cells
from knowwhen.models.sizes import Sizes

INITIAL_SCALE = 0.1
ENTRIES = 4 << 20  # facts times timestamps that are looked at at once
TABLE = 32 << 20  # kernel values that are made for all lags and predicates at once


class Entries(NamedTuple):
    """Facts that are looked at for the queries of a batch: fact `place` for query `row`, at the query's time."""

    row: Ints
    place: Ints
    lag: Ints
    asked: np.ndarray[tuple[int], np.dtype[np.bool_]]  # the fact may be what is asked for, so it says nothing


@dataclass(frozen=True)
class EvidenceSettings:
    """What is looked at, and how finely."""

    lags: Lags
    width: int  # rank of the kernel
    window: int = 0  # 0: any distance
    cap: int = 0  # 0: any number

    def history(self, facts: Facts, sizes: Sizes, positions: Ints) -> History:
        """The index of facts that these settings ask for; positions are those of the timeline."""
        reach, cap = self.window or None, self.cap or None
        return History(facts, sizes.entities, sizes.predicates, positions, lags=self.lags, window=reach, cap=cap)


@dataclass(frozen=True)
class Reason:
    """A fact of the history, and how much of a score it is."""

    fact: int  # its row in the facts that the history was made of
    lag: int  # its class
    value: float


class PairHistory(nn.Module):
    """What the facts about subject and object near a time say about another predicate between them.

    H[s, p, o, t] = a_p log(1 + 1/e_p Σ exp K[lag(t' − t), p', p])    over the other facts (s, p', o, t')

    K[lag, p', p] = ⟨U[lag, p'], V[p]⟩ is of low rank. Facts with the asked predicate that hold at t are never evidence:
    a training fact is so left out of its own history. Facts from the other side are those of inverse predicates.
    """

    name: ClassVar[str] = "pair_history"

    def __init__(self, sizes: Sizes, settings: EvidenceSettings) -> None:
        super().__init__()
        self.sizes, self.settings = sizes, settings
        R, lags, width = 2 * sizes.predicates, settings.lags, settings.width
        self.lagged = nn.Parameter(torch.empty(lags.count * R, width))  # U
        self.asked = nn.Parameter(torch.empty(R, width))  # V
        self.strength = nn.Parameter(torch.empty(R))  # a
        self.scale = nn.Parameter(torch.empty(R))  # log e
        self._history: History | None = None

    def initialise(self, generator: torch.Generator) -> None:
        """Every fact counts about 1 at first, so that a score begins as the logarithm of a count."""
        with torch.no_grad():
            for table in (self.lagged, self.asked):
                table.copy_(torch.randn(table.shape, generator=generator) * INITIAL_SCALE)
            self.strength.fill_(1)
            self.scale.fill_(0)

    @property
    def history(self) -> History:
        assert self._history is not None, "evidence needs a history: model.recall(history)"
        return self._history

    def recall(self, history: History) -> None:
        """Takes the facts that are evidence from here on."""
        assert history.lags == self.settings.lags
        self._history = history

    def objects(self, s: Tensor, p: Tensor, t: Tensor) -> Cells:
        """H[s, p, :, t] where it is not zero."""
        history, (s_, p_, t_) = self.history, _arrays(s, p, t)
        row, place = history.around(s_, t_)
        entries = self._entries(row, place, s_, p_, t_)
        cell, cell_row, cell_object = self._cells(entries, s_)
        sums = self._add_up(self._weights(entries, p), cell, len(cell_row))
        rows = torch.from_numpy(cell_row).to(p.device)
        return rows, torch.from_numpy(cell_object).to(p.device), self._value(sums, p.index_select(0, rows))

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b,)
        """H[s, p, o, t]."""
        s_, p_, o_, t_ = _arrays(s, p, o, t)
        entries = self._between(s_, p_, o_, t_)
        return self._value(self._add_up(self._weights(entries, p), entries.row, len(s)), p)

    def timestamps(self, s: Tensor, p: Tensor, o: Tensor) -> Tensor:  # (b, T)
        """H[s, p, o, :] along the time axis."""
        T, history, (s_, p_, o_) = self.sizes.timestamps, self.history, _arrays(s, p, o)
        row, place = history.between(s_, o_)
        sums = self.strength.new_zeros(len(s) * T)
        for some in range(0, len(row), max(1, ENTRIES // T)):
            part = slice(some, some + max(1, ENTRIES // T))
            rows, places = np.repeat(row[part], T), np.repeat(place[part], T)
            times = np.tile(np.arange(T), len(row[part]))
            near = history.sees(places, times)
            rows, places, times = rows[near], places[near], times[near]
            lag = history.lag(places, times)
            entries = Entries(rows, places, lag, history.is_asked(places, s_[rows], p_[rows], lag))
            sums = sums + self._add_up(self._weights(entries, p), rows * T + times, len(sums))
        return self._value(sums, p.repeat_interleave(T)).view(len(s), T)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b, 2P)
        """H[s, :, o, t], inverse predicates behind."""
        history, R, (s_, o_, t_) = self.history, 2 * self.sizes.predicates, _arrays(s, o, t)
        row, place = history.between(s_, o_)
        near = history.sees(place, t_[row])
        row, place = row[near], place[near]
        lag = history.lag(place, t_[row])
        known = torch.from_numpy(lag * R + history.predicate[place]).to(s.device)
        weights = (self.lagged.index_select(0, known) @ self.asked.mT).exp()  # (n, 2P)
        every = np.arange(R)
        asked = history.is_asked(place[:, None], s_[row][:, None], every, lag[:, None])
        weights = weights.masked_fill(torch.from_numpy(asked).to(s.device), 0)
        sums = weights.new_zeros(len(s), R).index_add(0, torch.from_numpy(row).to(s.device), weights)
        return self._value(sums, torch.arange(R, device=s.device))

    def reasons(self, s: int, p: int, o: int, t: int) -> list[Reason]:
        """The facts behind H[s, p, o, t], each with its part of it, largest first."""
        query = [torch.tensor([i], device=self.strength.device) for i in (s, p, o, t)]
        entries = self._between(*_arrays(*query))
        with torch.no_grad():
            weights = self._weights(entries, query[1]).double().cpu()
            total = float(self.score(*query))
        shares = weights / weights.sum() * total  # those that are asked for weigh nothing
        facts, lags = self.history.fact[entries.place].tolist(), entries.lag.tolist()
        found = [Reason(*one) for one in zip(facts, lags, shares.tolist(), strict=True) if one[2]]
        return sorted(found, key=lambda reason: -abs(reason.value))

    def _between(self, s: Ints, p: Ints, o: Ints, t: Ints) -> Entries:
        row, place = self.history.between(s, o)
        near = self.history.sees(place, t[row])
        return self._entries(row[near], place[near], s, p, t)

    def _entries(self, row: Ints, place: Ints, s: Ints, p: Ints, t: Ints) -> Entries:
        lag = self.history.lag(place, t[row])
        return Entries(row, place, lag, self.history.is_asked(place, s[row], p[row], lag))

    def _weights(self, entries: Entries, p: Tensor) -> Tensor:  # (n,)
        """exp K of each entry, 0 where it is what is asked for."""
        R, device = 2 * self.sizes.predicates, p.device
        known = entries.lag * R + self.history.predicate[entries.place]
        different, which = torch.unique(p, return_inverse=True)
        width = len(self.lagged) + 1  # the last is 0
        if len(different) * width <= TABLE:
            table = (self.asked.index_select(0, different) @ self.lagged.mT).exp()  # (different, L * R)
            table = torch.nn.functional.pad(table, (0, 1)).flatten()
            cell = np.where(entries.asked, width - 1, known) + (which.cpu().numpy() * width)[entries.row]
            return table.index_select(0, torch.from_numpy(cell).to(device))
        row = torch.from_numpy(entries.row).to(device)
        rows = self.lagged.index_select(0, torch.from_numpy(known).to(device)), self.asked.index_select(0, p[row])
        weights: Tensor = (rows[0] * rows[1]).sum(-1).exp()
        return weights.masked_fill(torch.from_numpy(entries.asked).to(device), 0)

    def _cells(self, entries: Entries, s: Ints) -> tuple[Ints, Ints, Ints]:
        """The cell of each entry, and the row and object of each cell.

        A cell is a partner of the row's subject. Where a subject's partners are far more than the entries, as within a
        narrow window, only those that occur are cells.
        """
        history = self.history
        start, stop = history.partner_start[s], history.partner_stop[s]
        if (stop - start).sum() <= 4 * len(entries.row) + 1024:
            cell_row, partner = ranges(start, stop)
            base = np.cumsum(stop - start) - (stop - start)
            cell = base[entries.row] + history.partner_number[entries.place]
            return cell, cell_row, history.partner[partner]
        pairs, cell = np.unique(entries.row * history.entities + history.object[entries.place], return_inverse=True)
        return cell, pairs // history.entities, pairs % history.entities

    def _add_up(self, weights: Tensor, cell: Ints, count: int) -> Tensor:  # (count,)
        return weights.new_zeros(count).index_add(0, torch.from_numpy(cell).to(weights.device), weights)

    def _value(self, sums: Tensor, p: Tensor) -> Tensor:
        """a_p log(1 + sums / e_p)."""
        return self.strength.index_select(0, p) * torch.log1p(sums * (-self.scale).exp().index_select(0, p))


def _arrays(*ids: Tensor) -> tuple[Ints, ...]:
    return tuple(column.cpu().numpy() for column in ids)
