"""RDF in any of its syntaxes: triples are facts, and what is said about a triple gives it its times.

Times stand on a reified triple (RDF 1.2's and RDF-star's annotations, rdf:Statement, Wikidata's p:/ps:/pq:) or on the
named graph a triple is in. Triples come as a stream; what is kept of them is what becomes facts, times and labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import polars as pl

from knowwhen.errors import BadDate, BadInput, MissingExtra
from knowwhen.facts.dates import parse_period
from knowwhen.facts.formats.content import DAMAGED, UNPACKERS, Content, ending, read_content, stem
from knowwhen.facts.formats.headers import HEADERS, NAMES
from knowwhen.facts.formats.named import TIMES, NamedDataset, ReadOptions, check_names_and_times
from knowwhen.facts.formats.problems import Problems
from knowwhen.facts.formats.report import FileReport
from knowwhen.facts.frames import check_regular

SYNTAXES = {
    ".ttl": "TURTLE", ".nt": "N_TRIPLES", ".nq": "N_QUADS", ".trig": "TRIG", ".rdf": "RDF_XML", ".owl": "RDF_XML",
    ".jsonld": "JSON_LD", ".n3": "N3",
}  # fmt: skip
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
OURS = "urn:knowwhen:"  # of names that are no IRIs, and of what we say about facts
LABELS = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
)
# Where Wikidata says how exact a date is: a qualifier leads to a value, and that has a precision.
VALUE = re.compile(r"https?://www\.wikidata\.org/prop/qualifier/value/(P\d+)")
PRECISION = "http://wikiba.se/ontology#timePrecision"
APART = re.compile(r"https?://www\.wikidata\.org/(?:reference|value)/.*")  # nodes that belong to statements
WIKIDATA = re.compile(r"(https?://www\.wikidata\.org/)prop/(direct/|statement/|qualifier/|)(P\d+)")
PARTS = {f"{RDF}subject": "subject", f"{RDF}predicate": "predicate", f"{RDF}object": "object"}
# What says when, by the last part of its IRI: startDate, valid_from, Wikidata's P580, P582 and P585.
WHEN = {name.replace("_", ""): end for end in ("time", *TIMES) for name in HEADERS[end] if len(name) > 1}
WHEN |= {"p580": "begin", "p582": "end", "p585": "time", "attime": "time", "intime": "time", "pointintime": "time"}


class Rdf:
    name = "rdf"
    about = "RDF: Turtle, N-Triples, N-Quads, TriG, RDF/XML or JSON-LD, with times on statements or named graphs"
    is_folder = False

    def matches(self, path: Path) -> bool:
        return ending(path) in SYNTAXES

    def read(self, path: Path, options: ReadOptions, problems: Problems) -> NamedDataset:
        check_regular(path)
        with _quads(path) as quads:
            return dataset_of(_collected(quads, path), str(path), stem(path), ending(path), options, problems)


def read_rdf(content: Content, options: ReadOptions, problems: Problems) -> NamedDataset:
    """The same of bytes that are already here."""
    quads = _oxigraph().parse(content.data, format=_syntax(content.kind), lenient=True)
    collected = _collected(quads, content.name)
    return dataset_of(collected, content.name, content.stem, content.kind, options, problems)


@dataclass
class Statement:
    """A triple that something is said about."""

    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    times: dict[str, str] = field(default_factory=dict)

    @property
    def triple(self) -> tuple[str | None, str | None, str | None]:
        return self.subject, self.predicate, self.object


@dataclass
class Collected:
    """What a stream of quads holds."""

    triples: list[tuple[str, str, str, str]] = field(default_factory=list)  # and the graph, '' where it has none
    statements: dict[str, Statement] = field(default_factory=dict)
    times: dict[str, dict[str, str]] = field(default_factory=dict)  # by what they are said about
    values: dict[str, dict[str, str]] = field(default_factory=dict)  # nodes of dates, likewise
    precisions: dict[str, str] = field(default_factory=dict)  # of these nodes
    labels: dict[str, tuple[int, str]] = field(default_factory=dict)  # and how good the language is
    literals: int = 0

    def about(self, node: str) -> Statement:
        return self.statements.setdefault(node, Statement())


def _collected(quads: Any, name: object) -> Collected:
    found = Collected()
    ox = _oxigraph()
    try:
        for quad in quads:
            _collect(found, ox, quad.subject, quad.predicate.value, quad.object, quad.graph_name)
    except (SyntaxError, ValueError, *DAMAGED) as error:
        raise BadInput(f"cannot read {name} as RDF: {(str(error).splitlines() or ['damaged'])[0]}") from error
    return found


def _collect(found: Collected, ox: Any, s: Any, predicate: str, o: Any, graph: Any) -> None:
    subject = _key(s, ox)
    if isinstance(o, ox.Triple):  # rdf:reifies
        statement = found.about(subject)
        statement.subject, statement.predicate = _key(o.subject, ox), plain_predicate(o.predicate.value)
        statement.object = None if isinstance(o.object, (ox.Literal, ox.Triple)) else _key(o.object, ox)
    elif isinstance(o, ox.Literal):
        said = _when(predicate)
        if predicate == PRECISION:
            found.precisions[subject] = o.value
        elif said is not None:
            found.times.setdefault(subject, {}).setdefault(said, o.value)
        elif predicate in LABELS:
            rank = {"en": 0, "": 1, None: 1}.get(o.language, 2)
            if subject not in found.labels or rank < found.labels[subject][0]:
                found.labels[subject] = (rank, o.value)
        else:
            found.literals += 1
    elif predicate in PARTS:
        value = plain_predicate(o.value) if predicate.endswith("predicate") else _key(o, ox)
        setattr(found.about(subject), PARTS[predicate], value)
    else:
        _collect_link(found, subject, predicate, _key(o, ox), "" if isinstance(graph, ox.DefaultGraph) else graph.value)


def _collect_link(found: Collected, subject: str, predicate: str, object: str, graph: str) -> None:
    """A triple between two nodes: a fact, or a part of Wikidata's statements."""
    match = WIKIDATA.fullmatch(predicate)
    if VALUE.fullmatch(predicate) and (said := _when(predicate)):
        found.values.setdefault(subject, {}).setdefault(said, object)
    elif APART.fullmatch(subject):
        pass
    elif match and match[2] == "":  # p: leads to the statement
        statement = found.about(object)
        statement.subject, statement.predicate = subject, plain_predicate(predicate)
    elif match and match[2] == "statement/":
        found.about(subject).object = object
    elif not (match and match[2] == "qualifier/"):
        found.triples.append((subject, plain_predicate(predicate), object, graph))


