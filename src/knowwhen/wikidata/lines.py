"""One line of a dump as typed values: what facts and labels are made of, and nothing else of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field

LARGEST = (1 << 53) - 1  # number of an item or property; Wikidata's are below 10^9


def number_of(id: str, kind: str) -> int | None:
    """76 of Q76, None for what is no such number."""
    digits = id[1:]
    if id[:1] != kind or not (digits.isascii() and digits.isdecimal()) or len(digits) > 16:
        return None
    number = int(digits)
    return number if number <= LARGEST else None


class Value(Struct, gc=False):
    """The fields of an item or of a time; None where what a statement says has no such field."""

    id: str | None = None
    numeric_id: int | None = field(default=None, name="numeric-id")
    entity_type: str | None = field(default=None, name="entity-type")
    time: str | None = None
    precision: int | float | None = None  # of a time; coordinates have one too, with fractions
    calendar: str | None = field(default=None, name="calendarmodel")

    @property
    def item(self) -> int | None:
        """76 for Q76, None for what is no item; a dump has the number, the id or both."""
        if self.numeric_id is not None:
            return self.numeric_id if self.entity_type == "item" and 0 < self.numeric_id <= LARGEST else None
        return number_of(self.id, "Q") if self.id else None


class DataValue(Struct, gc=False):
    # A type of value that does not exist yet must not make a whole entity unreadable: any JSON value may stand here.
    value: Value | str | int | float | bool | list[Any] | None = None


class Snak(Struct, gc=False):
    """A value, or that there is one which nobody knows (somevalue), or that there is none (novalue)."""

    snaktype: str
    datavalue: DataValue | None = None

    @property
    def value(self) -> Value | None:
        value = self.datavalue.value if self.datavalue is not None else None
        return value if isinstance(value, Value) else None


class Times(Struct, gc=False):
    """The qualifiers that say when: start time, end time, point in time."""

    begin: tuple[Snak, ...] = field(default=(), name="P580")
    end: tuple[Snak, ...] = field(default=(), name="P582")
    point: tuple[Snak, ...] = field(default=(), name="P585")


class Statement(Struct, gc=False):
    mainsnak: Snak
    rank: str = "normal"
    qualifiers: Times | list[Any] | None = None  # Wikidata writes some empty objects as []


Claims = Mapping[str, list[Statement]]


class Entity(NamedTuple):
    type: str
    id: str
    label: str | None
    claims: Claims  # statements by predicate


class Parser:
    """Reads lines of a dump, with the label in the first of some languages that has one."""

    def __init__(self, languages: tuple[str, ...]) -> None:
        # Fields for the wanted languages only: the hundreds of others are skipped, not built.
        label = msgspec.defstruct("Label", [("value", str)], gc=False)
        names = [f"label{i}" for i in range(len(languages))]
        labels = msgspec.defstruct(
            "Labels",
            [(name, label | None, None) for name in names],
            rename=dict(zip(names, languages, strict=True)).get,
            gc=False,
        )
        head: list[tuple[str, Any] | tuple[str, Any, Any]] = [
            ("type", str),
            ("id", str),
            ("labels", labels | list[Any] | None, None),
        ]
        claims = dict[str, list[Statement]] | list[Any] | None
        self._head = msgspec.json.Decoder(msgspec.defstruct("Head", head, gc=False))
        self._claims = msgspec.json.Decoder(claims)
        self._whole = msgspec.json.Decoder(msgspec.defstruct("Whole", [*head, ("claims", claims, None)], gc=False))
        self._names = names

    def parse(self, line: bytes) -> Entity:
        """The entity of a line without its comma; msgspec.DecodeError for a line that is none.

        The naive form is `self.parse_whole(line)`. Descriptions, aliases and site links are a third of a dump: where
        the keys stand in Wikidata's own order these are cut away as bytes, unread. A quotation mark inside a text is
        escaped, so `,"claims":` can only be a key.
        """
        labels_end = line.find(b',"descriptions":')
        start = line.find(b',"claims":', labels_end)
        stop = line.rfind(b',"sitelinks":')
        if not 0 < labels_end < start < stop or not line.endswith(b"}"):
            return self.parse_whole(line)
        try:
            head = self._head.decode(line[:labels_end] + b"}")
            claims = self._claims.decode(memoryview(line)[start + len(b',"claims":') : stop])
        except msgspec.DecodeError:
            return self.parse_whole(line)
        return self._entity(head, claims)

    def parse_whole(self, line: bytes) -> Entity:
        """The same, reading every byte."""
        whole: Any = self._whole.decode(line)
        return self._entity(whole, whole.claims)

    def _entity(self, head: Any, claims: Any) -> Entity:
        labels = (getattr(head.labels, name, None) for name in self._names)
        label = next((found.value for found in labels if found is not None), None)
        return Entity(head.type, head.id, label, claims if isinstance(claims, dict) else {})
