"""What is to be known about a dataset made from a dump: every count, setting and rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from knowwhen.wikidata.classes import dropped_by_default
from knowwhen.wikidata.parts import Manifest
from knowwhen.wikidata.settings import SelectionSettings

# Rules in the order in which they apply: statements of the dump that are no facts, then facts that are left out.
NOT_FACTS = {
    "removed_deprecated": "deprecated by Wikidata's editors",
    "removed_value_not_an_item": "value is not an item (a text, number, time, place, file, property …)",
    "removed_value_unknown_or_none": "unknown or no value (`somevalue`, `novalue`)",
    "removed_unknown_snak_type": "value of an unknown kind",
    "removed_unknown_predicate": "predicate that is not a P number",
    "removed_begin_after_end": "begin after end",
}
LEFT_OUT = {
    "removed_dropped_classes": "subject or object is an instance of a dropped class",
    "removed_outside_kept_classes": "neither subject nor object is an instance of a kept class",
    "removed_repetitions": "duplicate, at the granularity of the time axis",
    "removed_rare_predicates": "predicate in fewer than {min_predicate} facts (in {rounds} rounds)",
    "removed_rare_entities": "subject or object in fewer than {min_degree} facts",
}
NOTES = {
    "lines": "lines with an entity",
    "bad_lines": "lines without an entity, skipped",
    "items": "items",
    "properties": "properties (only their labels are read)",
    "entities_of_other_kinds": "entities of other kinds, skipped",
    "entities_of_dropped_classes": "items that are instances of dropped classes",
    "times_julian": "days on the Julian calendar, converted to the Gregorian",
    "times_coarser_than_a_millennium": "times coarser than a millennium, read as open",
    "times_somevalue": "unknown times (`somevalue`), read as open",
    "times_novalue": "times with no value (`novalue`: still holds), read as open",
    "times_with_an_impossible_day": "times with an impossible day or month, read as their month or year",
    "times_unreadable": "unreadable times, read as open",
    "times_of_unknown_snak_type": "times of an unknown kind, read as open",
    "statements_with_several_times_covered_by_one_span": "statements whose times are out of order, read as one span",
}
KINDS = {
    "intervals": "intervals: begin and end",
    "half_open": "half-open: only a begin or an end",
    "events": "events: begin = end",
    "static": "static: no time",
}


@dataclass(frozen=True)
class Sheet:
    """All that `dataset.toml` and `DATASHEET.md` say; the same whatever number of machines made the dataset."""

    name: str
    manifest: Manifest
    settings: SelectionSettings
    sizes: Mapping[str, str | int]
    counts: Mapping[str, int]
    damage: str = ""  # what the decompressor said where the dump broke off

    @property
    def warnings(self) -> list[str]:
        """What a user should not overlook."""
        found = (
            [f"the dump is damaged or cut off ({self.damage}); the dataset has everything before that"]
            if self.damage
            else []
        )
        if not self.damage and not self.counts.get("closing_brackets"):
            found.append("the dump does not end with ']': it may be cut off; the dataset has everything up to there")
        if bad := self.counts.get("bad_lines"):
            found.append(f"{bad:,} of {self.counts['lines']:,} lines could not be read as entities and were skipped")
        return found

    @property
    def share_with_time(self) -> float:
        facts = sum(int(self.sizes[kind]) for kind in KINDS)
        return 1 - int(self.sizes["static"]) / facts

    def values(self) -> dict[str, str | int | float]:
        """For dataset.toml and --json."""
        rules = {
            name: self.counts.get(name, 0)
            for name in ("statements", *NOT_FACTS, "added_by_several_times", "extracted_facts", *LEFT_OUT)
        }
        notes = {name: self.counts[name] for name in NOTES if self.counts.get(name)}
        return {
            "name": self.name,
            **self.sizes,
            "granularity": str(self.settings.granularity),
            "percent_with_time": round(100 * self.share_with_time, 1),
            "moved_to_train": self.counts["moved_to_train"],
            **rules,
            **notes,
            "warnings": "; ".join(self.warnings),
            "description": f"Facts between Wikidata items, with times by {self.settings.granularity}.",
            "licence": "CC0-1.0",
            "sources": f"Wikidata JSON dump {self.manifest.dump_name}, fingerprint {self.manifest.dump[:16]}",
        }

    def markdown(self) -> str:
        """DATASHEET.md."""
        sizes, facts = self.sizes, sum(int(self.sizes[kind]) for kind in KINDS)
        warnings = "".join(f"**Note:** {warning}.\n\n" for warning in self.warnings)
        kinds = [(text, int(sizes[kind]), f"{100 * int(sizes[kind]) / facts:.1f} %") for kind, text in KINDS.items()]
        notes = [(text, self.counts[name]) for name, text in NOTES.items() if self.counts.get(name)]
        return f"""# {self.name}: a dataset made from Wikidata

