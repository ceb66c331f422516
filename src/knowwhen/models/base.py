"""The contract of all models: what loss, ranking, questions and regularizers need to know of a decomposition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from knowwhen.facts.index.ranges import numbered
from knowwhen.facts.table import Facts, Ints
from knowwhen.models.algebra import Cells, as_complex, dots, lookup
from knowwhen.models.evidence import EVIDENCE, EvidenceSettings, EvidenceTerm
from knowwhen.models.memory import keep_pages
from knowwhen.models.sizes import Sizes
from knowwhen.models.weighing import Weighing

INITIAL_SCALE = 1e-2
CORRECTED = 1 << 18  # answers that are weighed at once, whatever their number


class Factor(NamedTuple):
    """A vector that a regularizer penalises, and how often the formula counts it."""

    weight: int
    rows: Tensor  # (b, r)


class TemporalModel(nn.Module, ABC):
    """A tensor X[s, p, o, t] of low rank, s and o entities, p a predicate or its inverse p + P; plus evidence, if any.

    The object score is query(s, p, t) · candidates()[o]; a subclass gives both, and time and predicate scores of the
    same tensor. Tables are real parameters (n, d), d = 2r where they are viewed complex. Evidence terms are sparse, and
    the same for all subclasses: the scores here are sums of both, query, time_query and predicate_scores are not.
    """

    name: ClassVar[str]  # in MODELS and configurations
    temporal: ClassVar[bool]  # whether scores depend on t
    is_complex: ClassVar[bool] = True  # whether rows are views of complex ones
    formula: ClassVar[str]  # as `knowwhen models` prints it

    def __init__(self, sizes: Sizes, rank: int) -> None:
        super().__init__()
        self.sizes, self.rank = sizes, rank
        self._shared: dict[tuple[str, int], Tensor] | None = None
        self.evidence = nn.ModuleDict()
        self.weighing: Weighing | None = None
        for table, (rows, columns) in self.table_shapes(sizes, rank).items():
            self.register_parameter(table, nn.Parameter(torch.empty(rows, columns)))

    def initialise(self, generator: torch.Generator) -> TemporalModel:
        """Draws all tables from N(0, 1) times 1e-2, as the paper's experiments do; returns the model."""
        with torch.no_grad():
            for table in self.parameters(recurse=False):
                table.copy_(torch.randn(table.shape, generator=generator) * INITIAL_SCALE)
        for term in self.evidence_terms():
            term.initialise(generator)
        return self

    def add_evidence(self, name: str, settings: EvidenceSettings) -> TemporalModel:
        """Puts an evidence term on top; returns the model."""
        dimension = self.candidates().shape[1]
        self.evidence[name] = EVIDENCE[name](self.sizes, dimension, self.is_complex, settings)
        return self

    def add_weighing(self) -> Weighing:
        """Puts a correction on top of decomposition and evidence; returns it, to be initialised or loaded."""
        self.weighing = Weighing(self.sizes, len(self.evidence)).to(self.candidates())
        return self.weighing

    def evidence_terms(self) -> list[EvidenceTerm]:
        return [term for term in self.evidence.values() if isinstance(term, EvidenceTerm)]

    def recall(self, facts: Facts, positions: Ints) -> TemporalModel:
        """Takes facts as evidence from here on, positions being those of the timeline; returns the model."""
        keep_pages()
        for term in self.evidence_terms():
            term.recall(facts, positions)
        if self.weighing is not None:
            self.weighing.recall(facts, positions)
        return self

    @classmethod
    @abstractmethod
    def table_shapes(cls, sizes: Sizes, rank: int) -> dict[str, tuple[int, int]]:
        """Name and shape of each table of parameters."""

    @abstractmethod
    def query(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (b, d)
        """What the object's row is multiplied with."""

    @abstractmethod
    def candidates(self) -> Tensor:  # (E, d)
        """The rows of all objects."""

    @abstractmethod
    def predicate_scores(self, s: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b, 2P)
        """X[s, :, o, t] of the decomposition, inverse predicates behind."""

    @abstractmethod
    def factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """The factors of the order-3 tensor in which predicate and time are one mode: those of Ω³."""

    @abstractmethod
    def separate_factors(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> list[Factor]:
        """The factors of the order-4 tensor, each for itself: those of Δ^p."""

    def evidence_factors(self, p: Tensor) -> list[Factor]:
        """What evidence terms add to the factors of either penalty."""
        return [Factor(1, rows) for term in self.evidence_terms() for rows in term.factors(p)]

    def score(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b,)
        """X[s, p, o, t]."""
        parts = self.parts(s, p, o, t)
        return parts.sum(-1) + self.correction(parts, s, p, o, t)

    def parts(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b, 1 + terms)
        """What the decomposition says, and then each evidence term."""
        terms = (term.score(s, p, o, t, self.candidates()) for term in self.evidence_terms())
        return torch.stack([self.decomposition(s, p, o, t), *terms], dim=-1)

    def correction(self, parts: Tensor, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b,)
        """What weighing adds to parts; nothing where no term speaks of the object itself."""
        found = parts.new_zeros(len(parts))
        if self.weighing is None:
            return found
        told = (parts[:, self.object_parts()] != 0).any(-1).nonzero()[:, 0]
        values = [found[:0]]
        for rows in (told[start : start + CORRECTED] for start in range(0, len(told), CORRECTED)):
            ids = (column[rows] for column in (s, p, o, t))
            values.append(self.weighing(self.weighing.inputs(parts[rows], *ids)))
        return found.index_put((told,), torch.cat(values))

    def object_parts(self) -> list[int]:
        """The parts of terms that speak of objects themselves."""
        return [1 + i for i, term in enumerate(self.evidence_terms()) if term.is_of_objects]

    def decomposition(self, s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b,)
        """X[s, p, o, t] without evidence."""
        return (self.query(s, p, t) * lookup(self.candidates(), o)).sum(-1)

    def score_objects(self, s: Tensor, p: Tensor, t: Tensor) -> Tensor:  # (b, E)
        """X[s, p, :, t]."""
        scores = self.whole_query(s, p, t) @ self.candidates().mT
        cells = self.cells(s, p, t)
        return scores if cells is None else scores.index_put(cells[:2], cells[2], accumulate=True)

    def whole_query(self, s: Tensor, p: Tensor, t: Tensor, bare: int = 0) -> Tensor:  # (b, d)
        """The query with what evidence adds to it; the first `bare` go without."""
        query = self.query(s, p, t)
        for term in self.evidence_terms():
            shift = term.shift(s[bare:], p[bare:], t[bare:], self.candidates())
            query = query if shift is None else query + pad(shift, (0, 0, bare, 0))
        return query

    def cells(self, s: Tensor, p: Tensor, t: Tensor, bare: int = 0) -> Cells | None:
        """What evidence adds to the product of whole queries and candidates; None: there is none."""
        s, p, t = s[bare:], p[bare:], t[bare:]
        if self.weighing is not None:
            rows, objects, parts = self.told(s, p, t)
            values = parts[:, self.object_parts()].sum(-1)
            values = values + self.correction(parts, s[rows], p[rows], objects, t[rows])
        else:
            found = [cells for term in self.evidence_terms() if (cells := term.cells(s, p, t)) is not None]
            if not found:
                return None
            rows, objects, values = (torch.cat(columns) for columns in zip(*found, strict=True))
        return rows + bare, objects, values

    def told(self, s: Tensor, p: Tensor, t: Tensor) -> Cells:  # (n,), (n,), (n, 1 + terms)
        """Rows and objects that some term speaks of, and the parts of their scores."""
        E, candidates, terms = self.sizes.entities, self.candidates(), self.evidence_terms()
        cells = [term.cells(s, p, t) or (s[:0], s[:0], candidates[:0, 0]) for term in terms]
        keys = torch.cat([rows * E + objects for rows, objects, _ in cells])
        pairs, number = (torch.from_numpy(found).to(s.device) for found in numbered(keys.cpu().numpy()))
        rows, objects = pairs // E, pairs % E
        columns, start = [dots(self.query(s, p, t), candidates, rows, objects)], 0
        for term, (*_, values) in zip(terms, cells, strict=True):
            shift, stop = term.shift(s, p, t, candidates), start + len(values)
            turned = torch.zeros_like(columns[0]) if shift is None else dots(shift, candidates, rows, objects)
            columns.append(turned.index_add(0, number[start:stop], values))
            start = stop
        parts = torch.stack(columns, dim=-1)
        some = (parts[:, self.object_parts()] != 0).any(-1).nonzero()[:, 0]
        return rows[some], objects[some], parts[some]

    def score_timestamps(self, s: Tensor, p: Tensor, o: Tensor) -> Tensor:  # (b, T)
        """X[s, p, o, :] along the time axis."""
        varying, constant = self.time_query(s, p, o)
        scores = varying @ self.time_axis().mT + constant[:, None]
        terms = [term.timestamps(s, p, o, self.candidates()) for term in self.evidence_terms()]
        if self.weighing is None:
            return sum(terms, start=scores)
        T = self.sizes.timestamps
        t = torch.arange(T, device=s.device).repeat(len(s))
        s, p, o = (column.repeat_interleave(T) for column in (s, p, o))
        return self._corrected([scores, *terms], s, p, o, t)

    def score_predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b, 2P)
        """X[s, :, o, t], inverse predicates behind."""
        terms = [term.predicates(s, o, t, self.candidates()) for term in self.evidence_terms()]
        scores = self.predicate_scores(s, o, t)
        if self.weighing is None:
            return sum(terms, start=scores)
        R = 2 * self.sizes.predicates
        p = torch.arange(R, device=s.device).repeat(len(s))
        s, o, t = (column.repeat_interleave(R) for column in (s, o, t))
        return self._corrected([scores, *terms], s, p, o, t)

    def _corrected(self, tables: list[Tensor], s: Tensor, p: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b, n)
        """The sum of tables (b, n) of parts with what weighing adds; ids are those of the cells, row by row."""
        parts = torch.stack(tables, dim=-1).flatten(0, 1)
        return (parts.sum(-1) + self.correction(parts, s, p, o, t)).view_as(tables[0])

    def time_query(self, s: Tensor, p: Tensor, o: Tensor) -> tuple[Tensor, Tensor]:  # (b, d), (b,)
        """What a timestamp's row is multiplied with, and what is added whatever the time."""
        # A static model: nothing varies, all is constant.
        return self.candidates().new_zeros(len(s), 0), self.decomposition(s, p, o, torch.zeros_like(s))

    def time_axis(self) -> Tensor:  # (T, d)
        """The rows of the timestamps in order, without that of undated facts."""
        return self.candidates().new_zeros(self.sizes.timestamps, 0)

    def parameter_count(self) -> int:
        """Real numbers that are stored."""
        return sum(table.numel() for table in self.parameters())

    def complex_rows(self, table: str, ids: Tensor | None = None) -> Tensor:  # (n, r) or (b, r), complex
        """The rows of a table, all or those of some ids."""
        rows: Tensor = getattr(self, table)
        if ids is None:
            return as_complex(rows)
        if self._shared is None:
            return as_complex(lookup(rows, ids))
        key = (table, id(ids))
        if key not in self._shared:
            self._shared[key] = as_complex(lookup(rows, ids))
        return self._shared[key]

    @contextmanager
    def shared_lookups(self) -> Iterator[None]:
        """Inside, the rows of one table for one tensor of ids are looked up once: loss and penalties use the same."""
        self._shared = {}
        try:
            yield
        finally:
            self._shared = None
