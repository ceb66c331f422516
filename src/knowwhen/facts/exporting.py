"""Facts for other programs: tables, RDF and KGTK, with what is inferred apart from what is known."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from knowwhen.errors import MissingExtra
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.dates import civil, parse_period
from knowwhen.facts.formats.rdf import OURS, RDF, iri_of
from knowwhen.facts.frames import table_bytes
from knowwhen.facts.vocabulary import Vocabulary

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
XSD = "http://www.w3.org/2001/XMLSchema#"
SAID = ("begin", "end", "inferred_begin", "inferred_end")  # dates, in columns of these names
CHANCE = "inferred_probability"
PRECISIONS = {1: 9, 2: 10, 3: 11}  # Wikidata's codes, by the parts of a date


def export_bytes(facts: pl.DataFrame, dataset: Dataset, format: str) -> bytes | memoryview:
    """The content of a file of facts, given as a frame like `Dataset.named`, with inferred dates if there are some."""
    return EXPORTS[format](facts, dataset)


def _turtle(facts: pl.DataFrame, dataset: Dataset) -> bytes:
    """Each fact as a triple, and its dates on a reification of it (RDF 1.2)."""
    try:
        import pyoxigraph as ox
    except ImportError as error:
        raise MissingExtra("writing RDF", "rdf") from error

    def triples() -> Iterator[Any]:
        for name, label in _labels(dataset):
            yield ox.Triple(ox.NamedNode(iri_of(name)), ox.NamedNode(LABEL), ox.Literal(label))
        for number, row in enumerate(facts.iter_rows(named=True), 1):
            nodes = (ox.NamedNode(iri_of(row[name])) for name in ("subject", "predicate", "object"))
            fact = ox.Triple(*nodes)
            yield fact
            node = ox.BlankNode(f"f{number}")
            yield ox.Triple(node, ox.NamedNode(f"{RDF}reifies"), fact)
            for name in SAID:
                if (date := row.get(name)) is not None:
                    yield ox.Triple(node, ox.NamedNode(OURS + name), _literal(ox, date))
            if row.get(CHANCE) is not None:
                chance = ox.Literal(repr(row[CHANCE]), datatype=ox.NamedNode(f"{XSD}double"))
                yield ox.Triple(node, ox.NamedNode(OURS + CHANCE), chance)

    content = io.BytesIO()
    prefixes = {"rdf": RDF, "rdfs": LABEL.removesuffix("label"), "xsd": XSD, "kw": OURS}
    ox.serialize(triples(), content, format=ox.RdfFormat.TURTLE, prefixes=prefixes)
    return content.getvalue()


def _literal(ox: Any, date: str) -> Any:
    parts = _parts(date)
    kind = {1: "gYear", 2: "gYearMonth", 3: "date"}.get(parts) if "T" not in date and not date.startswith("+") else None
    return ox.Literal(date) if kind is None else ox.Literal(date, datatype=ox.NamedNode(XSD + kind))


def _parts(date: str) -> int:
    """1 for a year, 2 for a month, 3 for a day."""
    return date.lstrip("+-").count("-") + 1


def _kgtk(facts: pl.DataFrame, dataset: Dataset) -> bytes:
    """Edges, and behind each the qualifiers with its dates; labels are edges too."""
    lines = ["id\tnode1\tlabel\tnode2"]
    lines += [
        f"l{i}\t{_symbol(name)}\tlabel\t'{_symbol(text)}'@en" for i, (name, text) in enumerate(_labels(dataset), 1)
    ]
    for number, row in enumerate(facts.iter_rows(named=True), 1):
        edge = f"e{number}"
        lines.append("\t".join([edge, *(_symbol(row[name]) for name in ("subject", "predicate", "object"))]))
        said = [(name, _kgtk_date(row[name])) for name in SAID if row.get(name) is not None]
        said += [(CHANCE, repr(row[CHANCE]))] if row.get(CHANCE) is not None else []
        lines += [f"{edge}-{name}\t{edge}\t{name}\t{value}" for name, value in said]
    return ("\n".join(lines) + "\n").encode()


def _kgtk_date(date: str) -> str:
    period = parse_period(date)
    assert period is not None, "a date of the time axis"
    year, month, day = civil(period.first)
    sign = "-" if year < 0 else ""
    return f"^{sign}{abs(year):04}-{month:02}-{day:02}T00:00:00Z/{PRECISIONS[_parts(date.partition('T')[0])]}"


def _symbol(name: str) -> str:
    """A name in one cell."""
    return name.replace("\t", " ").replace("\n", " ").replace("\r", " ")


def _labels(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """Keys and labels of entities and predicates that have one."""
    words: tuple[Vocabulary, ...] = (dataset.entities, dataset.predicates)
    for vocabulary in words:
        if vocabulary.labels is not None:
            yield from (
                (key, label) for key, label in zip(vocabulary.keys, vocabulary.labels, strict=True) if label is not None
            )


EXPORTS: dict[str, Callable[[pl.DataFrame, Dataset], bytes | memoryview]] = {
    "csv": lambda facts, _: table_bytes(facts, ".csv"),
    "jsonl": lambda facts, _: table_bytes(facts, ".jsonl"),
    "parquet": lambda facts, _: table_bytes(facts, ".parquet"),
    "ttl": _turtle,
    "kgtk": _kgtk,
}
ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet", ".ttl": "ttl", ".tsv": "kgtk"}
