"""Evidence from the object's own facts under the predicate: when the last was, when the next is, how many hold."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from knowwhen import chunks
from knowwhen.facts.index.links import COUNTS, count_class
from knowwhen.facts.index.profiles import HOLDING, Profiles
from knowwhen.facts.index.ranges import numbered, ranges
from knowwhen.facts.table import Ints
from knowwhen.models.evidence.base import EvidenceTerm, LagOptions, Reason, arrays
from knowwhen.models.evidence.classes import YEARS, ByClass, looked_up
from knowwhen.models.registry import register_evidence
from knowwhen.models.scores import Cells, Listed, Sparse
from knowwhen.models.sizes import Sizes


class ObjectProfileOptions(LagOptions):
    lags: tuple[int, ...] = Field(YEARS, min_length=1, description="Upper bounds of the lag classes.")


class ProfileKernel(nn.Module):
    """B[p, class] + N[p, ⌊log₂ n⌋]: B is learned for each class, and for what coarser classes have in common."""

    def __init__(self, predicates: int, steps: int) -> None:
        super().__init__()
        since, until, holding, static = np.indices((steps, steps, HOLDING, 2)).reshape(4, -1)
        every = np.arange(len(since))
        coarse = (every, since, until, holding * 2 + static, since * HOLDING + holding, until * HOLDING + holding)
        self.coarse = [torch.from_numpy(classes) for classes in coarse]
        self.tables = nn.ModuleList([ByClass(predicates, int(classes.max()) + 1) for classes in coarse])
        self.counts = ByClass(predicates, COUNTS)

    def initialise(self, generator: torch.Generator) -> None:
        for table in (*self.tables, self.counts):
            assert isinstance(table, ByClass)
            table.initialise()

    def profile_table(self) -> Tensor:  # (R, classes)
        device = self.counts.shared.device
        tables = [table.table() for table in self.tables if isinstance(table, ByClass)]
        found = [one.index_select(1, classes.to(device)) for one, classes in zip(tables, self.coarse, strict=True)]
        return torch.stack(found).sum(0)


@register_evidence
class ObjectProfile(EvidenceTerm):
    """B_p[since the last end, until the next begin, how many hold] + N_p[⌊log₂ n⌋] of the facts (x, p, o), x ≠ s.

    Nothing for an object that only s, or nobody, has such facts with. The subject's own facts are always left out, so
    a training fact is no evidence of itself.
    """

    name = "object_profile"
    is_sparse: ClassVar[bool] = False
    Options: ClassVar[type[LagOptions]] = ObjectProfileOptions

    def __init__(self, sizes: Sizes, dimension: int, is_complex: bool, options: Any = None) -> None:
        super().__init__(sizes, dimension, is_complex, options)
        self._profiles: Profiles | None = None

    def new_kernel(self) -> nn.Module:
        return ProfileKernel(2 * self.sizes.predicates, self.lags.steps + 1)

    @property
    def profiles(self) -> Profiles:
        if self._profiles is None:
            self._profiles = self.indexed(Profiles)
        return self._profiles

    def forget(self) -> None:
        self._profiles = None

    def objects(self, s: Tensor, p: Tensor, t: Tensor, rows: Tensor, asked: Tensor | None = None) -> Sparse:
        """All facts of objects, and in single cells what the subject's own facts make of a difference."""
        s_, p_, t_ = arrays(s, p, t)
        every = ProfileScores(self, p_, t_, p.device)
        row, pair = self._own_pairs(s_, p_)
        values = self._but(pair, s_[row], p_[row], t_[row]) - every.of(row, pair)
        rows_, objects = (torch.from_numpy(ids).to(p.device) for ids in (row, self.profiles.object[pair]))
        return Sparse(every, Cells(rows_, objects, values))

    def _own_pairs(self, s: Ints, p: Ints) -> tuple[Ints, Ints]:
        """Rows and pairs (p, o) for the objects that subjects have facts with under predicates."""
        row, pair = self.profiles.of_subjects(s, p)
        key, _ = numbered(row * max(1, len(self.profiles)) + pair)
        return np.divmod(key, max(1, len(self.profiles)))

    def _but(self, pair: Ints, s: Ints, p: Ints, t: Ints) -> Tensor:
        """What profiles without the subjects' facts are worth; 0 where nothing is left."""
        found, left = self.profiles.around_but(pair, s, t)
        value = self._value(p, self.profiles.classes(found), left)
        return value * torch.from_numpy(left > 0).to(value)

    def _value(self, p: Ints, classes: Ints, counts: Ints) -> Tensor:
        kernel = self.kernel
        return looked_up(kernel.profile_table(), p, classes) + looked_up(kernel.counts.table(), p, count_class(counts))

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor, rows: Tensor) -> Tensor:
        s_, p_, o_, t_ = arrays(s, p, o, t)
        pair, known = self.profiles.find(p_, o_)
        some = np.flatnonzero(known)
        value = self._but(pair[some], s_[some], p_[some], t_[some])
        return value.new_zeros(len(s)).index_put((torch.from_numpy(some).to(p.device),), value)

    @torch.no_grad()
    def reasons(self, s: int, p: int, o: int, t: int, rows: Tensor) -> list[Reason]:
        """The facts that the profile is made of, in equal shares."""
        (pair,), (known,) = self.profiles.find(np.array([p]), np.array([o]))
        if not known:
            return []
        facts = self.profiles.behind(int(pair), s, t)
        device = self.kernel.counts.shared.device
        query = [torch.tensor([i], device=device) for i in (s, p, o, t)]
        score = self.score(query[0], query[1], query[2], query[3], rows).item()
        lags = self.profiles.lag(facts, t)
        return [Reason(int(fact), lag, score / len(facts)) for fact, lag in zip(facts, lags, strict=True)]


