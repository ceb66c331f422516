"""A trained model as a memory of edges: `valid_at` and `invalid_at` in, and where they are missing, inferred ones out.

Memories of agents keep facts as edges between nodes, with the time from which an edge is valid and the one at which it
stopped being so. Both are dates here, at the granularity of the model's time axis; at `invalid_at` it still holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any

import numpy as np
from pydantic import ValidationError

from knowwhen.dating.neighbours import Asked
from knowwhen.errors import BadInput
from knowwhen.facts.table import OPEN, Facts
from knowwhen.query.holds import holds_batch
from knowwhen.query.when import MOSTLY, check_head, infer, mostly_dated
from knowwhen.serve import requests as ask_for
from knowwhen.serve.adding import new_facts
from knowwhen.trained import TrainedModel


@dataclass(frozen=True)
class Inferred:
    """Dates that no fact tells, and how far to believe them."""

    valid_at: str | None  # None where it is known
    valid_range: tuple[str, str] | None  # holds it with a probability of 80 %
    invalid_at: str | None  # None where it is known, or where that it never ends is more probable
    invalid_range: tuple[str, str] | None
    probability: float | None  # that these dates are right, given what is known; None where there are none
    no_end: float  # the probability that the facts would tell no end


@dataclass(frozen=True)
class Edge:
    """A known fact as an edge; what is inferred of it stands apart."""

    source: str  # keys
    name: str
    target: str
    source_label: str
    name_label: str
    target_label: str
    valid_at: str | None  # as known
    invalid_at: str | None
    inferred: Inferred | None  # None where both are known, or where facts of this name have no time
    holds: float | None  # the probability that it holds at the time that was asked for

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return asdict(self)


@dataclass(frozen=True)
class EdgeMemory:
    """Reads and writes edges of a trained model."""

    model: TrainedModel

    def write(self, edges: Iterable[Mapping[str, Any]]) -> EdgeMemory:
        """The memory with more edges, kept in the model's folder where it has one; other fields of an edge are ignored.

        An edge has `source`, `name` and `target` (or `source_node_uuid`, `target_node_uuid`), and may have `valid_at`
        and `invalid_at`: dates, times or None.
        """
        read = [read_edge(edge) for edge in edges]
        return EdgeMemory(self.model.add(new_facts(self.model.dataset, read)))

    def read(self, entity: str, time: object = None, *, limit: int | None = None) -> list[Edge]:
        """The edges of an entity in order of time; with a time, those that may hold then, and how probable that is."""
        dataset = self.model.dataset
        sides = dataset.spans.about(dataset.entities.id(entity))
        # An edge from an entity to itself is one edge.
        facts = Facts.concatenate(sides[0], sides[1][sides[1].subject != sides[1].object])
        if time is not None:
            facts = dataset.timeline.holding(facts, dataset.timeline.moment(str(time).strip()))
        order = np.lexsort((facts.end, facts.begin))[:limit]
        return self._edges(facts[order], time)

    def _edges(self, facts: Facts, time: object) -> list[Edge]:
        dataset = self.model.dataset
        entities, predicates, dates = dataset.entities, dataset.predicates, [*dataset.timeline.labels(), None]
        edges = []
        for s, p, o, begin, end in facts.rows().tolist():
            keys = (entities.key(s), predicates.key(p), entities.key(o))
            labels = (entities.label(s), predicates.label(p), entities.label(o))
            edges.append(Edge(*keys, *labels, dates[begin], dates[end], None, None))
        for row, inferred in self._inferred(facts).items():
            edges[row] = replace(edges[row], inferred=inferred)
        if time is not None and edges:
            rows = [(edge.source, edge.name, edge.target, time) for edge in edges]
            held = holds_batch(self.model.model, self.model.times, dataset, rows)
            edges = [replace(edge, holds=one.probability) for edge, one in zip(edges, held, strict=True)]
        return edges

    def _inferred(self, facts: Facts) -> dict[int, Inferred]:
        """By row, what is inferred where a date is missing."""
        trained = self.model
        missing = facts.is_half_open | (facts.is_static & mostly_dated(trained.dataset)[facts.predicate])
        rows = np.flatnonzero(missing)
        if not len(rows):
            return {}
        head, some = check_head(trained.times), facts[rows]
        found = infer(head, trained.model, Asked.of(some, head.rows.of(some)), some.begin, some.end)
        labels = trained.dataset.timeline.labels()

        def dates(i: int) -> Inferred:
            begin = None if some.begin[i] != OPEN else labels[found.begin[i]]
            end = None if some.end[i] != OPEN or found.no_end[i] > MOSTLY else labels[found.end[i]]
            ranges = [(labels[low[i]], labels[high[i]]) for low, high in (found.begin_range, found.end_range)]
            return Inferred(
                begin,
                ranges[0] if begin is not None else None,
                end,
                ranges[1] if end is not None else None,
                None if begin is end is None else float(found.probability[i]),
                float(found.no_end[i]) if some.end[i] == OPEN else 0.0,
            )

        return {int(row): dates(i) for i, row in enumerate(rows)}


def read_edge(edge: Mapping[str, Any]) -> ask_for.NewFact:
    """An edge of a memory as a fact."""
    times = {name: value.isoformat() for name, value in edge.items() if isinstance(value, date)}
    try:
        return ask_for.NewEdge.model_validate({**edge, **times}).fact()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{where} of an edge: {first['msg'].lower()}; expected source, name, target and dates") from None
