"""Dumps of any size with Wikidata's shape and a planted answer: how many statements each rule must remove."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CORE, CORE_PREDICATES = 60, 3  # items that stay: each in at least six facts of frequent predicates
FIRST_LEAF = 1_000_000
FIRST_ARTICLE = 100_000_000
ARTICLE, REVIEW = 13_442_814, 7_318_358  # scholarly article, and a class below it
PREDICATE = {"core": 1000, "rare": 2000, "text": 3000, "leaf": 4000, "cites": 2860, "instance": 31, "subclass": 279}
LANGUAGES = ("en", "de", "fr", "es", "ja", "ru", "ar", "zh")


def snak(predicate: int, value: Any = None, snaktype: str = "value", kind: str = "") -> dict[str, Any]:
    found = {"snaktype": snaktype, "property": f"P{predicate}", "datatype": "wikibase-item"}
    if snaktype == "value":
        kind = kind or ("string" if isinstance(value, str) else "wikibase-entityid")
        found["datavalue"] = {"value": value, "type": kind}  # type: ignore[assignment]
    return found


def item(number: int) -> dict[str, Any]:
    return {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}


def moment(text: str, precision: int = 9, calendar: str = "Q1985727") -> dict[str, Any]:
    model = f"http://www.wikidata.org/entity/{calendar}"
    return {"time": text, "timezone": 0, "before": 0, "after": 0, "precision": precision, "calendarmodel": model}


def statement(main: dict[str, Any], rank: str = "normal", **times: list[dict[str, Any]]) -> dict[str, Any]:
    """A statement with qualifiers P580=[…] and a reference, as most have."""
    found = {"mainsnak": main, "type": "statement", "id": "Q1$0a1b2c3d-4e5f", "rank": rank}
    if times:
        found |= {"qualifiers": times, "qualifiers-order": list(times)}
    reference = {"hash": "9a8b7c6d5e4f", "snaks": {"P248": [snak(248, item(36578))]}, "snaks-order": ["P248"]}
    return {**found, "references": [reference]}


def entity(number: int, statements: list[tuple[int, dict[str, Any]]], kind: str = "item") -> bytes:
    """A line of a dump, without its comma; keys in Wikidata's order."""
    letter = "Q" if kind == "item" else "P"
    texts = {lang: {"language": lang, "value": f'{letter}{number} in "{lang}"'} for lang in LANGUAGES}
    claims: dict[str, list[dict[str, Any]]] = {}
    for predicate, one in statements:
        claims.setdefault(f"P{predicate}", []).append(one)
    links = {f"{lang}wiki": {"site": f"{lang}wiki", "title": f"Title {number}", "badges": []} for lang in LANGUAGES}
    whole = {"type": kind, "id": f"{letter}{number}", "labels": texts, "descriptions": texts}
    return json.dumps({**whole, "aliases": {}, "claims": claims, "sitelinks": links}, separators=(",", ":")).encode()


class Planted:
    """The lines of a dump, and in `expected` what must come of them at the default thresholds."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self.expected: Counter[str] = Counter()

    def lines(self, target_bytes: int) -> Iterator[bytes]:
        """The core first, then items of all fates until the size is reached, then the bracket."""
        yield b"[\n"
        written = 2
        for line in self._all():
            yield line + b",\n"
            written += len(line) + 2
            if written >= target_bytes:
                break
        yield entity(1000, [], kind="property") + b"\n]\n"
        self.expected["properties"] += 1

    def _all(self) -> Iterator[bytes]:
        yield entity(REVIEW, [self._plain(PREDICATE["subclass"], ARTICLE, "removed_rare_predicates")])
        self.expected["items"] += 1
        for number in range(1, CORE + 1):
            yield self._core(number)
        serial = 0
        while True:
            yield self._article(serial) if serial % 3 == 0 else self._leaf(serial)
            serial += 1

    def _plain(
        self, predicate: int, value: int, fate: str, **times: list[dict[str, Any]]
    ) -> tuple[int, dict[str, Any]]:
        self.expected["statements"] += 1
        self.expected[fate] += 1
        return predicate, statement(snak(predicate, item(value)), **times)

    def _core(self, number: int) -> bytes:
        """Linked to the next three of the core, each by another predicate, so that all are in six facts."""
        self.expected["items"] += 1
        year = 1900 + number
        span = {"P580": [snak(580, moment(f"+{year}-00-00T00:00:00Z"), kind="time")]}
        found = []
        for step in range(1, CORE_PREDICATES + 1):
            other = (number + step - 1) % CORE + 1
            found.append(self._plain(PREDICATE["core"] + step, other, "facts", **(span if step == 1 else {})))
        if number <= 20:
            other = (number + 7) % CORE + 1
            found.append(self._plain(PREDICATE["rare"], other, "removed_rare_predicates"))
        return entity(number, found)

    def _leaf(self, serial: int) -> bytes:
        """An item in four facts with the core, too few to stay, among statements that are no facts."""
        self.expected["items"] += 1
        number, core = FIRST_LEAF + serial, [self._random.randint(1, CORE) for _ in range(4)]
        found = [self._plain(PREDICATE["leaf"] + i, other, "removed_rare_entities") for i, other in enumerate(core)]
        found.append(found[0])  # repeated
        text = PREDICATE["text"]
        found += [(text + i, statement(snak(text + i, f"text {serial}"))) for i in range(5)]
        found.append((text, statement(snak(text, item(core[0])), rank="deprecated")))
        found.append((text, statement(snak(text, snaktype="somevalue"))))
        found.append((text, statement(snak(text, 7, snaktype="riddle"))))
        times = [[snak(0, moment(f"+{year}-00-00T00:00:00Z"), kind="time")] for year in (1990, 1980)]
        found.append((text, statement(snak(text, item(core[0])), P580=times[0], P582=times[1])))
        self.expected += Counter(
            statements=10,
            removed_repetitions=1,
            removed_value_not_an_item=5,
            removed_deprecated=1,
            removed_value_unknown_or_none=1,
            removed_unknown_snak_type=1,
            removed_begin_after_end=1,
        )
        return entity(number, found)

    def _article(self, serial: int) -> bytes:
        """An instance of a dropped class, of itself or by a subclass, that cites and is about the core."""
        self.expected["items"] += 1
        kind = ARTICLE if serial % 2 else REVIEW
        cited = self._random.randint(1, CORE)
        links = [(PREDICATE["instance"], kind), (PREDICATE["cites"], FIRST_ARTICLE), (PREDICATE["core"] + 1, cited)]
        return entity(
            FIRST_ARTICLE + serial,
            [self._plain(predicate, value, "removed_dropped_classes") for predicate, value in links],
        )


def write_dump(path: Path, megabytes: float, seed: int = 0) -> Counter[str]:
    """Writes a planted dump (gzip where the name ends in .gz) and returns what is expected of it."""
    planted = Planted(seed)
    with gzip.open(path, "wb", compresslevel=5) if path.suffix == ".gz" else path.open("wb") as file:
        for line in planted.lines(int(megabytes * 1e6)):
            file.write(line)
    return planted.expected