{warnings}**What.** {facts:,} facts between {sizes["entities"]:,} items, with {sizes["predicates"]:,} predicates
and {sizes["timestamps"]:,} timestamps by {self.settings.granularity}, {sizes["first"]} to {sizes["last"]}.
Keys are Wikidata's numbers; labels are in `{self.manifest.lang}` (else `mul`, else `en`). Content: CC0-1.0.

**Source.** The Wikidata JSON dump `{self.manifest.dump_name}` (SHA-256 of its size and first 64 KiB:
`{self.manifest.dump}`),
read by `knowwhen wikidata`. The rules follow T. Lacroix, G. Obozinski and N. Usunier, *Tensor Decompositions for
Temporal Knowledge Base Completion*, ICLR 2020, section 4.

## Facts by kind of time

{_table(("kind", "facts", "share"), kinds)}

{100 * self.share_with_time:.1f} % of the facts have a time. Years before Christ are written as in Wikidata:
-44 is 44 BCE, and there is no year 0. A time that is coarser than the axis becomes a wider span, never a false date.

## From statements to facts

{_table(("", "number"), self._ledger())}

## Splits

{_table(("split", "facts"), [(split, int(sizes[split])) for split in ("train", "valid", "test")])}

Valid and test were drawn by a hash with seed {self.settings.seed}. All their entities, predicates and
timestamps also occur in train; {self.counts["moved_to_train"]:,} drawn facts stayed in train for that reason.

## Reading the dump

{_table(("", "number"), notes)}

## Classes

{self._classes()}
"""

    def _ledger(self) -> list[tuple[str, int]]:
        """Statements, minus and plus what each rule does, down to the facts."""
        names = {"min_degree": self.settings.min_degree, "min_predicate": self.settings.min_predicate}
        texts = {name: text.format(**names, rounds=self.counts["rounds"]) for name, text in LEFT_OUT.items()}
        return [
            ("**statements of items**", self.counts.get("statements", 0)),
            *((f"− {text}", self.counts.get(name, 0)) for name, text in NOT_FACTS.items()),
            ("+ additional facts of statements with several times", self.counts.get("added_by_several_times", 0)),
            ("**facts extracted**", self.counts["extracted_facts"]),
            *((f"− {text}", self.counts[name]) for name, text in texts.items()),
            ("**facts**", sum(int(self.sizes[kind]) for kind in KINDS)),
        ]

    def _classes(self) -> str:
        """Which classes were dropped and kept, by number and name."""
        kept = self.settings.keep
        dropped = {**dropped_by_default(), **self.settings.drop}
        lines = [f"- dropped: Q{number} {name}".rstrip() for number, name in dropped.items()]
        return "\n".join([*lines, *(f"- kept: Q{number} {name}".rstrip() for number, name in kept.items())])


def _table(header: tuple[str, ...], rows: Iterable[tuple[str | int, ...]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        lines.append("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in row) + " |")
    return "\n".join(lines)
