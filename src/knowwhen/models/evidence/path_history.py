"""Evidence from entities alike: what those do who share a neighbour with the subject."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from knowwhen import chunks
from knowwhen.facts.index.links import COUNTS, OVERLAPS, Links, count_class
from knowwhen.facts.index.ranges import numbered, ranges
from knowwhen.facts.table import Ints
from knowwhen.models.evidence.base import LagOptions, Reason, add_up, arrays
from knowwhen.models.evidence.classes import YEARS, ByClass, looked_up, taken
from knowwhen.models.evidence.history_term import HistoryTerm
from knowwhen.models.registry import register_evidence
from knowwhen.models.scores import Cells
from knowwhen.models.sizes import Sizes

HALF_AN_OCTAVE = -0.5 * float(np.log(2))  # per class of counts: one of n facts weighs 1/√n at first
INITIAL_SCALE = 1.0


class PathHistoryOptions(LagOptions):
    lags: tuple[int, ...] = Field(YEARS, min_length=1, description="Upper bounds of the lag classes, before and after.")
    near: int = Field(
        64, ge=0, description="Maximum facts of the subject to start paths from, nearest in time first; 0: no limit."
    )
    hub: int = Field(
        200,
        ge=0,
        description="Maximum facts of a neighbour to continue paths with, nearest in time first; 0: no limit.",
    )
    cap: int = Field(
        32,
        ge=0,
        description="Maximum facts of a similar entity under the predicate, nearest in time first; 0: no limit.",
    )


class PathKernel(nn.Module):
    """The weights of the two halves of a path, by class, for each asked predicate."""

    def __init__(self, predicates: int, lags: int) -> None:
        super().__init__()
        sizes = {"link": predicates, "lag": lags, "other_lag": lags, "overlap": OVERLAPS, "degree": COUNTS}
        self.first = nn.ModuleDict({name: ByClass(predicates, size) for name, size in sizes.items()})
        sizes = {"lag": lags, "facts": COUNTS, "popularity": COUNTS, "onward": lags**2, "back": lags**2}
        self.last = nn.ModuleDict({name: ByClass(predicates, size) for name, size in sizes.items()})

    def initialise(self, generator: torch.Generator) -> None:
        for half in (self.first, self.last):
            for name, table in half.items():
                assert isinstance(table, ByClass)
                rare = name in ("degree", "facts")
                table.initialise(HALF_AN_OCTAVE * torch.arange(COUNTS) if rare else 0.0)

    def tables(self) -> dict[str, Tensor]:  # (R, classes) each
        """What is looked up together is one table, so that it is looked up once."""
        first, last = ({name: table.table() for name, table in half.items()} for half in (self.first, self.last))  # type: ignore[operator]
        lags = last["lag"].shape[1]
        return {
            "link": first["link"],
            "lag": first["lag"],
            "degree": first["degree"],
            "shared": _outer(first["other_lag"], first["overlap"]),
            "facts": last["facts"],
            "onward": last["onward"],
            "back": last["back"] + last["lag"].repeat_interleave(lags, dim=1),
            "popularity": last["popularity"],
        }


class Paths(NamedTuple):
    """Paths s –r– a –r– x –p– o of the questions of a batch, in order of these."""

    row: Ints
    object: Ints
    facts: tuple[Ints, Ints, Ints]  # the places of s –r– a, a –r– x and x –p– o in the links: the first two by half
    half: Ints  # the path's s –r– a –r– x
    lag: Ints  # the class of x –p– o
    weights: Tensor  # without the popularity of o


@register_evidence
class PathHistory(HistoryTerm):
    """What those do under the asked predicate who share a neighbour with the subject.

    W_o = Σ over paths s –r– a –r– x –p– o, x ≠ s, of w₁(s –r– a –r– x) w₂(x –p– o)
    log w₁ = K[r] + K[lag of s –r– a] + K[lag of x –r– a] + K[overlap of both] + K[⌊log₂ facts of a under r⌋]
    log w₂ = K[lag of x –p– o] + K[⌊log₂ facts of x under p⌋] + K[⌊log₂ facts of o under p, those of s left out⌋]
           + K[lag of s –r– a, step from x –r– a to x –p– o] + K[lag of x –p– o, step from x –r– a to s –r– a]

    A step is how much later one fact begins than the other. The last two compare careers: as x came from a to o, so
    may s; as a came from x to s, so may o. Each K has a row for the asked predicate, and one for all. The asked
    training fact is in no path and no count.
    """

    name = "path_history"
    Options: ClassVar[type[LagOptions]] = PathHistoryOptions

    def __init__(self, sizes: Sizes, dimension: int, is_complex: bool, options: Any = None) -> None:
        super().__init__(sizes, dimension, is_complex, options)
        self._links: Links | None = None

    def new_kernel(self) -> nn.Module:
        return PathKernel(2 * self.sizes.predicates, self.lags.count)

    def initialise(self, generator: torch.Generator) -> None:
        super().initialise(generator)
        with torch.no_grad():
            self.scale.fill_(INITIAL_SCALE)

    @property
    def links(self) -> Links:
        if self._links is None:
            self._links = self.indexed(Links)
        return self._links

    def forget(self) -> None:
        self._links = None

    def _parts(self, s: Tensor, p: Tensor | None, t: Tensor, each: int = 1) -> list[slice]:
        """Rows of a batch whose paths are followed together."""
        options = self.options
        first, last = self.links.siblings
        if not len(first):
            return [slice(0, len(s))]
        counts = np.minimum(last - first, options.hub) if options.hub else last - first
        total = np.concatenate([[0], np.cumsum(counts)])
        start, stop = self.links.own_range(arrays(s)[0])
        most = chunks.ENTRIES // max(1, options.cap or 256)
        return chunks.slices_by(each * (total[stop] - total[start]), max(1, most))

    def _part_cells(self, s: Tensor, p: Tensor, t: Tensor, asked: Tensor | None) -> Cells:
        row, object, sums = self._sums(self._paths(s, p, t, asked), s, p)
        rows, objects = (torch.from_numpy(ids).to(p.device) for ids in (row, object))
        total = sums.new_zeros(len(s)).index_add(0, rows, sums).index_select(0, rows)
        return Cells(rows, objects, self._value(sums, total, p.index_select(0, rows)))

    def _part_score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:
        row, object, sums = self._sums(self._paths(s, p, t, None), s, p)
        own = torch.from_numpy(object == arrays(o)[0][row]).to(p.device)
        return self._value(add_up(sums * own, row, len(s)), add_up(sums, row, len(s)), p)

    def _sums(self, paths: Paths, s: Tensor, p: Tensor) -> tuple[Ints, Ints, Tensor]:
        """Rows, objects, and the weight W of each. What o alone decides is looked up once, not for every path."""
        keys, cell = numbered(paths.row * self.sizes.entities + paths.object)
        row, object = np.divmod(keys, self.sizes.entities)
        s_, p_ = arrays(s, p)
        others = count_class(self._others(s_[row], p_[row], object))
        popularity = looked_up(self.kernel.tables()["popularity"], p_[row], others)
        return row, object, add_up(paths.weights, cell, len(keys)) * popularity.exp()

    def _paths(self, s: Tensor, p: Tensor, t: Tensor, asked: Tensor | None) -> Paths:
        links, options, tables, lags = self.links, self.options, self.kernel.tables(), self.lags.count
        s_, p_, t_ = arrays(s, p, t)
        asked_ = np.full(len(s_), -1) if asked is None else arrays(asked)[0]
        where, undated = links.at(t_)
        # s –r– a
        row, place = links.near(s_, where, undated, options.near)
        keep = (links.object[place] != s_[row]) & (links.fact[place] != asked_[row])
        row, place = row[keep], place[keep]
        start, stop = links.siblings[0][place], links.siblings[1][place]
        degree = stop - start - self._asked_among(start, stop, asked_[row])
        link, first_lag = links.predicate[place], links.lag(place, row, where, undated)
        first = looked_up(tables["link"], p_[row], link) + looked_up(tables["lag"], p_[row], first_lag)
        first = first + looked_up(tables["degree"], p_[row], count_class(degree))
        # a –r– x
        begun, back = ranges(*links.window(start, stop, where[row], undated[row], options.hub))
        second, x = row[begun], links.object[back].astype(np.int64)
        from_, to = links.group(x, p_[second])
        keep = (x != s_[second]) & (from_ < to)
        if asked is not None:
            keep &= links.fact[back] != asked_[second]
        begun, back, second, from_, to = (ids[keep] for ids in (begun, back, second, from_, to))
        began, asked_p = place[begun], p_[second]
        classes = links.lag(back, second, where, undated) * OVERLAPS + links.overlap(began, back)
        halves = first.index_select(0, torch.from_numpy(begun).to(p.device))
        halves = halves + looked_up(tables["shared"], asked_p, classes)
        halves = halves + looked_up(tables["facts"], asked_p, count_class(to - from_))
        # x –p– o: what is known by half, as is the row of a table, is made before there are as many as paths
        half, last = ranges(*links.window(from_, to, where[second], undated[second], options.cap))
        onward = (asked_p * lags + first_lag[begun]) * lags
        came = asked_p * lags**2 + links.step(back, began)
        third = second[half]
        lag = links.lag(last, third, where, undated)
        weights = halves.index_select(0, torch.from_numpy(half).to(p.device))
        weights = weights + taken(tables["onward"], onward[half] + links.step(back, last, half))
        weights = (weights + taken(tables["back"], came[half] + lag * lags)).exp()
        return Paths(third, links.object[last].astype(np.int64), (began, back, last), half, lag, weights)

    def _asked_among(self, start: Ints, stop: Ints, asked: Ints) -> Ints:
        """1 where the asked fact is among those of a group, else 0."""
        places = self.links.places_of
        if not (asked >= 0).any():
            return np.zeros(len(start), np.int64)
        found = np.zeros(len(start), np.bool_)
        for side in (0, 1):
            place = np.where(asked >= 0, places[side][asked], -1)
            found |= (start <= place) & (place < stop)
        return found.astype(np.int64)

    def _others(self, s: Ints, p: Ints, o: Ints) -> Ints:
        """How many facts o has under p with others than s."""
        links = self.links
        start, stop = links.group(o, links.inverse(p))
        return np.asarray(stop - start - links.between(s, p, o))

    @torch.no_grad()
    def reasons(self, s: int, p: int, o: int, t: int, rows: Tensor) -> list[Reason]:
        """Every path by itself: its last fact, and those that lead to it."""
        query = [torch.tensor([i], device=self.strength.device) for i in (s, p, t)]
        paths = self._paths(query[0], query[1], query[2], None)
        own = np.flatnonzero(paths.object == o)
        if not len(own):
            return []
        _, object, sums = self._sums(paths, query[0], query[1])
        score = self._value(sums.double()[object == o], sums.double().sum()[None], query[1]).item()
        weights = paths.weights.double().cpu().numpy()[own]
        first, second, last = paths.facts
        places = (first[paths.half[own]], second[paths.half[own]], last[own])
        facts = np.stack([self.links.fact[place] for place in places], axis=1)
        found = [
            Reason(last, lag, value, (first, second))
            for (first, second, last), lag, value in zip(
                facts.tolist(), paths.lag[own].tolist(), (score * weights / weights.sum()).tolist(), strict=True
            )
            if value
        ]
        return sorted(found, key=lambda reason: -abs(reason.value))


def _outer(one: Tensor, other: Tensor) -> Tensor:  # (R, m), (R, n) -> (R, m * n)
    return (one[:, :, None] + other[:, None, :]).flatten(1)
