"""A whole model: a decomposition, plus evidence, plus a correction; the decomposition knows nothing of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, or_

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from knowwhen import chunks
from knowwhen.distributed.collectives import add_up
from knowwhen.distributed.shard import Shard
from knowwhen.errors import BadRequest
from knowwhen.facts.index.ranges import numbered
from knowwhen.models.base import Decomposition, Factor
from knowwhen.models.correction import Correction
from knowwhen.models.evidence.base import EvidenceTerm, LeaveOut
from knowwhen.models.scores import Below, Cells, Matrix, Nothing, Product, Scores, Sparse
from knowwhen.models.sizes import Background, Sizes
from knowwhen.models.splitting import shared_cells, split_scores
from knowwhen.models.tables import Table, tables_of

CORRECTED = 1 << 18  # answers that are corrected at once
SPLIT_TERMS = {"context", "pair_history", "path_history", "predicate_history"}  # that several processes can share
INITIAL_WEIGHT = 0.2  # of a decomposition that is learned apart


class TemporalModel(nn.Module):
    """X[s, p, o, t] of a decomposition, of evidence terms, and of a correction where evidence scores the object.

    Learned `apart`, decomposition and evidence have each a loss of their own, and the decomposition, with what shifts
    its queries, counts w_p times in their sum.
    """

    def __init__(
        self,
        decomposition: Decomposition,
        evidence: Mapping[str, EvidenceTerm] | None = None,
        corrected: bool = False,
        *,
        apart: bool = False,
        leave_out: LeaveOut = "holding",
    ) -> None:
        super().__init__()
        self.decomposition = decomposition
        self.evidence = nn.ModuleDict(dict(evidence or {}))
        self.leave_out: LeaveOut = leave_out
        if self.shard is not None and (apart or leave_out == "itself" or not set(self.evidence) <= SPLIT_TERMS):
            raise BadRequest(
                'a model with object_profile, evidence.training="apart" or evidence.leave_out="itself" cannot be split '
                "over processes; use one process"
            )
        for term in self.terms:
            term.leave_out = leave_out
        weights = torch.full((2 * self.sizes.predicates,), INITIAL_WEIGHT)
        self.weights = nn.Parameter(weights, requires_grad=False) if apart else None  # w
        self.correction = Correction(self.sizes, len(self.evidence), leave_out) if corrected else None

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
    def apart(self) -> bool:
        """Whether decomposition and evidence are learned apart."""
        return self.weights is not None

    @property
    def sparse_parts(self) -> list[int]:
        """Which of the parts (decomposition, then terms) are terms that score single objects."""
        return [1 + i for i, term in enumerate(self.terms) if term.is_sparse]

    def corrected(self) -> TemporalModel:
        """The same decomposition and evidence, with a correction that is yet to be learned."""
        return self._with(corrected=True)

    @torch.no_grad()
    def weighted(self, weights: Tensor) -> TemporalModel:
        """The same decomposition and evidence, with other weights (2P,) of the decomposition."""
        found = self._with(corrected=False)
        assert found.weights is not None, "learned apart"
        found.weights.copy_(weights)
        return found

    def _with(self, corrected: bool) -> TemporalModel:
        evidence = dict(zip(self.evidence, self.terms, strict=True))
        found = TemporalModel(self.decomposition, evidence, corrected, apart=self.apart, leave_out=self.leave_out).to(
            next(self.parameters())
        )
        if found.weights is not None and self.weights is not None:
            found.weights.data.copy_(self.weights)
        return found.train(self.training)

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
        found = torch.stack(
            [self.decomposition.score(s, p, o, t), *(term.score(s, p, o, t, rows) for term in self.terms)], dim=-1
        )
        return found if self.weights is None else found * self.part_weights(p)

    def part_weights(self, p: Tensor) -> Tensor:  # (b, 1 + terms)
        """How often each part counts in the sum: w_p or once."""
        every = torch.ones(len(p), 1 + len(self.terms), dtype=next(self.parameters()).dtype, device=p.device)
        if self.weights is not None:
            every[:, [0, *(1 + i for i, term in enumerate(self.terms) if term.shifts)]] = self.weights[p][:, None]
        return every

    def corrections(self, parts: Tensor, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b,)
        """What the correction adds to parts; nothing where no term scores the object itself."""
        found = parts.new_zeros(len(parts))
        if self.correction is None:
            return found
        some = (parts[:, self.sparse_parts] != 0).any(-1).nonzero()[:, 0]
        return found.index_put((some,), self._corrected(parts[some], *(x[some] for x in (s, p, o, t))))

    def _corrected(self, parts: Tensor, *ids: Tensor) -> Tensor:  # (n,)
        """The same for parts of which some term's is about the object itself."""
        assert self.correction is not None
        values = [parts[:0, 0]]
        for rows in chunks.slices(len(parts), CORRECTED):
            values.append(self.correction(self.correction.inputs(parts[rows], *(x[rows] for x in ids))))
        return torch.cat(values)

    def objects(
        self, s: Tensor, p: Tensor, t: Tensor, *, skipped: int = 0, asked: Tensor | None = None
    ) -> Scores:  # (b, E)
        """X[s, p, :, t]; evidence is skipped for the first `skipped` questions.

        `asked` (b,) are the rows in train of the facts that are asked for, to be left out of their own evidence.
        """
        return self.object_scores(self.object_parts(s, p, t, skipped, asked), s, p, t)

    def object_parts(
        self, s: Tensor, p: Tensor, t: Tensor, skipped: int = 0, asked: Tensor | None = None
    ) -> ObjectParts:
        """What decomposition and evidence say of all objects, each for itself."""
        found = [_below(one, skipped) for one in self._said(s[skipped:], p[skipped:], t[skipped:], asked)]
        decomposition = self.decomposition.objects(s, p, t)
        if self.weights is None:
            return ObjectParts(decomposition, found)
        weights = self.weights[p]
        shifts = zip(self.terms, found, strict=True)
        found = [one.scaled(weights) if term.shifts and isinstance(one, Scores) else one for term, one in shifts]
        return ObjectParts(decomposition.scaled(weights), found)

    def _said(self, s: Tensor, p: Tensor, t: Tensor, asked: Tensor | None) -> list[Cells | Product | Sparse]:
        rows = self.decomposition.entity_rows() if self.terms else s
        return [self._of_term(term, s, p, t, rows, asked) for term in self.terms]

    def objects_apart(self, s: Tensor, p: Tensor, t: Tensor, asked: Tensor | None) -> tuple[Scores, Scores]:
        """X[s, p, :, t] of the decomposition, with what shifts its queries, and of all other evidence."""
        said = list(zip(self.terms, self._said(s, p, t, asked), strict=True))
        shifts = [found for term, found in said if term.shifts and isinstance(found, Scores)]
        nothing = Nothing(next(self.parameters()), len(s), self.sizes.entities)
        evidence = ObjectParts(nothing, [found for term, found in said if not term.shifts])
        return reduce(add, shifts, self.decomposition.objects(s, p, t)), evidence.scores()

    def _of_term(
        self, term: EvidenceTerm, s: Tensor, p: Tensor, t: Tensor, rows: Tensor, asked: Tensor | None
    ) -> Cells | Product | Sparse:
        if self.shard is None or not term.is_sparse:
            return term.objects(s, p, t, rows, asked)

        def gather(part: slice) -> Cells:
            found = term.objects(s[part], p[part], t[part], rows, None if asked is None else asked[part])
            assert isinstance(found, Cells)
            return found

        return shared_cells(gather, len(s), self.shard)

    def object_scores(self, parts: ObjectParts, s: Tensor, p: Tensor, t: Tensor) -> Scores:
        """The sum of parts, corrected."""
        if self.correction is None:
            scores = parts.scores()
        else:
            parts = parts.with_made_scores()
            rows, objects, values = parts.spoken(self.sparse_parts)
            named = objects if self.shard is None else self.shard.ids(objects)
            corrections = self._corrected(values, s[rows], p[rows], named, t[rows])
            scores = parts.scores(Cells(rows, objects, corrections))
        if self.shard is None:
            return scores
        return split_scores(*scores.split(), self.shard, self.sizes.entities)

    def times(self, s: Tensor, p: Tensor, o: Tensor) -> Scores:  # (b, T)
        """X[s, p, o, :] along the time axis."""
        scores = self.decomposition.times(s, p, o)
        if not self.terms:
            return scores
        rows, T = self.decomposition.entity_rows(), self.sizes.timestamps
        found = [scores.whole(), *(term.times(s, p, o, rows) for term in self.terms)]
        if self.weights is not None:
            found = [part * w[:, None] for part, w in zip(found, self.part_weights(p).unbind(-1), strict=True)]
        each = [column.repeat_interleave(T) for column in (s, p, o)]
        t = torch.arange(T, device=s.device).repeat(len(s))
        return self._matrix(found, each[0], each[1], each[2], t)

    def predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Scores:  # (b, 2P)
        """X[s, :, o, t], inverse predicates last."""
        scores = self.decomposition.predicates(s, o, t)
        if not self.terms:
            return scores
        rows, R = self.decomposition.entity_rows(), 2 * self.sizes.predicates
        found = [scores.whole(), *(term.predicates(s, o, t, rows) for term in self.terms)]
        every = torch.arange(R, device=s.device)
        if self.weights is not None:
            found = [part * w for part, w in zip(found, self.part_weights(every).unbind(-1), strict=True)]
        each = [column.repeat_interleave(R) for column in (s, o, t)]
        return self._matrix(found, each[0], every.repeat(len(s)), each[1], each[2])

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
    terms: Sequence[Cells | Scores]

    def scores(self, *more: Cells) -> Scores:
        """The sum of all, and more cells."""
        split = [(None, term) if isinstance(term, Cells) else term.split() for term in self.terms]
        dense = reduce(add, [one for one, _ in split if one is not None], self.decomposition)
        cells = [one for _, one in split if one is not None] + list(more)
        if not cells:
            return dense
        return Sparse(dense, Cells(*(torch.cat(columns) for columns in zip(*cells, strict=True))))

    def with_made_scores(self) -> ObjectParts:
        """The same, with the decomposition's scores made once for all that is read of them, where they fit."""
        scores = self.decomposition
        if scores.rows > chunks.rows_at_once(scores.columns):
            return self
        return replace(self, decomposition=Matrix(scores.whole()))

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
        some = reduce(or_, [columns[i] != 0 for i in sparse_parts])
        return (rows, objects, parts) if some.all() else (rows[some], objects[some], parts[some])


def _below(found: Cells | Product | Sparse, skipped: int) -> Cells | Scores:
    """The same, `skipped` rows further down."""
    if not skipped:
        return found
    if isinstance(found, Product):
        return Product(pad(found.query, (0, 0, skipped, 0)), found.table)
    if isinstance(found, Cells):
        return Cells(found.rows + skipped, found.columns, found.values)
    return Sparse(Below(found.dense, skipped), Cells(found.added.rows + skipped, *found.added[1:]))
