"""One pass over a dump, or over a share of it, into a folder of facts by window; goes on where it was stopped."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

from knowwhen.files import writing
from knowwhen.wikidata.parts import AGAIN, Manifest, Part
from knowwhen.wikidata.settings import ExtractionSettings
from knowwhen.wikidata.stream import Dump
from knowwhen.wikidata.windows import SLACK, windows
from knowwhen.wikidata.workers import Workers

MAX_WORKERS = 8  # more wait for the one that decompresses, and each takes its window of memory
Progress = Callable[[int, int | None], None]  # bytes of the dump that are done, and in all (None: unknown)


def cores() -> int:
    """Those that this process may use, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def extract(
    source: str | Path, folder: Path, settings: ExtractionSettings, progress: Progress, workers: int | None = None
) -> Part:
    """The folder with all that the share of the dump holds; what is finished in it already is not done again."""
    workers = workers or min(cores(), MAX_WORKERS)
    dump = Dump(source, workers)
    try:
        with writing(folder, AGAIN):
            return _extract(dump, Part(folder), settings, workers, progress)
    finally:
        dump.close()


def _extract(dump: Dump, part: Part, settings: ExtractionSettings, workers: int, progress: Progress) -> Part:
    size = settings.window_megabytes << 20
    manifest = Manifest(
        dump=dump.fingerprint,
        dump_name=dump.name,
        window_bytes=size,
        lang=settings.lang,
        part=settings.part,
        parts=settings.parts,
    )
    dump.watch = lambda: progress(dump.done, dump.size)
    done = part.begin(manifest)
    if part.is_finished:
        return part
    share = itertools.count(settings.part - 1, settings.parts)
    with Workers(workers, size + SLACK, part.folder, settings.languages) as pool:
        for window in windows(dump, size, (number for number in share if number not in done), pool.buffer):
            pool.give(window)
            dump.watch()
        pool.finish()
    part.finish(dump.damage)
    return part
