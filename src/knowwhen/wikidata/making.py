"""From a dump, or from the parts that several machines extracted, to a dataset folder."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol

import duckdb

from knowwhen import checksums
from knowwhen.errors import BadInput, DamagedFile
from knowwhen.facts.formats.folder import DATASHEET, write_sheet
from knowwhen.files import check_new, remove, whole_folder, write_whole, writing
from knowwhen.wikidata.classes import dropped_by_default
from knowwhen.wikidata.datasheet import Sheet
from knowwhen.wikidata.extraction import cores, extract
from knowwhen.wikidata.folder import sizes, write_tables
from knowwhen.wikidata.on_ray import extract_on_ray
from knowwhen.wikidata.parts import AGAIN, Part, check_complete
from knowwhen.wikidata.selection import Selection
from knowwhen.wikidata.settings import ExtractionSettings, SelectionSettings
from knowwhen.wikidata.splitting import HeldOut, hold_out

Engine = Literal["processes", "ray"]
MEMORY = "1GB"  # of duckdb, which spills the rest to disk


class Reporter(Protocol):
    """Whom progress is told."""

    def bytes(self, done: int, total: int | None) -> None: ...

    def say(self, text: str) -> None: ...


def make(
    source: str | Path,
    out: Path,
    extraction: ExtractionSettings,
    selection: SelectionSettings,
    reporter: Reporter,
    *,
    engine: Engine = "processes",
    address: str | None = None,
) -> Sheet:
    """Writes the dataset folder of a dump and returns its datasheet; the same call goes on after a kill.

    The engine is this machine's processes, or the Ray cluster at an address.
    """
    check_new(out)
    folder = parts_folder(out)
    if engine == "ray":
        parts = extract_on_ray(source, folder, extraction, address, reporter.say)
    else:
        parts = [extract(source, folder, extraction, reporter.bytes)]
    sheet = merge(parts, out, selection, reporter)
    with writing(folder, "delete it"):
        remove(folder)
    return sheet


def parts_folder(out: Path) -> Path:
    """Where the extraction of a dataset lies until it is whole."""
    return out.with_name(out.name + ".parts")


def merge(parts: Sequence[Part], out: Path, settings: SelectionSettings, reporter: Reporter) -> Sheet:
    """Writes the dataset folder of all parts of a dump: the same, bit for bit, however many there are."""
    check_complete(parts)
    extracted = sum((part.counts() for part in parts), Counter[str]())
    with writing(out.parent, AGAIN), whole_folder(out) as whole, _database_errors():
        work = whole / "work"  # what does not fit into memory
        work.mkdir()
        selection = Selection(work, MEMORY, cores())
        try:
            held = _select(selection, parts, settings, reporter)
            write_tables(selection, held, whole)
            sheet = Sheet(
                name=out.name,
                manifest=parts[0].manifest(),
                settings=settings,
                sizes=sizes(selection, held),
                counts={**extracted, **selection.counts, "moved_to_train": held.moved, "rounds": selection.rounds},
                damage=max(part.damage for part in parts),
            )
        finally:
            selection.close()
            shutil.rmtree(work)
        write_sheet(whole / DATASHEET, sheet.values())
        write_whole(whole / "DATASHEET.md", sheet.markdown().encode())
        checksums.seal(whole)
    return sheet


def _select(selection: Selection, parts: Sequence[Part], settings: SelectionSettings, reporter: Reporter) -> HeldOut:
    selection.read(parts)
    extracted = selection.counts["extracted_facts"]
    reporter.say(f"{extracted:,} facts extracted")
    selection.place_on(settings.granularity)
    selection.drop_classes({**dropped_by_default(), **settings.drop}, settings.keep)
    selection.prune(settings.min_degree, settings.min_predicate, reporter.say)
    facts = selection.count("SELECT count(*) FROM facts")
    if not facts:
        raise BadInput(
            f"none of {extracted:,} facts is left: every entity needs {settings.min_degree} facts and every predicate "
            f"{settings.min_predicate}; lower --min-degree and --min-predicate for a small dump"
        )
    reporter.say(f"{facts:,} facts left")
    return hold_out(selection.sql, *settings.held_out(facts), settings.seed)


@contextmanager
def _database_errors() -> Iterator[None]:
    """Has the database speak of the disk as Python does."""
    try:
        yield
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        on_disk = (duckdb.IOException, duckdb.OutOfMemoryException)  # the second: no room to spill to
        if not isinstance(error, on_disk) and "No space left" not in reason:
            raise DamagedFile(
                f"cannot read the extracted facts: {reason}; delete the folder of parts, then {AGAIN}"
            ) from error
        raise OSError(reason) from error
