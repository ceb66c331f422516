"""Scores of timestamps from the gaps to known dates: what each fact around a question says of when it begins or ends.

    X[t] = bias_p(t) + Σ_f weight_f Σ_anchors G[p, kind of f, anchor, context](class of t − anchor)
         + C[p, how many facts of the predicate hold, end and begin at t]            for begins
         + D[p](class of t − begin)                                                  for ends, given the begin

Anchors are the begin and the end of f; for ends also the begin plus the length of f. The context of an anchor is how f
stands in its series (for begins), or to the given begin (for ends). Along time a contribution is a step function, so a
fact costs one entry per class and a cumulative sum, not one per timestamp. Each G is a sum of four tables, from general
to special: of the kind alone, and of the pair of predicate and kind where training has enough of it; each for the
anchor in any context, and in this one.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from knowwhen.dating.neighbours import CAP, CONTEXTS, FAR, Around, Asked
from knowwhen.facts.table import Ints

UNITS = (1, 2, 3, 4, 5, 6, 8, 12, 17, 25, 40, 60, 100, 180, 365, 730, 1825, 3650)  # where classes of gaps begin
LEAST, MOST = 5, 4096  # a pair of predicate and kind has tables where training has so many of it; and so many pairs
RELATIONS = 7  # of the given begin to a fact: see `_relations`
COVER = 12  # at most two facts hold, one ends, one begins
IMPOSSIBLE = -1e9


def class_edges(span: int) -> Ints:
    """Where classes of gaps begin, on an axis that is so many units long: fine near 0, coarse far from it."""
    units = np.array([unit for unit in UNITS if unit <= max(span, 1)])
    return np.concatenate([-units[::-1], [0], units])


class GapHead(nn.Module):
    """Scores of all timestamps as the begin of facts, or, with `ends`, as their end given the begin.

    The last column of ends is that of facts without one.
    """

    def __init__(self, predicates: int, positions: Ints, pairs: Ints, *, ends: bool) -> None:
        super().__init__()
        self.predicates, self.kinds, self.ends = predicates, 8 * predicates, ends
        self.anchors, self.contexts = (3, RELATIONS) if ends else (2, CONTEXTS)
        edges = class_edges(int(positions[-1] - positions[0]) if len(positions) else 1)
        self.positions: Tensor
        self.edges: Tensor
        self.pairs: Tensor
        for name, values in (("positions", positions), ("edges", edges), ("pairs", pairs)):
            self.register_buffer(name, torch.from_numpy(np.array(values, np.int64)))
        self.classes, rows = len(edges) + 1, self.anchors * (self.contexts + 1)
        self.own = nn.Parameter(torch.zeros((len(pairs) + 1) * rows, self.classes))  # the last stands for no pair
        self.shared = nn.Parameter(torch.zeros(self.kinds * rows, self.classes))
        self.bias = nn.Parameter(torch.zeros(predicates, len(positions)))
        self.cover = nn.Parameter(torch.zeros(predicates * 2 * COVER * 3))
        if ends:
            self.length = nn.Parameter(torch.zeros(predicates, self.classes))
            self.open = nn.Parameter(torch.zeros(predicates, self.classes))

    def forward(self, p: Tensor, around: Facing, axis: Tensor, begin: Tensor | None = None) -> Tensor:
        """Scores (n, T), or (n, T + 1) of ends; `axis` (T,) are positions, `begin` (n,) ids on it."""
        given = None if begin is None else axis[begin]
        x = (
            self.bias[p][:, self._places(axis)]
            + self.along(p, around, axis, given).sum(1)
            + self._cover(p, around, axis, begin)
        )
        if begin is None or given is None:
            return x
        after = axis - given[:, None]
        x = x + self.length[p[:, None], torch.bucketize(after, self.edges, right=True)]
        still = self.open[p, torch.bucketize(axis[-1] - given, self.edges, right=True)]
        return torch.cat([x.masked_fill(after < 0, IMPOSSIBLE), still[:, None]], dim=1)

    def along(self, p: Tensor, around: Facing, axis: Tensor, given: Tensor | None, each: bool = False) -> Tensor:
        """What all facts around say of each timestamp, (n, 1, T); with `each`, every one for itself, (n, 2 CAP, T)."""
        anchors = [around.begin, around.end]
        if given is not None:
            known = (around.begin < FAR) & (around.end < FAR)
            anchors.append(torch.where(known, given[:, None] + around.end - around.begin, FAR))
        at = torch.stack(anchors, 2)  # (n, f, anchors)
        # Most places are empty: on two sides of CAP facts, the anchors that are there are about a third.
        n, f, _ = said = torch.nonzero(at < FAR, as_tuple=True)  # (m,) each
        values = self._values(p, around, given, said) * around.weight[n, f][:, None]  # (m, classes)
        steps = values[:, 1:] - values[:, :-1]
        place = torch.searchsorted(axis, at[said][:, None] + self.edges)  # the first timestamp of the next class
        facts, width = at.shape[1] if each else 1, len(axis) + 1
        row = n * facts + f if each else n
        room = values.new_zeros(len(at) * facts * width)
        room = room.index_add(0, (row[:, None] * width + place).flatten(), steps.flatten())
        first = values.new_zeros(len(at) * facts).index_add(0, row, values[:, 0])
        return room.view(len(at), facts, width)[..., :-1].cumsum(2) + first.view(len(at), facts, 1)

    def _values(self, p: Tensor, around: Facing, given: Tensor | None, said: tuple[Tensor, ...]) -> Tensor:
        """G (m, classes) of m anchors; `said` gives the question, the fact and the anchor of each."""
        n, f, anchor = said
        if given is None:
            context = torch.where(anchor == 0, around.before[n, f], around.after[n, f])
        else:
            context = self._relations(p, around, given)[n, f]
        kind = around.kind[n, f]
        code = p[n] * self.kinds + kind
        pair = torch.searchsorted(self.pairs, code)
        known = torch.cat([self.pairs, self.pairs.new_full((1,), -1)])[pair] == code
        pair = torch.where(known, pair, len(self.pairs))
        found = None
        for row, table, none in ((kind, self.shared, None), (pair, self.own, len(self.pairs))):
            start = (row * self.anchors + anchor) * (self.contexts + 1)
            for place in (start, start + 1 + context):
                values = embedding(place, table)
                values = values if none is None else values * known[:, None]
                found = values if found is None else found + values
        assert found is not None
        return found

    def _relations(self, p: Tensor, around: Facing, given: Tensor) -> Tensor:  # (n, f)
        """How each fact stands to the given begin.

        It begins later (0; the next of the same predicate: 5), at once (1), earlier and has not ended (2), ends right
        then (3), ended before (4); or that is not known (6).
        """
        b, e, at = around.begin, around.end, given[:, None]
        knows_begin, knows_end = b < FAR, e < FAR
        found = torch.full_like(b, 6)
        for code, holds in (
            (0, knows_begin & (at < b)),
            (1, knows_begin & (at == b)),
            (2, knows_begin & (at > b) & ((at < e) | ~knows_end)),
            (3, knows_end & (at == e) & (at > b)),
            (4, knows_end & (at > e)),
        ):
            found = torch.where(holds, code, found)
        alike = (around.kind == p[:, None]) | (around.kind == (p + 3 * self.predicates)[:, None])
        later = torch.where((found == 0) & alike, b, FAR).view(len(b), 2, -1)
        is_next = (later == later.amin(2, keepdim=True)) & (later < FAR)
        return torch.where(is_next.flatten(1), 5, found)

    def _cover(self, p: Tensor, around: Facing, axis: Tensor, begin: Tensor | None) -> Tensor:  # (n, T)
        """By how many facts of the same predicate hold, end and begin at a timestamp, and begin since the given one."""
        total, T = torch.zeros(()), len(axis)
        for role in (0, 1):
            side = slice(role * CAP, (role + 1) * CAP)
            kind, b, e = (column[:, side].contiguous() for column in (around.kind, around.begin, around.end))
            alike = (kind >= 0) & (kind % (2 * self.predicates) == (p + role * self.predicates)[:, None])
            one = (alike & (b < FAR) & (e < FAR)).int()
            first, last = torch.searchsorted(axis, b), torch.searchsorted(axis, e)
            begins, ends, inner = (_counts(place, one, T) for place in (first, last, first + 1))
            inside = (inner - ends).cumsum(1)[:, :T].clamp(0, 2)  # begun before, ending later
            code = inside * 4 + ends[:, :T].clamp(max=1) * 2 + begins[:, :T].clamp(max=1)
            since = torch.zeros_like(code)
            if begin is not None:
                begun = begins[:, :T].cumsum(1)
                since = (begun - begins[:, :T] - begun.gather(1, begin[:, None])).clamp(0, 2)
            total = total + self.cover[((p[:, None] * 2 + role) * COVER + code) * 3 + since]
        return total

    def _places(self, axis: Tensor) -> Tensor:  # (T,)
        """Where the bias of each timestamp is: one that came after training takes that of the last one before it."""
        return (torch.searchsorted(self.positions, axis, right=True) - 1).clamp(min=0)


class Facing:
    """The facts around questions as tensors, each weighted by one over the root of how many its side has."""

    def __init__(self, around: Around) -> None:
        self.kind, self.begin, self.end, self.before, self.after = (
            torch.from_numpy(column) for column in (around.kind, around.begin, around.end, around.before, around.after)
        )
        some = (self.kind >= 0).float()
        counts = some.view(len(some), 2, -1).sum(2).clamp(min=1)
        self.weight = some * counts.rsqrt().repeat_interleave(CAP, 1)

    def __getitem__(self, rows: Tensor) -> Facing:
        found = object.__new__(Facing)
        for name, column in vars(self).items():
            setattr(found, name, column[rows])
        return found


def frequent_pairs(around: Around, asked: Asked, predicates: int) -> Ints:
    """The pairs of predicate and kind of fact that occur often, as numbers in order."""
    codes = (asked.predicate[:, None] * 8 * predicates + around.kind)[around.kind >= 0]
    found, counts = np.unique(codes, return_counts=True)
    often = np.argsort(-counts, kind="stable")[:MOST]
    return np.sort(found[often][counts[often] >= LEAST])


def _counts(place: Tensor, one: Tensor, T: int) -> Tensor:  # (n, T + 2)
    return torch.zeros(len(place), T + 2, dtype=torch.int32).scatter_add_(1, place.clamp(max=T + 1), one)
