"""Rows that are not facts: where they stand, what is wrong, and what happens to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from knowwhen.errors import BadFacts
from knowwhen.facts.formats.report import Report
from knowwhen.files import write_whole, writing
from knowwhen.text import visible

LIMIT = 20


WHOLE_LINE = "line"  # stands for the column where a whole line is bad


@dataclass(frozen=True)
class Problem:
    """A row that is not a fact: where it is, what is wrong with it, and what was expected."""

    file: str
    line: int
    column: str
    found: str  # '' for an empty cell
    wrong: str  # a sentence in which {} stands for what was found: {} is not a date
    expected: str
    row: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"

    @property
    def message(self) -> str:
        return self._sentence(self.found)

    @property
    def cause(self) -> str:
        """The message without what differs from row to row."""
        return self._sentence("…")

    def _sentence(self, found: str) -> str:
        where = "" if self.column == WHOLE_LINE else f"{self.column}: "
        return f"{where}{self.wrong.format(found)}; expected {self.expected}"

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("file", "line", "column", "found", "expected")}


@dataclass
class Problems:
    """Collects bad rows. Reading stops after 20 of them, or with `skip` leaves them out and continues."""

    skip: bool = False
    found: list[Problem] = field(default_factory=list)
    report: Report = field(default_factory=Report)

    def add(self, problem: Problem) -> None:
        self.found.append(problem)
        if not self.skip and len(self.found) >= LIMIT:
            raise BadFacts(f"stopped after {LIMIT} bad rows; read the others with --skip-bad", self.found)

    def finish(self) -> None:
        """Raises what was collected, unless bad rows are to be skipped."""
        if self.found and not self.skip:
            rows = "1 bad row" if len(self.found) == 1 else f"{len(self.found)} bad rows"
            raise BadFacts(f"{rows}; read the others with --skip-bad", self.found)

    def write(self, path: Path) -> None:
        """The rejects file: each bad row with its place and reason, tab-separated."""
        lines = ["file\tline\tcolumn\tfound\texpected\trow"]
        for p in self.found:
            lines.append(
                "\t".join(visible(cell) for cell in (p.file, str(p.line), p.column, p.found, p.expected, *p.row))
            )
        with writing(path, "name another file with --rejects"):
            write_whole(path, ("\n".join(lines) + "\n").encode())
