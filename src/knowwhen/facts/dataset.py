"""A dataset: facts by split, numbered by two vocabularies and a timeline."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from knowwhen import checksums
from knowwhen.errors import BadInput, BadRequest
from knowwhen.facts.dates import MINUTES, Granularity, Period, parse_period
from knowwhen.facts.formats.folder import DATASHEET, FILLED, write_sheet
from knowwhen.facts.formats.named import RECORDED, SPLITS, TIMES, NamedDataset, ReadOptions
from knowwhen.facts.formats.report import Report
from knowwhen.facts.frames import write_parquet
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.index.ranges import rows_in_order
from knowwhen.facts.recorded import LONG_AGO, Recorded
from knowwhen.facts.table import OPEN, Facts
from knowwhen.facts.timeline import Timeline, filled
from knowwhen.facts.vocabulary import Vocabulary
from knowwhen.files import UNCHANGED, whole_folder, writing
from knowwhen.text import brief, plural

Ints = NDArray[np.int64]


class NoFacts(BadInput):
    """A source without facts; `report` says what happened to its rows."""

    report = Report()


@dataclass(frozen=True, eq=False)
class Dataset:
    """Facts in three splits (train, valid, test), the names of their entities and predicates, and their time axis."""

    name: str
    entities: Vocabulary
    predicates: Vocabulary
    timeline: Timeline
    train: Facts
    valid: Facts = field(default_factory=Facts.empty)
    test: Facts = field(default_factory=Facts.empty)
    counts: Mapping[str, int] = field(default_factory=dict)  # what reading left out or mended
    about: Mapping[str, str] = field(default_factory=dict)  # description, licence, sources
    added: Facts = field(default_factory=Facts.empty)  # after training: known and evidence, in no split
    recorded: Recorded | None = None  # None: nobody says when facts were written down
    report: Report = field(default_factory=Report)  # how its source was written, and what reading it found

    @classmethod
    def of(cls, named: NamedDataset, options: ReadOptions) -> Dataset:
        """Make a dataset from named facts. A source without splits is split with the options' seed and fractions."""
        frame = pl.concat([facts.frame for facts in named.splits.values()], how="diagonal", rechunk=False)
        if not len(frame):
            raise NoFacts("no facts are left: there are no rows, or all are bad or blank")
        granularity = named.with_granularity(options.granularity)
        entities, (subject, object) = Vocabulary.numbering(
            "entity", frame["subject"], frame["object"], labels=named.entity_labels
        )
        predicates, (predicate,) = Vocabulary.numbering("predicate", frame["predicate"], labels=named.predicate_labels)
        timeline, begin, end = _number_times(frame, granularity, named.is_filled)
        facts = Facts(subject, predicate, object, begin, end)
        if "" in named.splits:
            splits, counts = _split(facts, options)
        else:
            stops = np.cumsum([len(part.frame) for part in named.splits.values()])
            parts = [facts[stop - len(p.frame) : stop] for p, stop in zip(named.splits.values(), stops, strict=True)]
            splits, counts = dict(zip(named.splits, parts, strict=True)), {}
        sizes = {**named.counts, **counts}
        if RECORDED in frame.columns:
            days = frame[RECORDED].fill_null(LONG_AGO).to_numpy()
            splits["recorded"] = Recorded.of(facts, timeline, days)  # type: ignore[assignment]
        return cls(named.name, entities, predicates, timeline, counts=sizes, about=named.about, **splits)  # type: ignore[arg-type]

    @property
    def splits(self) -> dict[str, Facts]:
        return {split: self.facts(split) for split in SPLITS}

    def facts(self, split: str) -> Facts:
        if split not in SPLITS:
            raise BadRequest(f"unknown split {split!r}; expected {', '.join(SPLITS)}")
        facts: Facts = getattr(self, split)
        return facts

    @property
    def all_facts(self) -> Facts:
        return Facts.concatenate(*self.splits.values())

    @cached_property
    def known(self) -> KnownFacts:
        """The facts of all splits, with which evaluation on test filters."""
        return KnownFacts(self.all_facts, len(self.predicates), len(self.timeline))

    def known_to(self, split: str) -> KnownFacts:
        """The facts with which evaluation on a split filters: those of the split and of the splits before it.

        No test fact can influence a choice made on validation.
        """
        self.facts(split)  # an error where there is no such split
        if split == SPLITS[-1]:
            return self.known
        if split not in self._known_to:
            facts = Facts.concatenate(*(self.facts(name) for name in SPLITS[: SPLITS.index(split) + 1]))
            self._known_to[split] = KnownFacts(facts, len(self.predicates), len(self.timeline))
        return self._known_to[split]

    @cached_property
    def _known_to(self) -> dict[str, KnownFacts]:
        return {}

    @cached_property
    def without_test(self) -> Dataset:
        """The dataset without its test facts, on which settings are chosen."""
        return replace(self, test=Facts.empty())

    @cached_property
    def spans(self) -> KnownFacts:
        """All known facts, including those added after training, which evaluation ignores."""
        if not len(self.added):
            return self.known
        facts = Facts.concatenate(self.all_facts, self.added)
        return KnownFacts(facts, len(self.predicates), len(self.timeline))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the names, timestamps and facts; the same in every file format."""
        digest = hashlib.sha256(self.timeline.granularity.encode())
        for vocabulary in (self.entities, self.predicates):
            digest.update(str(len(vocabulary)).encode())
            for key in vocabulary.keys:
                digest.update(f"{len(key)}:{key}".encode())
        for array in (self.timeline.positions, *(facts.rows() for facts in self.splits.values())):
            digest.update(f"{array.shape}".encode())
            digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return digest.hexdigest()

    def info(self) -> dict[str, str | int]:
        """Sizes, kinds of facts and time span, as `knowwhen data info --json` prints them."""
        facts = self.all_facts
        return {
            "name": self.name,
            **{split: len(part) for split, part in self.splits.items()},
            "entities": len(self.entities),
            "predicates": len(self.predicates),
            "timestamps": len(self.timeline),
            "granularity": str(self.timeline.granularity),
            "first": self.timeline.label(0) if len(self.timeline) else "",
            "last": self.timeline.label(-1) if len(self.timeline) else "",
            "events": int(facts.is_event.sum()),
            "intervals": int(facts.is_interval.sum()),
            "half_open": int(facts.is_half_open.sum()),
            "static": int(facts.is_static.sum()),
            **self.counts,
            "hash": self.hash,
        }

    def known_by(self, date: str) -> Dataset:
        """The dataset as it was known on a date: without facts recorded later."""
        if self.recorded is None:
            raise BadRequest(
                f"{self.name} does not say when its facts were recorded; import it with --columns recorded=COLUMN"
            )
        period, recorded = parse_period(date), self.recorded
        if period is None:
            raise BadRequest(f"{date!r} is not a date; expected a day, month or year, such as 2020-06-30")
        parts = {name: getattr(self, name) for name in (*SPLITS, "added")}
        return replace(
            self,
            **{name: part[recorded.by(part, self.timeline, period.last)] for name, part in parts.items()},
        )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(part):,} {split}" for split, part in self.splits.items() if len(part))
        names = f"{plural(len(self.entities), 'entity')}, {plural(len(self.predicates), 'predicate')}"
        return brief(self, f"{self.name!r}: {sizes} facts, {names}, {self.timeline.span()}")

    @property
    def notes(self) -> list[str]:
        """Warnings to read before training, one per line."""
        found = self.report.notes()
        if not len(self.timeline) and len(self.train):
            found.append("no fact has a time; if a column holds it, name it: --columns time=A, or begin=A,end=B")
        return found

    def check(self) -> dict[str, int]:
        """Counts of duplicates, of facts in two splits, and of facts about things that train never sees."""
        rows = {split: part.rows() for split, part in self.splits.items()}
        train = _distinct(rows["train"])
        seen = {
            "entities": np.union1d(self.train.subject, self.train.object),
            "predicates": np.unique(self.train.predicate),
            "timestamps": np.unique(np.concatenate([self.train.begin, self.train.end])),
        }
        report = {f"duplicates_in_{split}": len(part) - len(_distinct(part)) for split, part in rows.items()}
        for split in ("valid", "test"):
            report[f"{split}_facts_also_in_train"] = int(np.isin(_distinct(rows[split]), train).sum())
        report["test_facts_also_in_valid"] = int(np.isin(_distinct(rows["test"]), _distinct(rows["valid"])).sum())
        for split in ("valid", "test"):
            part = self.facts(split)
            unseen = ~np.isin(part.subject, seen["entities"]) | ~np.isin(part.object, seen["entities"])
            report[f"{split}_facts_with_unseen_entities"] = int(unseen.sum())
            report[f"{split}_facts_with_unseen_predicates"] = int((~np.isin(part.predicate, seen["predicates"])).sum())
            times = [(~np.isin(end, seen["timestamps"])) & (end != OPEN) for end in (part.begin, part.end)]
            report[f"{split}_facts_with_unseen_timestamps"] = int((times[0] | times[1]).sum())
        return report

    def named(self, facts: Facts) -> pl.DataFrame:
        """Facts as a polars table: names, and begin and end as dates or null."""
        dates = pl.Series([*self.timeline.labels(), None], dtype=pl.String)  # OPEN = -1 takes the last
        return pl.DataFrame(
            {
                "subject": self.entities.decode(facts.subject),
                "predicate": self.predicates.decode(facts.predicate),
                "object": self.entities.decode(facts.object),
                "begin": dates.gather(facts.begin % len(dates)),
                "end": dates.gather(facts.end % len(dates)),
            }
        )

    def save(self, folder: Path) -> None:
        """Write a dataset folder. It appears once it is complete, and loads back with the same hash."""
        with writing(folder, UNCHANGED), whole_folder(folder) as aside:
            self._write(aside)
            checksums.seal(aside)

    def _with_days(self, facts: Facts) -> pl.DataFrame:
        """Facts as people read them, with the day on which each was recorded where that is known."""
        if self.recorded is None:
            return self.named(facts)
        days = self.recorded.days_of(facts, self.timeline).tolist()
        texts = [None if day == LONG_AGO else str(Period(day, day)) for day in days]
        return self.named(facts).with_columns(pl.Series(RECORDED, texts, dtype=pl.String))

    def _write(self, folder: Path) -> None:
        for split, facts in self.splits.items():
            if split == "train" or len(facts):
                write_parquet(self._with_days(facts), folder / f"{split}.parquet")
        for stem, vocabulary in (("entities", self.entities), ("predicates", self.predicates)):
            labels = vocabulary.labels if vocabulary.labels is not None else pl.Series([None] * len(vocabulary))
            table = pl.DataFrame({"key": vocabulary.keys, "label": labels.cast(pl.String)})
            write_parquet(table, folder / f"{stem}.parquet")
        write_sheet(folder / DATASHEET, {**self.info(), **self._axis(), **self.about})

    def _axis(self) -> dict[str, str]:
        """What the folder has to say of its time axis, to be read back the same."""
        facts = self.all_facts
        occurring = np.unique(np.concatenate([facts.begin, facts.end]))
        return {"axis": FILLED} if len(occurring[occurring != OPEN]) < len(self.timeline) else {}


def _number_times(frame: pl.DataFrame, granularity: Granularity, is_filled: bool) -> tuple[Timeline, Ints, Ints]:
    """The timeline of all begins and ends, filled up where that is wanted, and both columns numbered on it."""
    minutes = pl.concat([frame[name].unique() for name in TIMES]).unique().drop_nulls().sort()
    at = np.array([granularity.position(*divmod(minute, MINUTES)) for minute in minutes], dtype=np.int64)
    positions = np.unique(at)
    if is_filled:
        begin, end = (
            frame[name].replace_strict(minutes, pl.Series(at), default=None, return_dtype=pl.Int64) for name in TIMES
        )
        known = (column.is_not_null().to_numpy() for column in (begin, end))
        positions = filled(begin.fill_null(0).to_numpy(), end.fill_null(0).to_numpy(), *known)
    ids = pl.Series(np.searchsorted(positions, at))
    begins, ends = (
        frame[name].replace_strict(minutes, ids, default=None, return_dtype=pl.Int64).fill_null(OPEN).to_numpy()
        for name in TIMES
    )
    return Timeline(granularity, positions), begins, ends


def _split(facts: Facts, options: ReadOptions) -> tuple[dict[str, Facts], dict[str, int]]:
    """A partition of the distinct facts by seed, the same whatever their order in the file."""
    if not (min(options.fractions) >= 0 and sum(options.fractions) < 1):
        raise BadRequest(f"fractions is {options.fractions}; expected two numbers with a sum below 1")
    distinct = _in_order(facts)
    order = np.random.default_rng(options.seed).permutation(len(distinct))
    valid, test = (round(fraction * len(distinct)) for fraction in options.fractions)
    # distinct[np.sort(order[…])] of each part, without sorting
    part = np.full(len(distinct), SPLITS.index("train"), np.int8)
    part[order[:valid]] = SPLITS.index("valid")
    part[order[valid : valid + test]] = SPLITS.index("test")
    duplicates = len(facts) - len(distinct)
    return {split: distinct[part == number] for number, split in enumerate(SPLITS)}, (
        {"duplicates_left_out": duplicates} if duplicates else {}
    )


def _in_order(facts: Facts) -> Facts:
    """The different facts in the order of their columns: np.unique(facts.rows(), axis=0)."""
    ordered = facts[rows_in_order([column for _, column in facts.columns()])]
    first = np.ones(len(facts), np.bool_)
    first[1:] = False
    for _, column in ordered.columns():
        first[1:] |= column[1:] != column[:-1]
    return ordered if first.all() else ordered[first]


def row_keys(facts: Facts) -> NDArray[np.void]:
    """Each fact as one sortable value."""
    return _as_keys(facts.rows())


def _distinct(rows: Ints) -> NDArray[np.void]:
    return np.unique(_as_keys(rows))


def _as_keys(rows: Ints) -> NDArray[np.void]:
    rows = np.ascontiguousarray(rows)
    return rows.view([("", rows.dtype)] * rows.shape[1]).ravel()
