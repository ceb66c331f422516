"""What is known of one entity, and names found by what people type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import polars as pl

from knowwhen.errors import BadRequest
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Facts, Ints
from knowwhen.tabular import Listed, Tabular
from knowwhen.text import brief, plural

Kind = Literal["entity", "predicate"]


@dataclass(frozen=True)
class EntityFact:
    """A fact as seen from one of its entities: `side` says whether that is its subject or its object."""

    side: Literal["subject", "object"]
    predicate: str
    predicate_key: str
    other: str
    other_key: str
    begin: str | None  # None where it is open
    end: str | None


@dataclass(frozen=True)
class EntityFacts(Tabular, Listed[EntityFact]):
    """The known facts of an entity: those it is the subject of first, then by predicate and time."""

    key: str
    name: str
    time: str | None  # as of which they hold; None: whenever
    total: int  # of all of them, also of those that are not listed
    rows: tuple[EntityFact, ...]

    def listed(self) -> tuple[EntityFact, ...]:
        return self.rows

    def __repr__(self) -> str:
        return brief(self, f"of {self.name!r}: {len(self):,} of {plural(self.total, 'fact')}")

    def to_polars(self) -> pl.DataFrame:
        """One fact a row."""
        schema = dict.fromkeys((field.name for field in fields(EntityFact)), pl.String)
        return pl.DataFrame({name: [getattr(row, name) for row in self] for name in schema}, schema=schema)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        about = {name: getattr(self, name) for name in ("key", "name", "time", "total")}
        return {**about, "facts": self.to_dicts()}


@dataclass(frozen=True)
class FoundName:
    """A name that may be meant, and how many facts it is in."""

    key: str
    name: str
    matched: str  # the key or the label, whichever was found
    facts: int


def entity_facts(
    dataset: Dataset, entity: str, time: object = None, *, first: int = 0, limit: int | None = None
) -> EntityFacts:
    """The facts that are known of an entity, with their spans; as of a time where one is given."""
    e, asked = dataset.entities.id(entity), "" if time is None else str(time).strip()
    if asked and not len(dataset.timeline):
        raise BadRequest(f"no fact has a time; leave out the time {asked!r}")
    sides = dataset.spans.about(e)
    if asked:
        moment = dataset.timeline.moment(asked)
        sides = (dataset.timeline.holding(sides[0], moment), dataset.timeline.holding(sides[1], moment))
    facts = Facts.concatenate(*sides)
    is_subject = np.arange(len(facts)) < len(sides[0])
    order = np.lexsort((facts.end, facts.begin, facts.predicate, ~is_subject))
    chosen = order[first : None if limit is None else first + limit]
    rows = tuple(_rows(dataset, facts[chosen], is_subject[chosen].tolist()))
    return EntityFacts(dataset.entities.key(e), dataset.entities.label(e), asked or None, len(facts), rows)


def _rows(dataset: Dataset, facts: Facts, is_subject: list[bool]) -> Iterator[EntityFact]:
    entities, predicates, dates = dataset.entities, dataset.predicates, [*dataset.timeline.labels(), None]
    for (s, p, o, begin, end), subject in zip(facts.rows().tolist(), is_subject, strict=True):
        other = o if subject else s
        yield EntityFact(
            "subject" if subject else "object",
            predicates.label(p),
            predicates.key(p),
            entities.label(other),
            entities.key(other),
            dates[begin],
            dates[end],
        )


def fact_counts(dataset: Dataset, kind: Kind) -> Ints:  # (E,) or (P,)
    """How many known facts each entity or predicate is in."""
    facts = dataset.spans.facts
    if kind == "predicate":
        return np.bincount(facts.predicate, minlength=len(dataset.predicates))
    return np.bincount(np.concatenate([facts.subject, facts.object]), minlength=len(dataset.entities))


def find_names(
    dataset: Dataset, text: str, kind: Kind = "entity", limit: int = 10, counts: Ints | None = None
) -> list[FoundName]:
    """The names someone may be about to type, those with most facts first; `counts` are those of `fact_counts`."""
    if kind not in ("entity", "predicate"):
        raise BadRequest(f"kind is {kind!r}; expected entity or predicate")
    if limit < 1:
        raise BadRequest(f"limit is {limit}; expected at least 1")
    vocabulary = dataset.predicates if kind == "predicate" else dataset.entities
    weights = fact_counts(dataset, kind) if counts is None else counts
    found = vocabulary.lookup.complete(text, weights, limit)
    return [
        FoundName(vocabulary.key(match.id), vocabulary.label(match.id), match.name, int(weights[match.id]))
        for match in found
    ]
