"""Wikidata's workers inside the one process, so that faults meet what they write too."""

from __future__ import annotations

import mmap
from pathlib import Path

from knowwhen.wikidata import extraction
from knowwhen.wikidata.lines import Parser
from knowwhen.wikidata.parts import Part
from knowwhen.wikidata.windows import Window
from knowwhen.wikidata.workers import extract_lines


class Inline:
    def __init__(self, count: int, buffer_bytes: int, folder: Path, languages: tuple[str, ...]) -> None:
        self._part, self._parser = Part(folder), Parser(languages)
        self._buffer = mmap.mmap(-1, buffer_bytes)

    def __enter__(self) -> Inline:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def buffer(self) -> mmap.mmap:
        return self._buffer

    def give(self, window: Window) -> None:
        extract = extract_lines(self._buffer, window.start, window.stop, self._parser)
        self._part.add(window.number, extract.facts_frame(), extract.labels_frame(), extract.counts)

    def finish(self) -> None:
        pass


extraction.Workers = Inline
