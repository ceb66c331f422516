"""KGTK edges: id, node1, label, node2 between tabs; qualifiers are edges about edges, in the same file or beside it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl

from knowwhen.errors import BadDate, BadInput
from knowwhen.facts.dates import parse_period
from knowwhen.facts.formats.content import Content, ending, read_content, stem
from knowwhen.facts.formats.headers import NAMES
from knowwhen.facts.formats.named import TIMES, NamedDataset, ReadOptions, check_names_and_times
from knowwhen.facts.formats.problems import Problems
from knowwhen.facts.formats.rdf import WHEN
from knowwhen.facts.formats.rows import read_rows

COLUMNS = ("node1", "label", "node2")
LIFTED = ("node1;label", "label;label", "node2;label")  # labels that `kgtk lift` puts beside what they belong to
LABELS = ("label", "rdfs:label", "prefLabel")
_DATE = re.compile(r"\^(?P<date>[^/]+)(?:/(?P<precision>\d+))?")
_TEXT = re.compile(r"'(?P<text>.*)'@(?P<language>[\w-]+)|\"(?P<plain>.*)\"", re.S)
_LITERAL = r"^(?:[\"'^@!]|[+-]?\d+(?:\.\d+)?(?:\[.*\])?(?:[a-z]*|Q\d+)$)"  # text, dates, places, numbers with units


class Kgtk:
    name = "kgtk"
    about = (
        "KGTK edges: id, node1, label, node2, with qualifiers in the same file or in qualifiers.tsv beside edges.tsv"
    )
    is_folder = False

    def matches(self, path: Path) -> bool:
        return any(ending(file) == ".tsv" and _is_edges(file) for file in _files(path))

    def read(self, path: Path, options: ReadOptions, problems: Problems) -> NamedDataset:
        tables = [_edges(file, problems) for file in _files(path)]
        if not tables:
            raise BadInput(f"no edges.tsv in {path}; expected a folder with edges.tsv and qualifiers.tsv, or one file")
        return _dataset(pl.concat(tables), str(path), stem(path), options, problems)


def read_kgtk(content: Content, options: ReadOptions, problems: Problems) -> NamedDataset:
    """The same of bytes that are already here."""
    edges = _edges(replace(content, kind=".tsv"), problems)
    return _dataset(edges, content.name, content.stem, options, problems)


def _edges(source: Path | Content, problems: Problems) -> pl.DataFrame:
    """The columns id, node1, label and node2 of one file, the labels of nodes and of edges (or null), and the line."""
    rows, report = read_rows(source, ReadOptions(), problems)
    report.kind, report.rows, report.separator, report.encoding = "KGTK edges", len(rows), "", ""
    problems.report.files.append(report)
    missing = [name for name in COLUMNS if name not in rows.columns]
    if missing:
        raise BadInput(f"no column {missing[0]!r} in {report.name}; KGTK edges need {', '.join(COLUMNS)}")
    return rows.select(
        *(pl.col(name) if name in rows.columns else pl.lit(None, pl.String).alias(name) for name in ("id", *LIFTED)),
        *COLUMNS,
        "line",
    )


def _dataset(edges: pl.DataFrame, name: str, called: str, options: ReadOptions, problems: Problems) -> NamedDataset:
    rows, labels, literals = _facts(edges)
    facts = check_names_and_times(rows, name, problems, clock=options.has_clock)
    counts = {"literal_values_left_out": literals} if literals else {}
    return NamedDataset(
        {"": facts}, name=called, is_filled=True, entity_labels=labels, predicate_labels=labels, counts=counts
    )


def _facts(edges: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Edges between nodes with the times of their qualifiers; labels by key; how many edges lead to literals."""
    is_about_edge = edges["node1"].is_in(edges["id"].drop_nulls().implode())
    qualifiers, plain = edges.filter(is_about_edge), edges.filter(~is_about_edge)
    is_label = plain["label"].is_in(LABELS)
    named = [plain.filter(is_label).select(key="node1", label="node2")]
    named += [plain.select(key=lifted.partition(";")[0], label=lifted).drop_nulls() for lifted in LIFTED]
    labels = pl.concat(named).unique("key", keep="first", maintain_order=True)
    labels = labels.with_columns(pl.Series("label", [_text(text) for text in labels["label"]], pl.String))
    is_literal = plain["node2"].str.contains(_LITERAL).fill_null(value=False) & ~is_label
    facts = plain.filter(~is_label & ~is_literal)
    times: dict[str, dict[str, str]] = {}
    for edge, label, value in qualifiers.select(*COLUMNS).iter_rows():
        end = WHEN.get((label or "").replace("_", "").lower())
        if end is not None and value is not None:
            times.setdefault(edge, {}).setdefault(end, date_of(value))
    ends = [times.get(id, {}) for id in facts["id"]]
    begin, last = ([one.get(end, one.get("time")) for one in ends] for end in TIMES)
    rows = facts.select(*(pl.col(theirs).alias(ours) for ours, theirs in zip(NAMES, COLUMNS, strict=True)), "line")
    rows = rows.with_columns(pl.Series("begin", begin, pl.String), pl.Series("end", last, pl.String))
    return rows, labels, int(is_literal.sum())


def date_of(text: str) -> str:
    """2009-01-20 of ^2009-01-20T00:00:00Z/11; what is no date of KGTK is returned as it is."""
    match = _DATE.fullmatch(text)
    if match is None:
        return text.strip("\"'")
    try:
        period = parse_period(match["date"], int(match["precision"]) if match["precision"] else None)
    except BadDate:
        return match["date"]
    return match["date"] if period is None else str(period)


def _text(text: str | None) -> str | None:
    match = _TEXT.fullmatch(text or "")
    return text if match is None else match["text"] if match["text"] is not None else match["plain"]


def _files(path: Path) -> list[Path]:
    """The file itself, or those of edges and qualifiers in a folder."""
    if not path.is_dir():
        return [path]
    return [file for file in sorted(path.iterdir()) if re.fullmatch(r"(?:edges|qualifiers)\.tsv(?:\.\w+)?", file.name)]


def _is_edges(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        if path.suffix.lower() == ".tsv":
            with path.open("rb") as file:
                header = file.readline(4096)
        else:
            header = read_content(path).data[:4096]
    except (BadInput, OSError):
        return False
    return has_edges(header)


def has_edges(data: bytes) -> bool:
    """Whether the first line of a text is the header of edges."""
    header = data[:4096].partition(b"\n")[0].decode(errors="replace")
    return set(COLUMNS) <= {cell.strip() for cell in header.split("\t")}
