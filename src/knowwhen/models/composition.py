"""A whole model: a decomposition, plus evidence, plus a correction; the decomposition knows nothing of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import add

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from knowwhen import chunks
from knowwhen.distributed.collectives import add_up
from knowwhen.distributed.shard import Shard
from knowwhen.facts.index.ranges import numbered
from knowwhen.models.base import Decomposition, Factor
from knowwhen.models.correction import Correction
from knowwhen.models.evidence.base import EvidenceTerm
from knowwhen.models.scores import Cells, Matrix, Product, Scores, Sparse
from knowwhen.models.sizes import Background, Sizes
from knowwhen.models.splitting import shared_cells, split_scores
from knowwhen.models.tables import Table, tables_of

CORRECTED = 1 << 18  # answers that are corrected at once


class TemporalModel(nn.Module):
    """X[s, p, o, t] of a decomposition, of evidence terms, and of a correction where evidence scores the object."""

    def __init__(
        self, decomposition: Decomposition, evidence: Mapping[str, EvidenceTerm] | None = None, corrected: bool = False
    ) -> None:
        super().__init__()
        self.decomposition = decomposition
        self.evidence = nn.ModuleDict(dict(evidence or {}))
        self.correction = Correction(self.sizes, len(self.evidence)) if corrected else None

    @property
    def name(self) -> str:
        return self.decomposition.name

    @property
    def sizes(self) -> Sizes:
        return self.decomposition.sizes

    @property
    def temporal(self) -> bool:
        """Whether scores differ between timestamps: those of a static decomposition do where evidence is added."""
        return self.decomposition.temporal or len(self.evidence) > 0

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def terms(self) -> list[EvidenceTerm]:
        return [term for term in self.evidence.values() if isinstance(term, EvidenceTerm)]

    @property
    def shard(self) -> Shard | None:
        """Our part of the rows of entities, where other processes hold the others."""
        return self.decomposition.shard

    @property
    def sparse_parts(self) -> list[int]:
        """Which of the parts (decomposition, then terms) are terms that score single objects."""
        return [1 + i for i, term in enumerate(self.terms) if term.is_sparse]

    def initialise(self, generator: torch.Generator) -> TemporalModel:
        """Draws all parameters but the correction's; returns the model."""
        self.decomposition.initialise(generator)
        for term in self.terms:
            term.initialise(generator)
        return self

    def recall(self, background: Background) -> TemporalModel:
        """Takes the facts to draw on; returns the model."""
        self.decomposition.recall(background)
        for term in self.terms:
            term.recall(background)
        if self.correction is not None:
            self.correction.recall(background)
        return self

    def parameter_count(self) -> int:
        """Real numbers that are stored."""
        split = sum((table.rows - len(table.weight)) * table.weight[0].numel() for table in self.split_tables())
        return split + sum(table.numel() for table in self.parameters())

    def split_tables(self) -> list[Table]:
        """Those of which other processes hold the other rows."""
        return [table for table in tables_of(self).values() if table.shard is not None]

    def add_up_gradients(self) -> None:
        """Of parameters that weighed the facts of some questions here, and of the others elsewhere."""
        partial = [p for term in self.terms for p in term.gathering()] if self.shard else []
        if partial:
            gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in partial]
            sums = add_up(torch.cat([gradient.flatten() for gradient in gradients]))
            for p, total in zip(partial, sums.split([p.numel() for p in partial]), strict=True):  # type: ignore[no-untyped-call]
                p.grad = total.view_as(p)

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b,)
        """X[s, p, o, t]."""
        parts = self.parts(s, p, o, t)
        return parts.sum(-1) + self.corrections(parts, s, p, o, t)

    def parts(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b, 1 + terms)
        """What the decomposition says, and then each evidence term."""
        rows = self.decomposition.entity_rows() if self.terms else s
        terms = (term.score(s, p, o, t, rows) for term in self.terms)
        return torch.stack([self.decomposition.score(s, p, o, t), *terms], dim=-1)

    def corrections(self, parts: Tensor, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b,)
        """What the correction adds to parts; nothing where no term scores the object itself."""
        found = parts.new_zeros(len(parts))
        if self.correction is None:
            return found
        some = (parts[:, self.sparse_parts] != 0).any(-1).nonzero()[:, 0]
        values = [found[:0]]
        for part in chunks.slices(len(some), CORRECTED):
            rows = some[part]
            values.append(self.correction(self.correction.inputs(parts[rows], *(x[rows] for x in (s, p, o, t)))))
        return found.index_put((some,), torch.cat(values))

    def objects(self, s: Tensor, p: Tensor, t: Tensor, *, skipped: int = 0) -> Scores:  # (b, E)
        """X[s, p, :, t]; evidence is skipped for the first `skipped` questions."""
        return self.object_scores(self.object_parts(s, p, t, skipped), s, p, t)

    def object_parts(self, s: Tensor, p: Tensor, t: Tensor, skipped: int = 0) -> ObjectParts:
        """What decomposition and evidence say of all objects, each for itself."""
        rows = self.decomposition.entity_rows() if self.terms else s
        found = [self._said(term, s[skipped:], p[skipped:], t[skipped:], rows) for term in self.terms]
        return ObjectParts(self.decomposition.objects(s, p, t), [_below(one, skipped) for one in found])

    def _said(self, term: EvidenceTerm, s: Tensor, p: Tensor, t: Tensor, rows: Tensor) -> Cells | Product:
        if self.shard is None or not term.is_sparse:
            return term.objects(s, p, t, rows)

        def gather(part: slice) -> Cells:
            found = term.objects(s[part], p[part], t[part], rows)
            assert isinstance(found, Cells)
            return found

        return shared_cells(gather, len(s), self.shard)

    def object_scores(self, parts: ObjectParts, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        """The sum of parts, corrected."""
        dense, cells = parts.total(), None
        if self.correction is not None:
            rows, objects, values = parts.spoken(self.sparse_parts)
            named = objects if self.shard is None else self.shard.ids(objects)
            corrections = self.corrections(values, s[rows], p[rows], named, t[rows])
            cells = Cells(rows, objects, values[:, self.sparse_parts].sum(-1) + corrections)
        elif parts.sparse:
            cells = Cells(*(torch.cat(columns) for columns in zip(*parts.sparse, strict=True)))
        if self.shard is not None:
            return split_scores(dense, cells, self.shard, self.sizes.entities)
        return dense if cells is None else Sparse(dense, cells)

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:  # (b, T)
        """X[s, p, o, :] along the time axis."""
        scores = self.decomposition.times(s, p, o)
        if not self.terms:
            return scores
        rows, T = self.decomposition.entity_rows(), self.sizes.timestamps
        terms = [term.times(s, p, o, rows) for term in self.terms]
        each = [column.repeat_interleave(T) for column in (s, p, o)]
        t = torch.arange(T, device=s.device).repeat(len(s))
        return self._matrix([scores.whole(), *terms], each[0], each[1], each[2], t)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:  # (b, 2P)
        """X[s, :, o, t], inverse predicates last."""
        scores = self.decomposition.predicates(s, o, t)
        if not self.terms:
            return scores
        rows, R = self.decomposition.entity_rows(), 2 * self.sizes.predicates
        terms = [term.predicates(s, o, t, rows) for term in self.terms]
        each = [column.repeat_interleave(R) for column in (s, o, t)]
        p = torch.arange(R, device=s.device).repeat(len(s))
        return self._matrix([scores.whole(), *terms], each[0], p, each[1], each[2])

    def _matrix(self, parts: list[Tensor], s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Scores:
        """The corrected sum of parts (b, n); ids are those of the cells, row by row."""
        if self.correction is None:
            return Matrix(reduce(add, parts))
        values = torch.stack(parts, dim=-1).flatten(0, 1)
        return Matrix((values.sum(-1) + self.corrections(values, s, p, o, t)).view_as(parts[0]))

    def evidence_factors(self, p: Tensor) -> list[Factor]:
        """What evidence terms add to the factors of either penalty."""
        return [Factor(1, rows) for term in self.terms for rows in term.factors(p)]

    @contextmanager
    def step(self, s: Tensor, p: Tensor, o: Tensor) -> Iterator[None]:
        """Surrounds a training step on facts (s, p, o)."""
        with self.decomposition.step(s, p, o):
            yield


@dataclass(frozen=True, eq=False)
class ObjectParts:
    """The scores of all objects by where they come from; the query and the context behind them are made once."""

    decomposition: Scores
    terms: list[Cells | Scores]

    @property
    def dense(self) -> list[Scores]:
        return [term for term in self.terms if isinstance(term, Scores)]

    def total(self) -> Scores:
        """All that is dense."""
        return reduce(add, self.dense, self.decomposition)

    @property
    def sparse(self) -> list[Cells]:
        return [term for term in self.terms if isinstance(term, Cells)]

    def spoken(self, sparse_parts: list[int]) -> tuple[Tensor, Tensor, Tensor]:  # (n,), (n,), (n, 1 + terms)
        """Rows and objects that some sparse term scores, and all parts of their scores."""
        E, cells = self.decomposition.columns, self.sparse
        keys = torch.cat([one.rows * E + one.columns for one in cells])
        pairs, number = (torch.from_numpy(found).to(keys.device) for found in numbered(keys.cpu().numpy()))
        rows, objects = pairs // E, pairs % E
        places = iter(number.split([len(one.rows) for one in cells]))  # type: ignore[no-untyped-call]
        columns = [self.decomposition.cells(rows, objects)]
        for term in self.terms:
            if isinstance(term, Scores):
                columns.append(term.cells(rows, objects))
            else:
                columns.append(torch.zeros_like(columns[0]).index_add(0, next(places), term.values))
        parts = torch.stack(columns, dim=-1)
        some = (parts[:, sparse_parts] != 0).any(-1).nonzero()[:, 0]
        return rows[some], objects[some], parts[some]


def _below(found: Cells | Product, skipped: int) -> Cells | Scores:
    """The same, `skipped` rows further down."""
    if not skipped:
        return found
    if isinstance(found, Cells):
        return Cells(found.rows + skipped, found.columns, found.values)
    return Product(pad(found.query, (0, 0, skipped, 0)), found.table)
