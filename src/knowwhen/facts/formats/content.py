"""The bytes of a file, of standard input or of an open file: unpacked, and as UTF-8 whatever they were written in."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import zstandard

from knowwhen.errors import BadInput, BadRequest
from knowwhen.facts.frames import check_regular
from knowwhen.limits import check_unpacked

READ = 8 << 20  # bytes unpacked at once
ZIP, XLSX = ".zip", ".xlsx"
UNPACKERS: dict[str, Callable[[Any], IO[bytes]]] = {
    ".gz": gzip.open,  # type: ignore[dict-item]
    ".zst": zstandard.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
COMPRESSED = (*UNPACKERS, ZIP)
DAMAGED = (
    OSError,
    EOFError,
    MemoryError,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,  # a zip file with a password
)
# How files begin, for sources without a name.
BEGINNINGS = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"BZh": ".bz2", b"\xfd7zXZ": ".xz", b"PK\x03\x04": ZIP}
MARKS = {  # of Unicode; the longer first, of which one begins with another
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
UNNAMED = ("standard input", "the file object")
LOOKED_AT = 4096  # bytes, to tell UTF-16 without a mark


@dataclass(frozen=True)
class Content:
    """One file's bytes, unpacked, under the name that messages use."""

    name: str
    kind: str  # the ending that says what is inside, such as .csv
    data: bytes

    @property
    def stem(self) -> str:
        return "facts" if self.name in UNNAMED else stem(Path(self.name)) or "facts"


def read_content(path: Path) -> Content:
    """The content of a file, unpacked by its ending; an empty file is an error."""
    check_regular(path)
    with reading_bytes(path):
        if path.suffix.lower() == ZIP:
            name, data = _only_member(path, path)
            return Content(str(path), Path(name).suffix.lower(), _not_empty(data, path))
        data = _unpacked(path, path.suffix.lower(), path)
    return Content(str(path), ending(path), _not_empty(data, path))


def read_stream(file: IO[Any] | None = None) -> Content:
    """The content of standard input or an open file; what is inside is told by its first bytes, or by its name."""
    file = sys.stdin.buffer if file is None else file
    given = getattr(file, "name", None)
    name = UNNAMED[0] if file is sys.stdin.buffer else given if isinstance(given, str) else UNNAMED[1]
    with reading_bytes(name):
        read = file.read()
        data = read.encode(errors="surrogateescape") if isinstance(read, str) else read
        if not isinstance(data, bytes):
            raise BadRequest(f"reading {name} gives {type(data).__name__}; expected bytes or text")
        inside = name if isinstance(given, str) else ""
        packing = next((suffix for start, suffix in BEGINNINGS.items() if data.startswith(start)), "")
        if packing == ZIP and not _is_workbook(data):
            inside, data = _only_member(io.BytesIO(data), name)
        elif packing and packing != ZIP:
            data = _unpacked(io.BytesIO(data), packing, name)
    return Content(name, ending(Path(inside)) or kind_of(data), _not_empty(data, name))


def kind_of(data: bytes) -> str:
    """The ending that content without a name would have."""
    if data.startswith(b"PAR1"):
        return ".parquet"
    if data.startswith(b"PK\x03\x04"):
        return XLSX
    start = re.sub(rb"\A(?:\s|#[^\n]*\n)+", b"", data[:LOOKED_AT].removeprefix(codecs.BOM_UTF8))
    if start.startswith((b"@prefix", b"PREFIX", b"@base", b"BASE")):
        return ".trig"  # which Turtle is a part of
    if start.startswith((b"<?xml", b"<rdf:RDF")):
        return ".rdf"
    if re.match(rb"(?:<[^>\n]*>|_:\S+)\s+<", start):
        return ".nq"  # which N-Triples are a part of
    if start.startswith((b"{", b"[")) and re.search(rb'"@(?:context|id|graph)"', start):
        return ".jsonld"
    return ".json" if start.startswith(b"[") else ".jsonl" if start.startswith(b"{") else ".csv"


