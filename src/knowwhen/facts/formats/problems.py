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


@dataclass(frozen=True)
class Problem:
    file: str
    line: int
    column: str
    found: str
    expected: str
    row: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.column}: found {self.found}, expected {self.expected}"

    @property
    def cause(self) -> str:
        """What is wrong, without what is different in each row."""
        found = "nothing" if self.found == "nothing" else "another text" if self.column != "line" else "a bad line"
        if self.column == "line" and " columns in " in self.found:
            found = self.found.partition(" in ")[0]
        return f"{self.column}: found {found}, expected {self.expected}"

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("file", "line", "column", "found", "expected")}


@dataclass
class Problems:
    """Collects problems; by default reading stops at the twentieth, with `skip` it goes on without those rows."""

    skip: bool = False
    found: list[Problem] = field(default_factory=list)
    report: Report = field(default_factory=Report)

    def add(self, problem: Problem) -> None:
        self.found.append(problem)
        if not self.skip and len(self.found) >= LIMIT:
            raise BadFacts(f"stopped at {LIMIT} bad rows (--skip-bad reads on without them)", self.found)

    def finish(self) -> None:
        """Raises what was collected, unless bad rows are to be skipped."""
        if self.found and not self.skip:
            rows = "1 bad row" if len(self.found) == 1 else f"{len(self.found)} bad rows"
            raise BadFacts(f"{rows} (--skip-bad reads on without them)", self.found)

    def write(self, path: Path) -> None:
        """The rejects file: each bad row with its place and reason, tab-separated."""
        lines = ["file\tline\tcolumn\tfound\texpected\trow"]
        for p in self.found:
            lines.append(
                "\t".join(visible(cell) for cell in (p.file, str(p.line), p.column, p.found, p.expected, *p.row))
            )
        with writing(path, "name another file with --rejects"):
            write_whole(path, ("\n".join(lines) + "\n").encode())
