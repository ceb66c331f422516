"""The contract of all models: what loss, ranking, questions and regularizers need to know of a decomposition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from knowwhen.facts.table import Facts, Ints
from knowwhen.models.algebra import Cells, as_complex, lookup
from knowwhen.models.evidence import EVIDENCE, EvidenceSettings, EvidenceTerm
from knowwhen.models.memory import keep_pages
from knowwhen.models.sizes import Sizes

INITIAL_SCALE = 1e-2


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

    def evidence_terms(self) -> list[EvidenceTerm]:
        return [term for term in self.evidence.values() if isinstance(term, EvidenceTerm)]

    def recall(self, facts: Facts, positions: Ints) -> TemporalModel:
        """Takes facts as evidence from here on, positions being those of the timeline; returns the model."""
        keep_pages()
        for term in self.evidence_terms():
            term.recall(facts, positions)
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
        terms = (term.score(s, p, o, t, self.candidates()) for term in self.evidence_terms())
        return sum(terms, start=self.decomposition(s, p, o, t))

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
        terms = (term.cells(s[bare:], p[bare:], t[bare:]) for term in self.evidence_terms())
        found = [cells for cells in terms if cells is not None]
        if not found:
            return None
        rows, objects, values = (torch.cat(parts) for parts in zip(*found, strict=True))
        return rows + bare, objects, values

    def score_timestamps(self, s: Tensor, p: Tensor, o: Tensor) -> Tensor:  # (b, T)
        """X[s, p, o, :] along the time axis."""
        varying, constant = self.time_query(s, p, o)
        scores = varying @ self.time_axis().mT + constant[:, None]
        terms = (term.timestamps(s, p, o, self.candidates()) for term in self.evidence_terms())
        return sum(terms, start=scores)

    def score_predicates(self, s: Tensor, o: Tensor, t: Tensor) -> Tensor:  # (b, 2P)
        """X[s, :, o, t], inverse predicates behind."""
        terms = (term.predicates(s, o, t, self.candidates()) for term in self.evidence_terms())
        return sum(terms, start=self.predicate_scores(s, o, t))

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
