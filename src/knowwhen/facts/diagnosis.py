"""A diagnosis of a source before training: its format, what is odd about it, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from knowwhen.facts.dataset import Dataset
from knowwhen.facts.dates import Granularity
from knowwhen.facts.formats.delimited import NOT_UTF8
from knowwhen.facts.formats.report import FileReport, Report
from knowwhen.facts.formats.tables import NO_TIME
from knowwhen.facts.index.names import normalise
from knowwhen.text import plural, visible

SHOWN = 5  # names, lines and groups of each kind
FEW = 200  # facts: too few to hold some out
UNSEEN = 0.2  # of valid facts: from here on a coarser time axis is worth a try
COARSER = {
    Granularity.MINUTE: Granularity.HOUR,
    Granularity.HOUR: Granularity.DAY,
    Granularity.DAY: Granularity.MONTH,
    Granularity.MONTH: Granularity.YEAR,
}


@dataclass(frozen=True)
class Diagnosis:
    """What reading a source found; `dataset` is None if no row could be read."""

    report: Report
    dataset: Dataset | None
    command: Sequence[str] = ()  # source and options as given, for the command to type next

    @cached_property
    def near_duplicates(self) -> list[list[str]]:
        """Entities whose names differ only in case, accents or spaces, largest groups first."""
        if self.dataset is None:
            return []
        groups: dict[str, list[str]] = {}
        for key in self.dataset.entities.keys:
            groups.setdefault(normalise(key), []).append(key)
        return sorted((names for names in groups.values() if len(names) > 1), key=lambda names: (-len(names), names))

    @cached_property
    def empty_words(self) -> list[str]:
        """Entities whose names are words that tables have for an empty cell, such as NULL."""
        return [] if self.dataset is None else [key for key in self.dataset.entities.keys if key.lower() in NO_TIME]

    @cached_property
    def seen_once(self) -> int:
        """Entities that are in one fact only."""
        if self.dataset is None:
            return 0
        facts = self.dataset.all_facts
        return int((np.bincount(np.concatenate([facts.subject, facts.object])) == 1).sum())

    @cached_property
    def counts(self) -> dict[str, int]:
        if self.dataset is None:
            return {}
        return {**self.dataset.check(), **self.dataset.counts, "entities_seen_once": self.seen_once}

    @property
    def advice(self) -> list[str]:
        """What to change, a sentence each."""
        data, found = self.dataset, list[str]()
        if self._is_misread:
            found.append("name the encoding before you skip rows; cp1252 is the usual one")
        elif self._is_mostly_bad:
            found.append("correct the bad rows, or the options, and check again")
        elif not self.report.rows:
            found.append("there are no rows; expected one fact in each")
        if data is None:
            return found
        coarser = COARSER.get(data.timeline.granularity)
        unseen = self.counts["valid_facts_with_unseen_timestamps"] / max(len(data.valid), 1)
        if unseen >= UNSEEN and coarser:
            found.append(
                f"{unseen:.0%} of validation facts have dates that are not in train: try --granularity {coarser}"
            )
        if 0 < len(data.train) < FEW and (len(data.valid) or len(data.test)) and self._is_split_by_us:
            found.append(f"{len(data.train)} training facts are few: train on all of them with --split 0,0")
        if self.empty_words:
            named = ", ".join(repr(name) for name in self.empty_words)
            found.append(f"if {named} stands for an empty cell, leave it empty: now it is an entity")
        if self.near_duplicates:
            found.append("if names that differ only in case, accents or spaces mean the same, make them equal first")
        return found

    @property
    def next_command(self) -> str:
        """What to type next, with the options that were given and those that are advised."""
        parts = [*self.command] or ["DATA"]
        if self._is_misread:
            return shlex.join(["knowwhen", "data", "check", *parts, "--encoding", "cp1252"])
        if self._is_mostly_bad:
            return shlex.join(["knowwhen", "data", "check", *parts])
        if self.dataset is None:
            return ""
        if self.report.bad_rows and "--skip-bad" not in parts:
            parts.append("--skip-bad")
        if any("--granularity" in advice for advice in self.advice) and "--granularity" not in parts:
            parts += ["--granularity", str(COARSER[self.dataset.timeline.granularity])]
        if any("--split" in advice for advice in self.advice) and "--split" not in parts:
            parts += ["--split", "0,0"]
        return shlex.join(["knowwhen", "train", *parts, "--run", f"runs/{self.dataset.name}"])

    @property
    def _is_misread(self) -> bool:
        """Whether rows were left out because the text is in another encoding."""
        cause = NOT_UTF8.format("…")
        return "--encoding" not in self.command and any(one.startswith(cause) for one in self.report.causes)

    @property
    def _is_mostly_bad(self) -> bool:
        """Whether something else is wrong, which should be mended first."""
        facts = 0 if self.dataset is None else len(self.dataset.all_facts)
        return "--skip-bad" not in self.command and self.report.bad_rows > facts

    @property
    def _is_split_by_us(self) -> bool:
        return len(self.report.files) == 1

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            **self.counts,
            "near_duplicates": self.near_duplicates,
            "files": [file.to_dict() for file in self.report.files],
            "bad_rows": self.report.bad_rows,
            "causes": [
                {"cause": cause, "rows": len(rows), "lines": [row.line for row in rows[:SHOWN]]}
                for cause, rows in self._causes()
            ],
            "notes": self._notes(),
            "advice": self.advice,
            "next": self.next_command,
        }

    def _causes(self) -> list[tuple[str, list[Any]]]:
        return sorted(self.report.causes.items(), key=lambda item: -len(item[1]))

    def _notes(self) -> list[str]:
        return self.report.notes() if self.dataset is None else self.dataset.notes

    def __str__(self) -> str:
        lines = [line for file in self.report.files for line in _file_lines(file)]
        for _, rows in self._causes():
            listed = ", ".join(str(row.line) for row in rows[:SHOWN]) + (" …" if len(rows) > SHOWN else "")
            where = f"line{'s'[: len(rows) > 1]} {listed}"
            lines.append(f"bad: {plural(len(rows), 'row')} ({where}): {rows[0].message}")
        if self.dataset is not None:
            lines += self._facts_lines(self.dataset)
        lines += [f"note: {note}" for note in self._notes() if not note.startswith("skipped ")]
        lines += [f"advice: {advice}" for advice in self.advice]
        if self.next_command:
            lines += [f"next: {self.next_command}"]
        return "\n".join(visible(line) for line in lines)

    def _facts_lines(self, data: Dataset) -> list[str]:
        info, counts = data.info(), self.counts
        sizes = ", ".join(f"{info[split]:,} {split}" for split in ("train", "valid", "test") if info[split])
        kinds = [plural(info[f"{kind}s"], kind) for kind in ("event", "interval") if info[f"{kind}s"]]
        kinds += [f"{info[kind]:,} {kind.replace('_', '-')}" for kind in ("half_open", "static") if info[kind]]
        lines = [f"facts: {len(data.all_facts):,} ({sizes}): {', '.join(kinds)}"]
        lines += [f"names: {plural(info['entities'], 'entity')}, {plural(info['predicates'], 'predicate')}"]
        if self.seen_once:
            lines[-1] += f"; {self.seen_once:,} {'occur' if self.seen_once > 1 else 'occurs'} only once"
        lines += [f"time axis: {data.timeline.span()}, {plural(info['timestamps'], 'timestamp')}"]
        told = {"entities_seen_once", "bad_rows_skipped"}
        lines += [f"{name.replace('_', ' ')}: {n:,}" for name, n in counts.items() if n and name not in told]
        for names in self.near_duplicates[:SHOWN]:
            lines.append(f"nearly the same: {', '.join(repr(name) for name in names[:SHOWN])}")
        if len(self.near_duplicates) > SHOWN:
            lines.append(f"nearly the same: {len(self.near_duplicates) - SHOWN:,} more groups")
        return lines


def _file_lines(file: FileReport) -> list[str]:
    written = [file.kind]
    if file.separator:
        written = [f"text with {file.separator}s", file.encoding, "" if file.has_header else "no header"]
    lines = [f"{file.name}: {', '.join(part for part in written if part)}, {plural(file.rows, 'row')}"]
    if file.columns:
        lines.append("columns: " + ", ".join(f"{ours} from {theirs!r}" for ours, theirs in file.columns.items()))
    if file.renamed:
        lines.append(f"columns without a unique name, renamed: {', '.join(file.renamed)}")
    dates = [(style, count) for style, count in file.date_formats.items() if not style.startswith("9999")]
    if dates:
        lines.append("dates: " + ", ".join(f"{style} ({count:,} distinct)" for style, count in dates))
    return lines