def dataset_of(
    found: Collected, name: str, called: str, kind: str, options: ReadOptions, problems: Problems
) -> NamedDataset:
    """The facts of a stream that is through."""
    rows, incomplete = _facts(found)
    report = FileReport(name, f"RDF ({SYNTAXES[kind].replace('_', '-').title()})", rows=len(rows))
    problems.report.files.append(report)
    schema = {**dict.fromkeys((*NAMES, *TIMES), pl.String), "line": pl.Int64}
    frame = pl.DataFrame([(*row, i) for i, row in enumerate(rows, 1)], schema=schema, orient="row")
    facts = check_names_and_times(frame, name, problems, clock=options.has_clock)
    report.clocks = facts.clocks
    entities = pl.concat([frame["subject"], frame["object"]]).unique().drop_nulls()
    counts = {"literal_values_left_out": found.literals, "incomplete_statements_left_out": incomplete}
    return NamedDataset(
        {"": facts},
        name=called,
        is_filled=True,
        entity_labels=_labels(entities, found),
        predicate_labels=_labels(frame["predicate"].unique().drop_nulls(), found),
        counts={key: count for key, count in counts.items() if count},
    )


def _facts(found: Collected) -> tuple[list[tuple[str | None, ...]], int]:
    """Subject, predicate, object, begin and end of each fact, and how many statements lack a part."""
    rows: list[tuple[str | None, ...]] = []
    incomplete, said = 0, set()
    for node, statement in found.statements.items():
        if None in statement.triple:
            incomplete += 1
            continue
        said.add(statement.triple)
        rows.append((*statement.triple, *_ends(_exact(found, node))))
    for subject, predicate, object, graph in found.triples:
        # What is asserted and reified is one fact, and what is said about a statement is none.
        if subject not in found.statements and (subject, predicate, object) not in said:
            rows.append((subject, predicate, object, *_ends(found.times.get(graph, {}) if graph else {})))
    return rows, incomplete


