"""An entity's statements as facts by number, and the count of every statement that is none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

import polars as pl

from knowwhen.wikidata.lines import Claims, Entity, Statement, Times, Value, number_of
from knowwhen.wikidata.times import NO_VALUE, Span, spans

FACTS = {"subject": pl.Int64, "predicate": pl.Int64, "object": pl.Int64, "begin": pl.Int64, "end": pl.Int64}
LABELS = {"kind": pl.String, "number": pl.Int64, "label": pl.String}


@dataclass
class Extract:
    """Facts (subject, predicate, object, first and last day), labels and counts of some entities."""

    facts: list[tuple[int, int, int, int | None, int | None]] = field(default_factory=list)
    labels: list[tuple[str, int, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, entity: Entity) -> None:
        """Takes in an item or the label of a property; other kinds of entities are counted and left."""
        kind = {"item": "Q", "property": "P"}.get(entity.type)
        if kind is None:
            self.counts["entities_of_other_kinds"] += 1
            return
        number = number_of(entity.id, kind)
        if number is None:
            raise ValueError(f"not the id of an entity: {entity.id[:40]!r}")
        if entity.label is not None:
            self.labels.append((kind, number, entity.label))
        if kind == "P":
            self.counts["properties"] += 1
            return
        self.counts["items"] += 1
        self.counts["statements"] += sum(map(len, entity.claims.values()))
        self._add_statements(number, entity.claims)

    def _add_statements(self, subject: int, claims: Claims) -> None:
        # The hot loop: for texts and for facts without time, which most statements are, it calls almost nothing.
        add_fact, texts = self.facts.append, 0
        for key, statements in claims.items():
            predicate = _predicate_number(key)
            if predicate is None:
                self.counts["removed_unknown_predicate"] += len(statements)
                continue
            for statement in statements:
                data = statement.mainsnak.datavalue
                value = data.value if data is not None else None
                if type(value) is str and statement.rank != "deprecated":
                    texts += 1
                    continue
                item = value.item if type(value) is Value else None
                times = statement.qualifiers
                if item is None or statement.rank == "deprecated":
                    self.counts[_why_not(statement)] += 1
                elif type(times) is Times and (times.begin or times.end or times.point):
                    self._add_spans(subject, predicate, item, spans(times, self.counts))
                else:
                    add_fact((subject, predicate, item, None, None))
        if texts:
            self.counts["removed_value_not_an_item"] += texts

    def _add_spans(self, subject: int, predicate: int, object: int, found: list[Span]) -> None:
        for begin, end in found:
            if begin is not None and end is not None and begin > end:
                self.counts["removed_begin_after_end"] += 1
            else:
                self.facts.append((subject, predicate, object, begin, end))
        if len(found) > 1:
            self.counts["added_by_several_times"] += len(found) - 1

    def facts_frame(self) -> pl.DataFrame:
        return pl.DataFrame(self.facts, schema=FACTS, orient="row")

    def labels_frame(self) -> pl.DataFrame:
        return pl.DataFrame(self.labels, schema=LABELS, orient="row")


@lru_cache(maxsize=1 << 16)  # Wikidata has some 13,000
def _predicate_number(key: str) -> int | None:
    """31 for P31, None for what is no predicate."""
    return number_of(key, "P")


def _why_not(statement: Statement) -> str:
    """The rule by which a statement is not a fact."""
    if statement.rank == "deprecated":
        return "removed_deprecated"
    snak = statement.mainsnak
    if snak.snaktype in NO_VALUE:
        return "removed_value_unknown_or_none"
    if snak.snaktype != "value" or snak.datavalue is None:
        return "removed_unknown_snak_type"
    return "removed_value_not_an_item"
