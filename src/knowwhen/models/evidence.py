"""Evidence: what single facts say about an answer, added to the score of the decomposition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from knowwhen.facts.index.history import History, Lags
from knowwhen.facts.index.ranges import numbered, ranges, spread
from knowwhen.facts.table import Facts, Ints
from knowwhen.models.algebra import Cells, as_complex, as_real, lookup
from knowwhen.models.kernels import CrossKernel, Entries, Kernel, LagKernel
from knowwhen.models.sizes import Sizes

INITIAL_SHARE = -3.0
OTHERS_STRENGTH, OTHERS_SCALE = 0.1, 2.0
TURNED_SCALE = 1e-2  # of embeddings
ENTRIES = 4 << 20  # facts that are looked at at once, whatever the number of queries
QUERIES = 1 << 20  # of curves along time, at once


@dataclass(frozen=True)
class EvidenceSettings:
    """What is looked at, and how finely."""

    lags: Lags
    width: int  # rank of the kernel, where it has one
    window: int = 0  # 0: any distance
    cap: int = 0  # 0: any number


@dataclass(frozen=True)
class Reason:
    """A fact of the history, and how much of a score it is."""

    fact: int  # its row in the facts that the history was made of
    lag: int  # its class
    value: float


class EvidenceTerm(nn.Module, ABC):
    """A part of the score that comes from single facts near a time, each weighed by a learned kernel.

    Facts that may be what is asked for weigh nothing: a training fact is so left out of its own history. Facts from the
    other side are those of inverse predicates.
    """

    name: ClassVar[str]  # in EVIDENCE and configurations
    by: ClassVar[Literal["subject", "predicate"]] = "subject"  # whose facts are looked at
    is_of_objects: ClassVar[bool]  # whether it speaks of single objects, or only turns the query

    def __init__(self, sizes: Sizes, dimension: int, is_complex: bool, settings: EvidenceSettings) -> None:
        """`dimension` is that of candidates, whose rows are views of complex ones or real."""
        super().__init__()
        self.sizes, self.dimension, self.is_complex, self.settings = sizes, dimension, is_complex, settings
        self.kernel = self.new_kernel(sizes, settings)
        self._history: History | None = None

    @staticmethod
    def new_kernel(sizes: Sizes, settings: EvidenceSettings) -> Kernel:
        return CrossKernel(sizes, settings.lags.count, settings.width)

    def initialise(self, generator: torch.Generator) -> None:
        self.kernel.initialise(generator)

    @property
    def history(self) -> History:
        assert self._history is not None, "evidence needs a history: term.recall(facts, positions)"
        return self._history

    def recall(self, facts: Facts, positions: Ints) -> None:
        """Takes the facts that are evidence from here on; positions are those of the timeline."""
        settings, sizes = self.settings, self.sizes
        reach, cap = settings.window or None, settings.cap or None
        self._history = History(
            facts, sizes.entities, sizes.predicates, positions, lags=settings.lags, window=reach, cap=cap, by=self.by
        )

    @abstractmethod
    def cells(self, s: Tensor, p: Tensor, t: Tensor) -> Cells | None:
        """What is added to single object scores."""

    @abstractmethod
    def shift(self, s: Tensor, p: Tensor, t: Tensor, candidates: Tensor) -> Tensor | None:  # (b, d)
        """What is added to queries, and so to all object scores."""

    @abstractmethod
    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor, candidates: Tensor) -> Tensor:  # (b,)
        """The term's part of X[s, p, o, t]."""

    def predicates(self, s: Tensor, o: Tensor, t: Tensor, candidates: Tensor) -> Tensor:  # (b, 2P)
        """The term's part of X[s, :, o, t], inverse predicates behind."""
        R = 2 * self.sizes.predicates
        each = [column.repeat_interleave(R) for column in (s, o, t)]
        p = torch.arange(R, device=s.device).repeat(len(s))
        return self.score(each[0], p, each[1], each[2], candidates).view(len(s), R)

    @abstractmethod
    def reasons(self, s: int, p: int, o: int, t: int, candidates: Tensor) -> list[Reason]:
        """The facts behind the term's part of X[s, p, o, t], each with its own part of it, largest first."""

    def factors(self, p: Tensor) -> list[Tensor]:
        """Rows that are penalised as the embeddings are."""
        return []

    def timestamps(self, s: Tensor, p: Tensor, o: Tensor, candidates: Tensor) -> Tensor:  # (b, T)
        """The term's part of X[s, p, o, :] along the time axis."""
        T, found = self.sizes.timestamps, [candidates.new_zeros(0, self.sizes.timestamps)]
        size = max(1, QUERIES // T)
        for part in (slice(start, start + size) for start in range(0, len(s), size)):
            each = [column[part].repeat_interleave(T) for column in (s, p, o)]
            t = torch.arange(T, device=s.device).repeat(len(s[part]))
            found.append(self.score(each[0], each[1], each[2], t, candidates).view(-1, T))
        return torch.cat(found)

    def _parts(self, s: Tensor, p: Tensor | None, t: Tensor, each: int = 1) -> list[slice]:
        """Rows of a batch whose facts, `each` times, are looked at together: about ENTRIES of them, or one row's."""
        s_, p_, t_ = _arrays(s, s if p is None else p, t)  # None: the subject's own facts, whatever the predicate
        counts = each * self.history.counts(self._owner(s_, p_), t_)
        group = (np.cumsum(counts) - counts) // ENTRIES
        edges = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), len(s)]
        return [slice(*ends) for ends in pairwise(edges)]

    def _owner(self, s: Ints, p: Ints) -> Ints:
        """Whose facts are looked at."""
        return s if self.by == "subject" else p

    def _entries(self, s: Ints, p: Ints, t: Ints) -> Entries:
        row, place = self.history.around(self._owner(s, p), t)
        lag = self.history.lag(row, place, t)
        return Entries(row, place, lag, self.history.is_left_out(row, place, s, p, lag))

    def _weights(self, entries: Entries, p: Tensor) -> Tensor:  # (n,)
        return self.kernel.weights(self.history, entries, p)

    def _cells(self, entries: Entries, owner: Ints) -> tuple[Ints, Ints, Ints]:
        """The cell of each entry, and the row and object of each cell.

        A cell is an object in the history of the row's owner. Where these are far more than the entries, as within a
        narrow window, only those that occur are cells.
        """
        history = self.history
        start, stop = history.partner_start[owner], history.partner_stop[owner]
        if (stop - start).sum() <= 4 * len(entries.row) + 1024:
            cell_row, partner = ranges(start, stop)
            base = (np.cumsum(stop - start) - (stop - start)).astype(np.int32)
            cell = spread(base, entries.row) + history.partner_number[entries.place]
            return cell, cell_row, history.partner[partner].astype(np.int64)
        pairs, cell = numbered(entries.row * history.entities + history.object[entries.place])
        return cell, pairs // history.entities, pairs % history.entities

    def _reasons(self, entries: Entries, values: Tensor) -> list[Reason]:
        """Entries as reasons; those without a value are none."""
        facts, lags = self.history.fact[entries.place].tolist(), entries.lag.tolist()
        found = [Reason(*one) for one in zip(facts, lags, values.tolist(), strict=True) if one[2]]
        return sorted(found, key=lambda reason: -abs(reason.value))