def _exact(found: Collected, node: str) -> dict[str, str]:
    """The times of a statement, as exact as Wikidata says: a year is written as its first day."""
    times = found.times.get(node, {})
    for said, value in found.values.get(node, {}).items():
        if said in times and (precision := found.precisions.get(value, "")).isdecimal():
            with suppress(BadDate):  # it is reported later, with its row
                times = {**times, said: str(parse_period(times[said], int(precision)) or times[said])}
    return times


def _when(predicate: str) -> str | None:
    """Whether a predicate says begin, end or time, by the last part of its IRI."""
    return WHEN.get(_local(predicate).replace("_", "").replace("-", "").lower())


def _ends(times: dict[str, str]) -> tuple[str | None, str | None]:
    if "begin" not in times and "end" not in times:
        return times.get("time"), times.get("time")
    return times.get("begin"), times.get("end")


def _labels(keys: pl.Series, found: Collected) -> pl.DataFrame:
    """The label of each key; where there is none, the last part of its IRI."""
    labels = [found.labels[key][1] if key in found.labels else _readable(key) for key in keys]
    return pl.DataFrame({"key": keys, "label": labels}, schema={"key": pl.String, "label": pl.String})


def plain_predicate(iri: str) -> str:
    """One key for a predicate of Wikidata, whichever of its ways it was said in; a name of ours is itself."""
    return WIKIDATA.sub(r"\1entity/\3", iri) if not iri.startswith(OURS) else _name(iri)


def _key(term: Any, ox: Any) -> str:
    return f"_:{term.value}" if isinstance(term, ox.BlankNode) else _name(str(term.value))


def _name(iri: str) -> str:
    """The name that an IRI of ours stands for."""
    return unquote(iri.removeprefix(OURS)) if iri.startswith(OURS) else iri


def iri_of(name: str) -> str:
    """The IRI of a key: itself, or one of ours with its name in it."""
    is_iri = re.fullmatch(r"(?:https?|urn|ftp|mailto):[^\s<>\"{}|^`\\]+", name)
    return name if is_iri and not name.startswith(OURS) else OURS + quote(name, safe="")


def _local(iri: str) -> str:
    """The last part of an IRI."""
    return re.split(r"[#/:]", iri.rstrip("/#"))[-1]


def _readable(key: str) -> str | None:
    return unquote(_local(key)).replace("_", " ").strip() or None if "://" in key else None


@contextmanager
def _quads(path: Path) -> Iterator[Any]:
    """The quads of a file as a stream, unpacked on the way."""
    suffix, syntax = path.suffix.lower(), _syntax(ending(path))
    ox = _oxigraph()
    with ExitStack() as stack:
        try:
            if suffix in UNPACKERS:
                file = stack.enter_context(UNPACKERS[suffix](path))
                quads = ox.parse(file, format=syntax, lenient=True)
            elif suffix in SYNTAXES:
                quads = ox.parse(path=str(path), format=syntax, lenient=True)
            else:
                quads = ox.parse(read_content(path).data, format=syntax, lenient=True)
        except (SyntaxError, ValueError, *DAMAGED) as error:
            raise BadInput(f"cannot read {path} as RDF: {error}") from error
        yield quads


def _syntax(kind: str) -> Any:
    if kind not in SYNTAXES:
        raise BadInput(f"{kind!r} is not an RDF file extension; expected {', '.join(SYNTAXES)}")
    return getattr(_oxigraph().RdfFormat, SYNTAXES[kind])


def _oxigraph() -> Any:
    try:
        import pyoxigraph
    except ImportError as error:
        raise MissingExtra("reading and writing RDF", "rdf") from error
    return pyoxigraph
