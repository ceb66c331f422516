"""What reading a source found besides its facts: how it was written, which columns were used, what was mended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from knowwhen.text import plural

MOST = 0.5  # of the rows: so many are bad that something else must be wrong


class BadRow(Protocol):
    """A row that was skipped."""

    @property
    def line(self) -> int: ...

    @property
    def column(self) -> str: ...

    @property
    def message(self) -> str: ...

    @property
    def cause(self) -> str: ...


@dataclass
class FileReport:
    """One file or frame."""

    name: str
    kind: str  # CSV, Parquet, Turtle …
    rows: int = 0
    separator: str = ""
    encoding: str = ""
    has_header: bool = True
    columns: dict[str, str] = field(default_factory=dict)  # ours -> theirs
    unused: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)  # names of columns whose header was empty or stood twice
    date_formats: dict[str, int] = field(default_factory=dict)
    trimmed: int = 0  # names with blanks around them
    composed: int = 0  # names whose accents were written apart from their letters
    clocks: int = 0  # dates with a time of day that the time axis has no place for

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value not in ("", [], {}, 0)}

    def notes(self) -> list[str]:
        """What nobody should overlook, a line each."""
        found = []
        if not self.has_header:
            found.append(f"{self.name} has no header; read its columns as {', '.join(self.columns)}")
        if self.unused:
            listed = ", ".join(self.unused[:8]) + (" …" if len(self.unused) > 8 else "")
            found.append(f"{self.name}: {plural(len(self.unused), 'unused column')}: {listed}")
        if self.trimmed:
            found.append(f"{self.name}: removed spaces around names in {plural(self.trimmed, 'cell')}")
        if self.composed:
            found.append(f"{self.name}: wrote accents in one way (Unicode NFC) in {plural(self.composed, 'cell')}")
        open_ends = [count for style, count in self.date_formats.items() if style.startswith("9999")]
        if open_ends:
            found.append(f"{self.name}: read dates such as 9999-12-31 as open")
        if self.clocks:
            found.append(
                f"{self.name}: dropped the time of day of {plural(self.clocks, 'date')}; --granularity hour keeps it"
            )
        return found


@dataclass
class Report:
    """All files of a source, and what was left out of them."""

    files: list[FileReport] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)  # files of a folder that hold no split
    causes: dict[str, list[BadRow]] = field(default_factory=dict)  # of rows that were skipped
    rejects: Path | None = None  # the file they were written to

    def skipped(self, problems: Sequence[BadRow], rejects: Path | None) -> None:
        """Notes the bad rows, grouped by what is wrong with them."""
        self.rejects = rejects
        for problem in problems:
            self.causes.setdefault(problem.cause, []).append(problem)

    @property
    def bad_rows(self) -> int:
        return sum(map(len, self.causes.values()))

    @property
    def rows(self) -> int:
        """All rows, good or bad."""
        bad_lines = sum(one.column == "line" for some in self.causes.values() for one in some)
        return sum(file.rows for file in self.files) + bad_lines

    def notes(self) -> list[str]:
        found = [note for file in self.files for note in file.notes()]
        if self.bad_rows:
            share = self.bad_rows / max(self.rows, self.bad_rows)
            most = "most rows are bad: " if share > MOST else ""
            where = f"; they are in {self.rejects}" if self.rejects else ""
            found.append(f"{most}skipped {self.bad_rows:,} of {plural(self.rows, 'row')} ({_percent(share)}){where}")
        if self.ignored:
            found.append(f"ignored files that are not train, valid (or dev) or test: {', '.join(self.ignored)}")
        return found


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else f"{share:.2%}"