class ProfileScores(Listed):
    """The profiles of all objects; those that a predicate was never seen with have 0.

    Without a gradient, questions of one predicate and time share what is made, where that fits.
    """

    def __init__(self, term: ObjectProfile, p: Ints, t: Ints, device: torch.device) -> None:
        self.term, self.p, self.t, self.device = term, p, t, device
        self.rows, self.columns = len(p), term.sizes.entities
        self.profiles = term.profiles
        self.table, self.counts = term.kernel.profile_table(), term.kernel.counts.table()
        self.count_class = count_class(self.profiles.total)

    def of(self, row: Ints, pair: Ints) -> Tensor:
        """The values of pairs for rows."""
        p, t = self.p[row], self.t[row]
        classes = self.profiles.classes_at(pair, t)
        return looked_up(self.table, p, classes) + looked_up(self.counts, p, self.count_class[pair])

    @cached_property
    def _shared(self) -> tuple[Tensor, Tensor] | None:  # (k, E), (b,)
        """The scores for the different predicates and times, and which of them each row has."""
        T = self.term.sizes.timestamps
        keys, number = numbered(self.p * (T + 1) + np.minimum(self.t, T))
        if self.table.requires_grad or len(keys) > chunks.rows_at_once(self.columns):
            return None
        different = ProfileScores(self.term, *np.divmod(keys, T + 1), self.device)
        return Listed.at(different, slice(0, self.columns)), torch.from_numpy(number).to(self.device)

    def at(self, columns: slice | Tensor) -> Tensor:
        if self._shared is None:
            return super().at(columns)
        scores, number = self._shared
        return scores[:, columns].index_select(0, number)

    def add_to(self, columns: slice, out: Tensor) -> None:
        if self._shared is None:
            super().add_to(columns, out)
        else:
            out.add_(self.at(columns))

    def listed(self, columns: slice = slice(None)) -> Cells:
        first, last = self.profiles.first[self.p], self.profiles.first[self.p + 1]
        start, stop, _ = columns.indices(self.columns)
        if start > 0 or stop < self.columns:
            first, last = (np.searchsorted(self.profiles.pairs, self.p * self.columns + edge) for edge in (start, stop))
        row, pair = ranges(first, last)
        rows, objects = (torch.from_numpy(ids).to(self.device) for ids in (row, self.profiles.object[pair]))
        return Cells(rows, objects, self.of(row, pair))

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        if self._shared is not None:
            scores, number = self._shared
            return scores.flatten().index_select(0, number.index_select(0, rows) * self.columns + columns)
        found = [self.table.new_zeros(0)]
        for part in chunks.slices(len(rows), chunks.ENTRIES):
            row, o = arrays(rows[part], columns[part])
            pair, known = self.profiles.find(self.p[row], o)
            some = np.flatnonzero(known)
            place = torch.from_numpy(some).to(self.device)
            found.append(self.table.new_zeros(len(row)).index_put((place,), self.of(row[some], pair[some])))
        return torch.cat(found)
