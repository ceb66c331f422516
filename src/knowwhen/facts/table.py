"""Facts by number: the table that everything above works on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from knowwhen.text import brief

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

OPEN = -1  # an unknown begin or end; no timestamp id is negative


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts as columns of ids: subject, predicate, object, begin and end, both inclusive.

    A fact with begin = end is an event. It is half-open if one of them is OPEN, static if both are, and otherwise an
    interval.
    """

    subject: Ints
    predicate: Ints
    object: Ints
    begin: Ints
    end: Ints

    def __post_init__(self) -> None:
        for name, column in self.columns():
            assert column.dtype == np.int64 and column.shape == self.subject.shape, name
            column.setflags(write=False)

    def columns(self) -> Iterator[tuple[str, Ints]]:
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    @classmethod
    def empty(cls) -> Facts:
        return cls(*(np.empty(0, np.int64) for _ in fields(cls)))

    @classmethod
    def concatenate(cls, *parts: Facts) -> Facts:
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def __repr__(self) -> str:
        kinds = {"event": self.is_event, "interval": self.is_interval}
        kinds |= {"half-open": self.is_half_open, "static": self.is_static}
        found = ", ".join(f"{int(rows.sum()):,} {kind}" for kind, rows in kinds.items() if rows.any())
        return brief(self, f"{len(self):,}{': ' if found else ''}{found}")

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: slice | Bools | Ints) -> Facts:
        return Facts(*(column[rows] for _, column in self.columns()))

    def reciprocal(self, predicates: int) -> Facts:
        """The same facts from the object's side: (o, p + P, s), where P is the number of predicates."""
        return Facts(self.object, self.predicate + predicates, self.subject, self.begin, self.end)

    def rows(self) -> Ints:  # (n, 5)
        return np.stack([column for _, column in self.columns()], axis=-1)

    @property
    def is_static(self) -> Bools:
        return np.asarray(np.logical_and(self.begin == OPEN, self.end == OPEN))

    @property
    def is_event(self) -> Bools:
        return np.asarray(np.logical_and(self.begin == self.end, self.begin != OPEN))

    @property
    def is_half_open(self) -> Bools:
        return np.asarray(np.logical_xor(self.begin == OPEN, self.end == OPEN))

    @property
    def is_interval(self) -> Bools:
        """Begin and end are known and differ."""
        return ~(self.is_static | self.is_event | self.is_half_open)


def span_labels(facts: Facts, labels: list[str]) -> list[tuple[str | None, str | None]]:
    """Begin and end of each fact as dates, None where they are open, in order of time."""
    dates = [*labels, None]  # OPEN = -1 takes the last
    order = np.lexsort((facts.end, facts.begin))
    return [(dates[b], dates[e]) for b, e in zip(facts.begin[order], facts.end[order], strict=True)]