class HistoryTerm(EvidenceTerm):
    """What facts say about the object itself.

    H[s, p, o, t] = a_p log(1 + W_o / (e_p + c_p Σ_x W_x))    W_o: the weight of all facts with object o

    So a fact counts less where there are many, and those who are in none are left a chance.
    """

    is_of_objects = True

    def __init__(self, sizes: Sizes, dimension: int, is_complex: bool, settings: EvidenceSettings) -> None:
        super().__init__(sizes, dimension, is_complex, settings)
        self.strength, self.scale, self.share = (  # a, log e, log c
            nn.Parameter(torch.empty(2 * sizes.predicates)) for _ in range(3)
        )

    def initialise(self, generator: torch.Generator) -> None:
        """A score begins as the logarithm of a count, or of a share where the counts are high."""
        super().initialise(generator)
        with torch.no_grad():
            self.strength.fill_(1)
            self.scale.fill_(0)
            self.share.fill_(INITIAL_SHARE)

    def cells(self, s: Tensor, p: Tensor, t: Tensor) -> Cells:
        """H[s, p, :, t] where it is not zero."""
        found = []
        for part in self._parts(s, p, t):
            rows, objects, values = self._part_cells(s[part], p[part], t[part])
            found.append((rows + part.start, objects, values))
        rows, objects, values = (torch.cat(columns) for columns in zip(*found, strict=True))
        return rows, objects, values

    def _part_cells(self, s: Tensor, p: Tensor, t: Tensor) -> Cells:
        s_, p_, t_ = _arrays(s, p, t)
        entries = self._entries(s_, p_, t_)
        cell, cell_row, cell_object = self._cells(entries, self._owner(s_, p_))
        weights = self._weights(entries, p)
        rows, objects = (torch.from_numpy(ids).to(p.device) for ids in (cell_row, cell_object))
        sums = _add_up(weights, cell, len(cell_row))
        total = sums.new_zeros(len(s)).index_add(0, rows, sums).index_select(0, rows)
        return rows, objects, self._value(sums, total, p.index_select(0, rows))

    def shift(self, s: Tensor, p: Tensor, t: Tensor, candidates: Tensor) -> None:
        return None

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor, candidates: Tensor) -> Tensor:
        return torch.cat([self._part_score(*(ids[part] for ids in (s, p, o, t))) for part in self._parts(s, p, t)])

    def _part_score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        entries, weights, own = self._weighed(s, p, o, t)
        return self._value(_add_up(weights * own, entries.row, len(s)), _add_up(weights, entries.row, len(s)), p)

    @torch.no_grad()
    def reasons(self, s: int, p: int, o: int, t: int, candidates: Tensor) -> list[Reason]:
        query = [torch.tensor([i], device=self.strength.device) for i in (s, p, o, t)]
        entries, weights, own = self._weighed(query[0], query[1], query[2], query[3])
        weights = weights.double() * own
        if not weights.sum() > 0:  # nothing but what is asked for
            return []
        total = self.score(query[0], query[1], query[2], query[3], candidates).double()
        return self._reasons(entries, weights / weights.sum() * total)

    def _weighed(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> tuple[Entries, Tensor, Tensor]:
        """All facts near times, their weights, and which are about the objects."""
        s_, p_, o_, t_ = _arrays(s, p, o, t)
        entries = self._entries(s_, p_, t_)
        own = torch.from_numpy(self.history.object[entries.place] == o_[entries.row])
        return entries, self._weights(entries, p), own.to(p.device)

    def _value(self, sums: Tensor, total: Tensor, p: Tensor) -> Tensor:
        """a_p log(1 + sums / (e_p + c_p total))."""
        scale, share, strength = (x.index_select(0, p) for x in (self.scale.exp(), self.share.exp(), self.strength))
        return strength * torch.log1p(sums / (scale + share * total))


class PairHistory(HistoryTerm):
    """What the facts (s, p', o, t') about subject and object near a time say about another predicate between them."""

    name = "pair_history"

    def predicates(self, s: Tensor, o: Tensor, t: Tensor, candidates: Tensor) -> Tensor:
        """All predicates look at the same facts: these are gathered once."""
        R, (s_, o_, t_), found = 2 * self.sizes.predicates, _arrays(s, o, t), []
        every, history = torch.arange(R, device=s.device), self.history
        assert isinstance(self.kernel, CrossKernel)
        for part in self._parts(s, None, t, each=R):
            row, place = history.around(s_[part], t_[part])
            lag, rows = history.lag(row, place, t_[part]), len(s_[part])
            left_out = history.is_left_out(row, place, s_[part], None, lag)
            weights = self.kernel.weights_of_all(history, Entries(row, place, lag, left_out))
            own = torch.from_numpy(history.object[place] == o_[part][row]).to(s.device)
            sums, total = (_add_up(w, row, rows) for w in (weights * own[:, None], weights))
            found.append(self._value(sums, total, every))
        return torch.cat(found)


class PredicateHistory(HistoryTerm):
    """What others do under the same predicate near a time: facts (x, p, o, t') with x other than s."""

    name = "predicate_history"
    by = "predicate"

    @staticmethod
    def new_kernel(sizes: Sizes, settings: EvidenceSettings) -> Kernel:
        return LagKernel(sizes, settings.lags.count)

    def initialise(self, generator: torch.Generator) -> None:
        """It begins small: what others do is less than what is known of the subject."""
        super().initialise(generator)
        with torch.no_grad():
            self.strength.fill_(OTHERS_STRENGTH)
            self.scale.fill_(OTHERS_SCALE)


class Context(EvidenceTerm):
    """What the subject has to do with others near a time: it turns the query towards those who are near them.

    C[s, p, o, t] = ⟨m_p ⊙ c, ū_o⟩    c = Σ weight · u_x / (1 + Σ weight) over the facts (s, p', x, t')

    u is the table of candidates; products are complex where its rows are.
    """

    name = "context"
    is_of_objects = False

    def __init__(self, sizes: Sizes, dimension: int, is_complex: bool, settings: EvidenceSettings) -> None:
        super().__init__(sizes, dimension, is_complex, settings)
        self.turned = nn.Parameter(torch.empty(2 * sizes.predicates, dimension))  # m

    def initialise(self, generator: torch.Generator) -> None:
        super().initialise(generator)
        with torch.no_grad():
            self.turned.copy_(torch.randn(self.turned.shape, generator=generator) * TURNED_SCALE)

    def cells(self, s: Tensor, p: Tensor, t: Tensor) -> None:
        return None

    def shift(self, s: Tensor, p: Tensor, t: Tensor, candidates: Tensor) -> Tensor:
        """m_p ⊙ c of each query."""
        parts = self._parts(s, p, t)
        return torch.cat([self._part_shift(s[part], p[part], t[part], candidates) for part in parts])

    def _part_shift(self, s: Tensor, p: Tensor, t: Tensor, candidates: Tensor) -> Tensor:
        s_, p_, t_ = _arrays(s, p, t)
        entries = self._entries(s_, p_, t_)
        cell, cell_row, cell_object = self._cells(entries, self._owner(s_, p_))
        sums = _add_up(self._weights(entries, p), cell, len(cell_row))
        rows, objects = (torch.from_numpy(ids).to(p.device) for ids in (cell_row, cell_object))
        some = sums.detach().nonzero()[:, 0]  # most partners are not near
        sums, rows, objects = (column.index_select(0, some) for column in (sums, rows, objects))
        total = sums.new_zeros(len(s)).index_add(0, rows, sums)
        shares = sums / (1 + total).index_select(0, rows)
        # context[i] = Σ shares · candidates[objects] over row i, in a fifth of the time of index_add
        first = torch.searchsorted(rows, torch.arange(len(s), device=rows.device))
        context = embedding_bag(objects, candidates, first, mode="sum", per_sample_weights=shares)
        return self._turn(p, context)

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor, candidates: Tensor) -> Tensor:
        return (self.shift(s, p, t, candidates) * lookup(candidates, o)).sum(-1)

    @torch.no_grad()
    def reasons(self, s: int, p: int, o: int, t: int, candidates: Tensor) -> list[Reason]:
        query = [torch.tensor([i], device=self.turned.device) for i in (s, p, t)]
        s_, p_, t_ = _arrays(*query)
        entries = self._entries(s_, p_, t_)
        weights = self._weights(entries, query[1])
        met = torch.from_numpy(self.history.object[entries.place]).to(weights.device)
        turned = self._turn(query[1].expand(len(met)), candidates[met])  # (n, d)
        return self._reasons(entries, weights / (1 + weights.sum()) * (turned @ candidates[o]))

    def factors(self, p: Tensor) -> list[Tensor]:
        rows = lookup(self.turned, p)
        return [as_complex(rows) if self.is_complex else rows]

    def _turn(self, p: Tensor, rows: Tensor) -> Tensor:  # (b, d)
        """m_p ⊙ rows."""
        turned = lookup(self.turned, p)
        return as_real(as_complex(turned) * as_complex(rows)) if self.is_complex else turned * rows


EVIDENCE: dict[str, type[EvidenceTerm]] = {term.name: term for term in (PairHistory, PredicateHistory, Context)}


def _add_up(weights: Tensor, cell: Ints, count: int) -> Tensor:  # (n, …) -> (count, …)
    index = torch.from_numpy(cell).to(weights.device)
    return weights.new_zeros(count, *weights.shape[1:]).index_add(0, index, weights)


def _arrays(*ids: Tensor) -> tuple[Ints, ...]:
    return tuple(column.cpu().numpy() for column in ids)
