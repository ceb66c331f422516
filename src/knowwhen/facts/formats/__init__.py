"""Readers of every format: a source goes in, named facts come out.

A new format is a class with `name`, `about`, `matches(path)` and `read(path, options, problems)`, put into FORMATS.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from knowwhen.errors import BadInput, BadRequest, did_you_mean
from knowwhen.facts.formats.benchmarks import Quadruples, Wikidata12k, Yago15k
from knowwhen.facts.formats.content import Content, read_stream
from knowwhen.facts.formats.folder import Folder
from knowwhen.facts.formats.kgtk import Kgtk, has_edges, read_kgtk
from knowwhen.facts.formats.memory import frame_from
from knowwhen.facts.formats.named import NamedDataset, ReadOptions
from knowwhen.facts.formats.problems import Problems
from knowwhen.facts.formats.rdf import SYNTAXES, Rdf, read_rdf
from knowwhen.facts.formats.rows import ENDINGS
from knowwhen.facts.formats.tables import Tables, frame_of, table_of


class Format(Protocol):
    name: str
    about: str
    is_folder: bool  # and never a single file

    def matches(self, path: Path) -> bool: ...

    def read(self, path: Path, options: ReadOptions, problems: Problems) -> NamedDataset: ...


def read_anything(source: Any, format: str | None, options: ReadOptions, problems: Problems) -> NamedDataset:
    """The named facts of a path, of standard input (-), of an open file, or of a table in memory."""
    if format is not None and format not in FORMATS:
        raise BadRequest(f"unknown format {format!r}; expected {', '.join(FORMATS)}{did_you_mean(format, FORMATS)}")
    if isinstance(source, Path):
        return read_source(source, format, options, problems)
    if source == "-" if isinstance(source, str) else hasattr(source, "read"):
        content = read_stream(None if isinstance(source, str) else source)
        return _reader_of(content, format)(content, options, problems)
    if format not in (None, "table"):
        raise BadRequest(f"a table in memory has no format {format!r}; leave it out")
    return frame_of(frame_from(source), "the table in memory", options, problems)


def _reader_of(content: Content, format: str | None) -> Callable[[Content, ReadOptions, Problems], NamedDataset]:
    """What reads a stream in a format, or in the one that its first bytes show."""
    if format not in (None, *STREAMED):
        raise BadRequest(f"the format {format} cannot be read from {content.name}; expected {', '.join(STREAMED)}")
    if format is None:
        format = "rdf" if content.kind in SYNTAXES else "kgtk" if has_edges(content.data) else "table"
    return STREAMED[format]


STREAMED = {"kgtk": read_kgtk, "rdf": read_rdf, "table": table_of}


FORMATS: dict[str, Format] = {
    f.name: f for f in (Folder(), Quadruples(), Yago15k(), Wikidata12k(), Kgtk(), Rdf(), Tables())
}


def read_source(path: Path, format: str | None, options: ReadOptions, problems: Problems) -> NamedDataset:
    """The named facts of a folder or file, in the format named or the first that knows it."""
    chosen = FORMATS[format] if format else next((f for f in FORMATS.values() if f.matches(path)), None)
    if chosen is None:
        expected = f"a file ending in {', '.join(ENDINGS)}" if path.is_file() else "train.csv or train.txt in it"
        raise BadInput(f"cannot tell the format of {path}; expected {expected}, or --format {'|'.join(FORMATS)}")
    if chosen.is_folder and not path.is_dir():
        raise BadInput(f"{path} is a file; the format {chosen.name} needs a folder")
    return chosen.read(path, options, problems)
