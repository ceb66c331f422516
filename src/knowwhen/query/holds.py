"""Whether a fact holds at a time: what the facts say where they do, else how probable it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from knowwhen.dating.head import TimeHead
from knowwhen.dating.holding import new_facts_hold
from knowwhen.dating.judging import Half, link_probability
from knowwhen.dating.moments import Moments
from knowwhen.dating.neighbours import Asked
from knowwhen.errors import BadRequest
from knowwhen.evaluation.questions import Floats
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.dates import parse_period
from knowwhen.facts.table import OPEN, Facts, Ints, span_labels
from knowwhen.facts.timeline import Moment
from knowwhen.models import TemporalModel
from knowwhen.query.answers import UNCALIBRATED, Span, share, span_text
from knowwhen.query.questions import in_column
from knowwhen.query.rows import Errors, Rows, read_all, time_text
from knowwhen.query.when import check_head, fact_ids, mostly_dated
from knowwhen.tabular import Tabular
from knowwhen.text import brief, visible

Basis = Literal["known", "open", "undated", "inferred"]
SAID = {
    "known": "known: a fact states it",
    "open": "inferred: the fact is known, but only one end of its span",
    "undated": "inferred: the fact is known, but not its time",
    "inferred": "inferred: no fact states it",
}


@dataclass(frozen=True)
class Holds(Tabular):
    """The probability that a fact holds at a time, and its basis."""

    question: str
    probability: float  # a mean if the time covers several timestamps
    basis: Basis  # of the last asked timestamp
    spans: tuple[Span, ...]  # when the fact is known to hold
    beyond: bool  # the time is after the last date in the data
    calibrated: bool

    @property
    def known(self) -> bool:
        """Whether a fact states that it holds then."""
        return self.basis == "known"

    def __repr__(self) -> str:
        return brief(self, f"({self.question}): {share(self.probability)}, {self.basis}")

    def to_polars(self) -> pl.DataFrame:
        """One row; `to_dict` also has the spans."""
        return pl.DataFrame([{name: value for name, value in self.to_dict().items() if name != "spans"}])

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        names = ("question", "probability", "known", "basis", "beyond", "calibrated")
        return {**{name: getattr(self, name) for name in names}, "spans": [list(span) for span in self.spans]}

    def __str__(self) -> str:
        lines = [f"({visible(self.question)})", f"probability that it holds: {share(self.probability)}"]
        lines.append(SAID[self.basis] + ("; this is after the last date in the data" if self.beyond else ""))
        if self.spans:
            lines.append(f"facts: {', '.join(span_text(span) for span in self.spans)}")
        return "\n".join(lines if self.calibrated or self.known else [*lines, UNCALIBRATED])


@dataclass(frozen=True, eq=False)
class _Asked:
    """A fact by its ids, the timestamps that are asked for, and how far the time lies past one that stands for it."""

    fact: tuple[int, int, int]
    times: range
    past: int  # units; 0 where the axis has the time
    beyond: bool  # of the whole axis
    text: str


def holds(
    model: TemporalModel,
    head: TimeHead | None,
    dataset: Dataset,
    subject: str,
    predicate: str,
    object: str,
    time: object,
) -> Holds:
    """How probable it is that (subject, predicate, object) holds at a time, also after the last one of the data.

    Where a fact says so, it is certain. Where a fact has one end only, it is the chance that it has begun, or not yet
    ended. Otherwise a network judges, calibrated on held-out facts against corrupted ones.
    """
    asked = _read(dataset, subject, predicate, object, time)
    return holds_ids(model, check_head(head), dataset, [asked])[0]


def holds_batch(
    model: TemporalModel, head: TimeHead | None, dataset: Dataset, rows: Rows, *, errors: Errors = "raise"
) -> list[Any]:
    """The same for many: subject, predicate, object and time of each, in their order, or errors in their place."""
    head = check_head(head)
    found = read_all(rows, 4, lambda *parts: _read(dataset, *parts), errors)
    answers = iter(holds_ids(model, head, dataset, [one for one in found if isinstance(one, _Asked)]))
    return [next(answers) if isinstance(one, _Asked) else one for one in found]


def _read(dataset: Dataset, subject: Any, predicate: Any, object: Any, time: Any) -> _Asked:
    fact, date = fact_ids(dataset, subject, predicate, object), time_text(time)
    names = (dataset.entities.label(fact[0]), dataset.predicates.label(fact[1]), dataset.entities.label(fact[2]))
    with in_column("time"):
        moment = read_moment(dataset, date)
    stand_in = int(dataset.timeline.positions[moment.ids[0]])
    past = 0 if moment.as_of is None else moment.first - stand_in
    return _Asked(fact, moment.ids, past, moment.beyond, ", ".join([*names, date]))


def read_moment(dataset: Dataset, time: str) -> Moment:
    """The time that a date asks for; where the axis does not have it, the last timestamp before it stands for it."""
    if not time:
        raise BadRequest(f"the time is missing; expected a date such as {dataset.timeline.label(-1)}")
    if parse_period(time) is None:
        raise BadRequest(f"{time!r} is not a date; expected one such as {dataset.timeline.label(-1)}")
    return dataset.timeline.moment(time)


def holds_ids(model: TemporalModel, head: TimeHead, dataset: Dataset, asked: Sequence[_Asked]) -> list[Holds]:
    """The same for questions by their ids."""
    facts, labels = [dataset.spans.of(*one.fact) for one in asked], dataset.timeline.labels()
    row = np.repeat(np.arange(len(asked)), [len(one.times) for one in asked])
    s, p, o = (np.array([one.fact[i] for one in asked], np.int64)[row] for i in range(3))
    moments = Moments(s, p, o, np.array([t for one in asked for t in one.times], np.int64))
    past = np.array([one.past for one in asked], np.int64)[row]
    found = _Judgement(model, head, dataset, moments, past)
    found.decide([facts[i] for i in row.tolist()])
    last = np.cumsum([len(one.times) for one in asked]) - 1
    sums = np.bincount(row, found.probability, minlength=len(asked))
    return [
        Holds(
            one.text,
            min(1.0, float(sums[i]) / len(one.times)),
            found.basis[last[i]],
            tuple(span_labels(facts[i], labels)),
            one.beyond,
            head.judge is not None,
        )
        for i, one in enumerate(asked)
    ]


class _Judgement:
    """Probabilities and what they rest on, of many moments."""

    def __init__(self, model: TemporalModel, head: TimeHead, dataset: Dataset, moments: Moments, past: Ints) -> None:
        self.model, self.head, self.dataset, self.moments, self.past = model, head, dataset, moments, past
        self.probability, self.basis = np.ones(len(moments)), list[Basis](["known"] * len(moments))
        self.always = ~mostly_dated(dataset)  # predicates whose facts need no time to be true

    def decide(self, known: Sequence[Facts]) -> None:
        """Each by the strongest that facts say of it; `known` are those of its subject, predicate and object."""
        halves: dict[Half, list[tuple[int, Facts]]] = {"open": [], "undated": []}
        new = []
        for i, facts in enumerate(known):
            basis, fact = self._said(i, facts)
            self.basis[i] = basis
            if basis == "inferred":
                new.append(i)
            elif fact is not None:
                halves[basis].append((i, fact))  # type: ignore[index]
        for name, some in halves.items():
            if some:
                self._half(name, np.array([i for i, _ in some]), Facts.concatenate(*(fact for _, fact in some)))
        if new:
            self._new(np.array(new))

    def _said(self, i: int, facts: Facts) -> tuple[Basis, Facts | None]:
        """What facts say of a moment, and the one that says it where that leaves a doubt."""
        t, later = int(self.moments.time[i]), self.past[i] > 0
        begun, ended = (facts.begin != OPEN) & (facts.begin <= t), (facts.end != OPEN) & (facts.end < t + later)
        told = facts.is_half_open | facts.is_event | facts.is_interval
        certain = told & begun & ~ended & ((facts.end != OPEN) | ((facts.begin == t) & ~later))
        certain |= told & (facts.begin == OPEN) & (facts.end == t) & ~later
        if certain.any() or (facts.is_static.any() and self.always[self.moments.predicate[i]]):
            return "known", None
        running = np.flatnonzero(facts.is_half_open & ((begun & (facts.end == OPEN)) | (facts.end > t)))
        if len(running):
            return "open", facts[running[np.argsort(facts.begin[running], kind="stable")[-1:]]]
        if facts.is_static.any():
            return "undated", facts[facts.is_static][:1]
        return "inferred", None

    def _half(self, name: Half, rows: Ints, facts: Facts) -> None:
        head, t = self.head, self.moments.time[rows]
        asked = Asked.of(facts, head.rows.of(facts))
        along = head.curves(asked, self.model, facts.begin, facts.end)
        curve = along[np.arange(len(rows)), t]
        self._put(rows, head.judge.half(name, curve) if head.judge else curve, along, facts.begin)

    def _new(self, rows: Ints) -> None:
        moments, head = self.moments[rows], self.head
        if head.judge is not None:
            probability = new_facts_hold(head, self.model, moments)
        else:
            probability = link_probability(self.model, moments)
        along = head.curves(Asked(moments.subject, moments.predicate, moments.object, np.full(len(rows), -1)), None)
        self._put(rows, probability, along, np.full(len(rows), OPEN))

    def _put(self, rows: Ints, probability: Floats, along: Floats, begin: Ints) -> None:
        """Probabilities at timestamps; past one that stands for a time, times the chance to last on from there."""
        assert self.head.survival is not None, "recall comes first"
        at = self.dataset.timeline.positions
        likely = (along >= along.max(1, keepdims=True) / 2).argmax(1)  # where the begin is not known
        ages = np.maximum(at[self.moments.time[rows]] - at[np.where(begin == OPEN, likely, begin)], 0)
        columns = (column.tolist() for column in (self.moments.predicate[rows], ages, self.past[rows]))
        lasting = [self.head.survival.lasting(*one) for one in zip(*columns, strict=True)]
        self.probability[rows] = probability * np.array(lasting)