@contextmanager
def reading_bytes(name: object) -> Iterator[None]:
    """Turns what a damaged file says into one line."""
    try:
        yield
    except DAMAGED as error:
        reason = getattr(error, "strerror", None) or error or "not enough memory"
        raise BadInput(f"cannot read {name}: {reason}") from error


def as_utf8(data: bytes, encoding: str | None, name: str) -> tuple[bytes, str]:
    """The text as UTF-8 without a mark, and what it was written in: as given, as its mark says, or UTF-8."""
    if encoding is None:
        mark = next((mark for mark in MARKS if data.startswith(mark)), b"")
        encoding, data = MARKS.get(mark) or _unmarked(data), data[len(mark) :]
        if encoding == "utf-8":
            return data, "UTF-8"
    try:
        return data.decode(encoding).removeprefix("\ufeff").encode(errors="surrogatepass"), encoding.upper()
    except LookupError:
        raise BadRequest(f"unknown encoding {encoding!r}; expected a name such as utf-8, cp1252 or utf-16") from None
    except (UnicodeError, ValueError) as error:
        raise BadInput(f"{name} is not {encoding.upper()} text: {error}; name its encoding with --encoding") from error


def _unmarked(data: bytes) -> str:
    """UTF-16 puts a zero into every other byte of Western text, and UTF-8 none anywhere."""
    start = data[:LOOKED_AT]
    zeros = [start[i::2].count(0) for i in (0, 1)]
    if max(zeros) > 0.3 * len(start) / 2 and min(zeros) == 0:
        return "utf-16-be" if zeros[0] else "utf-16-le"
    return "utf-8"


def ending(path: Path) -> str:
    """The ending that says what is inside: .csv for facts.csv.gz."""
    suffix = path.suffix.lower()
    if suffix == ZIP and not path.with_suffix("").suffix:
        return _ending_in_zip(path)
    return (path.with_suffix("") if suffix in COMPRESSED else path).suffix.lower()


def stem(path: Path) -> str:
    name = path.name.removesuffix(path.suffix) if path.suffix.lower() in COMPRESSED else path.name
    return name.removesuffix(Path(name).suffix)


def _ending_in_zip(path: Path) -> str:
    if not path.is_file():
        return ""
    with reading_bytes(path):
        return Path(_only_member(path, path, read=False)[0]).suffix.lower()


def _only_member(file: Any, name: object, *, read: bool = True) -> tuple[str, bytes]:
    """Name and content of the one file in a zip file."""
    with zipfile.ZipFile(file) as packed:
        members = [
            one for one in packed.infolist() if not one.is_dir() and not one.filename.startswith(("__MACOSX", "."))
        ]
        if len(members) != 1:
            names = ", ".join(one.filename for one in members[:8]) or "nothing"
            raise BadInput(f"{name} contains {len(members)} files ({names}); expected one; unpack it first")
        if not read:
            return members[0].filename, b""
        with packed.open(members[0]) as inside:
            return members[0].filename, _whole(inside, name)


def _is_workbook(data: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return "[Content_Types].xml" in packed.namelist()


def _unpacked(source: Any, packing: str, name: object) -> bytes:
    """The content of a file, unpacked, if it is not too much."""
    if packing not in UNPACKERS:
        return bytes(source.read_bytes())
    with UNPACKERS[packing](source) as file:
        return _whole(file, name)


def _whole(file: IO[bytes], name: object) -> bytes:
    blocks, size = [], 0
    while block := file.read(READ):
        size += len(block)
        check_unpacked(name, size)
        blocks.append(block)
    return b"".join(blocks)


def _not_empty(data: bytes, name: object) -> bytes:
    if not data or data.isspace():  # not data.strip(), without a copy
        raise BadInput(f"{name} is empty; expected one fact per line")
    return data
