"""Names of entities and predicates, numbered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from knowwhen.errors import UnknownName
from knowwhen.facts.index.names import Lookup
from knowwhen.text import brief, plural

Ints = NDArray[np.int64]

SUGGESTIONS = 5  # names in an error
SLOTS = 1 << 22  # for names by their hash: 16 MB, and one in twenty of Wikidata's 430k entities shares its slot


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Names and their ids. An id is the position of a key; a key may have a label for people.

    Keys are sorted; those added after training follow at the end.
    """

    kind: str  # "entity" or "predicate", for messages
    keys: pl.Series  # (n,) text, unique
    labels: pl.Series | None = None  # (n,) text (Barack Obama of Q76), null where a key has none

    @classmethod
    def of(cls, kind: str, *columns: pl.Series, labels: pl.DataFrame | None = None) -> Vocabulary:
        """The vocabulary of all names in some columns, with labels from a table of key and label."""
        return cls.numbering(kind, *columns, labels=labels)[0]

    @classmethod
    def numbering(
        cls, kind: str, *columns: pl.Series, labels: pl.DataFrame | None = None
    ) -> tuple[Vocabulary, list[Ints]]:
        """The vocabulary of all the names in some columns, and the ids of each column."""
        keys, ids = numbered_names(pl.concat(columns, rechunk=False))
        keys = keys.alias("key")
        if labels is not None:
            first = labels.unique("key", keep="first")
            labels = keys.to_frame().join(first, on="key", how="left", maintain_order="left")
        stops = np.cumsum([len(column) for column in columns])[:-1]
        return cls(kind, keys, None if labels is None else labels["label"]), np.split(ids, stops)

    def __repr__(self) -> str:
        return brief(self, f"of {plural(len(self), self.kind)}")

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, key: object) -> bool:
        return key in self._ids

    def encode(self, names: pl.Series) -> Ints:
        """The ids of a column of known keys."""
        return names.cast(self._enum).to_physical().to_numpy().astype(np.int64)

    def decode(self, ids: Ints) -> pl.Series:
        """The keys of a column of ids."""
        return self.keys.gather(ids)

    def id(self, name: str) -> int:
        """The id of a key, or of a label that belongs to only one key."""
        if name in self._ids:
            return self._ids[name]
        if not is_text(name):
            raise UnknownName(f"no {self.kind} {name!r}: the name is not UTF-8 text", kind=self.kind, name=name)
        labelled = self._labelled.get(name, [])
        if len(labelled) == 1:
            return labelled[0]
        if labelled:
            keys = [self.key(i) for i in labelled[:SUGGESTIONS]]
            message = f"{len(labelled)} {self._plural} are called {name!r}; use a key: {', '.join(keys)}"
            raise UnknownName(message, keys, kind=self.kind, name=name)
        close = self._close(name)
        raise UnknownName(f"no {self.kind} {name!r}{_suggestion(close)}", close, kind=self.kind, name=name)

    def key_of(self, name: str) -> str:
        """The key of a key or label; an unknown name is returned as it is."""
        return self.key(self.id(name)) if name in self._ids or name in self._labelled else name

    def key(self, id: int) -> str:
        return str(self.keys[id])

    def label(self, id: int) -> str:
        """The label, or the key if there is none."""
        label = None if self.labels is None else self.labels[id]
        return self.key(id) if label is None else str(label)

    @cached_property
    def lookup(self) -> Lookup:
        """Name search that ignores case and accents, completes beginnings and tolerates typos."""
        return Lookup(self.keys, self.labels)

    def _close(self, name: str) -> list[str]:
        """The closest names; where some differ in case and accents alone, those."""
        close = self.lookup.exact(name) or self.lookup.fuzzy(name, SUGGESTIONS)
        return [match.name for match in close[:SUGGESTIONS]]

    @property
    def _plural(self) -> str:
        return {"entity": "entities"}.get(self.kind, f"{self.kind}s")

    @cached_property
    def _enum(self) -> pl.Enum:
        return pl.Enum(self.keys)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {key: i for i, key in enumerate(self.keys)}

    @cached_property
    def _labelled(self) -> dict[str, list[int]]:
        by_label: dict[str, list[int]] = {}
        for i, label in enumerate(self.labels if self.labels is not None else ()):
            if label is not None:
                by_label.setdefault(label, []).append(i)
        return by_label


def _suggestion(names: list[str]) -> str:
    """'; did you mean 'x' or 'y'?', or nothing."""
    *others, last = [repr(name) for name in names] or [""]
    text = f"{', '.join(others)} or {last}" if others else last
    return f"; did you mean {text}?" if text else ""


def is_text(name: str) -> bool:
    """Whether a text can be written: bytes that are not UTF-8 come as halves of characters, which cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


def numbered_names(names: pl.Series, slots: int = SLOTS) -> tuple[pl.Series, Ints]:
    """The different names in order, and the number of each: np.unique(names, return_inverse=True).

    A slot, which is a part of the hash, stands for one name that has it. All names are compared with the one of their
    slot, and the few that are another are numbered by themselves.
    """
    slot = (names.hash() & (slots - 1)).to_numpy().view(np.int64)  # (n,)
    number = np.full(slots, -1, np.int32)
    number[slot] = np.arange(len(names), dtype=np.int32)  # the row of one of the names in each slot
    taken = np.flatnonzero(number >= 0)
    keys = names.gather(number[taken])
    number[taken] = np.arange(len(taken), dtype=np.int32)
    ids = number[slot]
    others = (keys.gather(ids) != names).arg_true()
    if len(others):
        rest = names.gather(others)
        more = rest.unique()
        ids[others.to_numpy()] = len(keys) + rest.cast(pl.Enum(more)).to_physical().to_numpy().astype(np.int32)
        keys = pl.concat([keys, more], rechunk=True)
    order = keys.arg_sort().to_numpy()
    place = np.empty(len(keys), np.int64)
    place[order] = np.arange(len(keys))
    return keys.gather(order), place[ids]
