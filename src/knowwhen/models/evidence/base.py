"""What all evidence terms share: facts near a time, each weighted by a learned kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import torch
from pydantic import Field, field_validator
from torch import Tensor, nn

from knowwhen import chunks
from knowwhen.distributed.shard import current
from knowwhen.facts.index.history import History, Lags
from knowwhen.facts.index.ranges import numbered, ranges, spread
from knowwhen.facts.table import Ints
from knowwhen.models.base import Options
from knowwhen.models.evidence.kernels import CrossKernel, Entries
from knowwhen.models.memory import keep_pages
from knowwhen.models.scores import Cells, Product, Sparse
from knowwhen.models.sizes import Background, Sizes

Index = TypeVar("Index")
LeaveOut = Literal["holding", "itself"]
"""Which facts are no evidence because they may be what is asked for."""
CURVES = 1 << 20  # questions of curves along time, at once


class LagOptions(Options):
    """How finely a term looks at time."""

    lags: tuple[int, ...] = Field(
        (1, 3, 7, 15, 30, 90), min_length=1, description="Upper bounds of the lag classes, before and after."
    )

    @field_validator("lags")
    @classmethod
    def _increase(cls, lags: tuple[int, ...]) -> tuple[int, ...]:
        return Lags(lags).edges  # an error before a run is begun with them


class EvidenceOptions(LagOptions):
    """Which facts a term looks at, and how finely."""

    window: int = Field(0, ge=0, description="Ignore facts further away, in units of the time axis; 0: use all.")
    cap: int = Field(
        5000, ge=0, description="Maximum facts per question; busy entities get a shorter window; 0: no limit."
    )


@dataclass(frozen=True)
class Reason:
    """A fact of the history, and how much of a score it is."""

    fact: int  # its row in the facts that the history was made of
    lag: int  # its class
    value: float
    path: tuple[int, ...] = ()  # the rows of the facts that lead to it, from the subject on


class EvidenceTerm(nn.Module, ABC):
    """A part of the score that comes from single facts near a time.

    Facts that may be what is asked for weigh nothing: so a training fact is left out of its own evidence. By the rule
    "holding" these are all facts of subject and predicate that hold at the asked time; by the rule "itself" it is the
    asked fact alone, `asked` being its row in the facts recalled, and without `asked` nothing is left out. Facts from
    the other side are those of inverse predicates. `rows` (E, d) are the decomposition's rows of entities.
    """

    name: ClassVar[str]
    by: ClassVar[Literal["subject", "predicate"]] = "subject"  # whose facts are looked at
    is_sparse: ClassVar[bool]  # whether it scores single objects, of which it names the few it speaks of
    shifts: ClassVar[bool] = False  # whether it shifts the query of the decomposition
    Options: ClassVar[type[LagOptions]] = EvidenceOptions
    leave_out: LeaveOut = "holding"

    def __init__(self, sizes: Sizes, dimension: int, is_complex: bool, options: Any = None) -> None:
        """`dimension` is that of `rows`, which are views of complex numbers or real."""
        super().__init__()
        self.sizes, self.dimension, self.is_complex = sizes, dimension, is_complex
        self.options: Any = options or type(self).Options.model_validate({})
        self.lags = Lags(self.options.lags)
        self.kernel: Any = self.new_kernel()
        self.shard = current()
        self._background: Background | None = None
        self._history: History | None = None

    def new_kernel(self) -> nn.Module:
        return CrossKernel(self.sizes, self.lags.count, self.options.width)

    def initialise(self, generator: torch.Generator) -> None:
        self.kernel.initialise(generator)

    def recall(self, background: Background) -> None:
        """Takes the facts that are evidence from here on; they are indexed when they are first looked at."""
        self._background, self._history = background, None
        self.forget()

    def forget(self) -> None:
        """Drops what was made of the facts before."""

    def indexed(self, index: type[Index], **options: Any) -> Index:
        """An index of the facts recalled."""
        assert self._background is not None, "evidence needs facts: term.recall(background)"
        keep_pages()
        sizes, facts, positions = self.sizes, self._background.facts, self._background.positions
        return index(facts, sizes.entities, sizes.predicates, positions, lags=self.lags, **options)  # type: ignore[call-arg]

    @property
    def history(self) -> History:
        if self._history is None:
            window, cap = self.options.window or None, self.options.cap or None
            self._history = self.indexed(History, window=window, cap=cap, by=self.by)
        return self._history

    @abstractmethod
    def objects(
        self, s: Tensor, p: Tensor, t: Tensor, rows: Tensor, asked: Tensor | None = None
    ) -> Cells | Product | Sparse:
        """The term's contribution to X[s, p, :, t]: single cells, a product with `rows` that shifts the query, or both.

        `asked` (b,) are the rows of the training facts that are asked for.
        """

    @abstractmethod
    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor, rows: Tensor) -> Tensor:  # (b,)
        """The term's contribution to X[s, p, o, t]."""

    @abstractmethod
    def reasons(self, s: int, p: int, o: int, t: int, rows: Tensor) -> list[Reason]:
        """The facts behind the term's contribution to X[s, p, o, t], each with its share of it, largest first."""

    def predicates(self, s: Tensor, o: Tensor, t: Tensor, rows: Tensor) -> Tensor:  # (b, 2P)
        """The term's contribution to X[s, :, o, t], inverse predicates last."""
        R = 2 * self.sizes.predicates
        each = [column.repeat_interleave(R) for column in (s, o, t)]
        p = torch.arange(R, device=s.device).repeat(len(s))
        return self.score(each[0], p, each[1], each[2], rows).view(len(s), R)

    def times(self, s: Tensor, p: Tensor, o: Tensor, rows: Tensor) -> Tensor:  # (b, T)
        """The term's contribution to X[s, p, o, :] along the time axis."""
        T, found = self.sizes.timestamps, [rows.new_zeros(0, self.sizes.timestamps)]
        for part in chunks.slices(len(s), max(1, CURVES // T)):
            each = [column[part].repeat_interleave(T) for column in (s, p, o)]
            t = torch.arange(T, device=s.device).repeat(len(s[part]))
            found.append(self.score(each[0], each[1], each[2], t, rows).view(-1, T))
        return torch.cat(found)

    def factors(self, p: Tensor) -> list[Tensor]:
        """Rows that are penalised as the embeddings are."""
        return []

    def gathering(self) -> Iterator[nn.Parameter]:
        """Parameters that weigh facts: where processes share the questions, each has a part of their gradients."""
        return self.parameters()

    def _parts(self, s: Tensor, p: Tensor | None, t: Tensor, each: int = 1) -> list[slice]:
        """Rows of a batch whose facts, `each` times, are looked at together."""
        s_, p_, t_ = arrays(s, s if p is None else p, t)  # None: the subject's own facts, whatever the predicate
        return chunks.slices_by(each * self.history.counts(self._owner(s_, p_), t_), chunks.ENTRIES)

    def _owner(self, s: Ints, p: Ints) -> Ints:
        """Whose facts are looked at."""
        return s if self.by == "subject" else p

    def _entries(self, s: Ints, p: Ints, t: Ints, asked: Tensor | None = None) -> Entries:
        row, place = self.history.around(self._owner(s, p), t)
        lag = self.history.lag(row, place, t)
        if self.leave_out == "holding" or self.by == "predicate":  # by predicate, all facts of the subject are left out
            return Entries(row, place, lag, self.history.is_left_out(row, place, s, p, lag))
        if asked is None:
            return Entries(row, place, lag, np.zeros(len(row), np.bool_))
        return Entries(row, place, lag, self.history.fact[place] == spread(arrays(asked)[0], row))

    def _weights(self, entries: Entries, p: Tensor) -> Tensor:  # (n,)
        weights: Tensor = self.kernel.weights(self.history, entries, p)
        return weights

    def _cells(self, entries: Entries, owner: Ints) -> tuple[Ints, Ints, Ints]:
        """The cell of each entry, and the row and object of each cell.

        A cell is an object in the history of the row's owner. Where these are far more than the entries, as within a
        narrow window, only those that occur are cells.
        """
        history = self.history
        start, stop = history.partner_start[owner], history.partner_stop[owner]
        if (stop - start).sum() <= 4 * len(entries.row) + 1024:
            cell_row, partner = ranges(start, stop)
            base = ((stop - start).cumsum() - (stop - start)).astype("int32")
            cell = spread(base, entries.row) + history.partner_number[entries.place]
            return cell, cell_row, history.partner[partner].astype("int64")
        pairs, cell = numbered(entries.row * history.entities + history.object[entries.place])
        return cell, pairs // history.entities, pairs % history.entities

    def _reasons(self, entries: Entries, values: Tensor) -> list[Reason]:
        """Entries as reasons; those without a value are none."""
        facts, lags = self.history.fact[entries.place].tolist(), entries.lag.tolist()
        found = [Reason(*one) for one in zip(facts, lags, values.tolist(), strict=True) if one[2]]
        return sorted(found, key=lambda reason: -abs(reason.value))


def add_up(weights: Tensor, cell: Ints, count: int) -> Tensor:  # (n, …) -> (count, …)
    index = torch.from_numpy(cell).to(weights.device)
    return weights.new_zeros(count, *weights.shape[1:]).index_add(0, index, weights)


def arrays(*ids: Tensor) -> tuple[Ints, ...]:
    return tuple(column.cpu().numpy() for column in ids)
