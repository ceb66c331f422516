"""When a fact holds: what is known of it, what is inferred, and which facts place it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
import torch

from knowwhen.dating.beliefs import Belief, shortest_range
from knowwhen.dating.gaps import Facing
from knowwhen.dating.head import TimeHead
from knowwhen.dating.neighbours import Asked
from knowwhen.drawable import Drawable
from knowwhen.errors import BadRequest
from knowwhen.evaluation.questions import Floats
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import OPEN, Bools, Facts, Ints, span_labels
from knowwhen.models import TemporalModel
from knowwhen.query.answers import Span, TimeSpan, share, span_text, sparkline
from knowwhen.query.questions import name_id
from knowwhen.query.rows import COLUMNS, Errors, Rows, name_text, read_all
from knowwhen.tabular import Tabular
from knowwhen.text import brief, table, visible

Ids = tuple[int, int, int]
ALTERNATIVES, REASONS = 3, 3
LEAST_SHOWN = 5e-5  # a smaller probability is not worth a line
MOSTLY = 0.5  # a fact without any time is dated where this share of the training facts of its predicate has one


@dataclass(frozen=True)
class PlacingFact:
    """A known fact that speaks for the begin, and by how much more than for other times."""

    subject: str
    predicate: str
    object: str
    begin: str | None
    end: str | None
    value: float
    keys: tuple[str, str, str]  # of subject, predicate and object


@dataclass(frozen=True)
class FilledSpan:
    """A span of a fact, with what was missing of it: `inferred` names the ends that no fact tells."""

    begin: str
    end: str
    probability: float  # that what is inferred is right
    inferred: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class When(Drawable, Tabular):
    """Begin and end of a fact; `inferred` says which of them no fact states.

    If a fact is known to hold several times, `spans` has all spans, and the other attributes are about the last one.
    """

    question: str
    begin: str | None
    end: str | None
    probability: float  # that begin and end are both right, given the known dates
    begin_range: tuple[str, str]  # contains the begin with a probability of 80 %
    end_range: tuple[str, str]
    no_end: float  # probability that the data has no end for it
    inferred: tuple[str, ...]
    known: tuple[Span, ...]
    alternatives: tuple[TimeSpan, ...]
    reasons: tuple[PlacingFact, ...]
    times: list[str]
    holds: Floats  # (T,): the probability that it holds then
    spans: tuple[FilledSpan, ...] = ()  # if it is known to hold several times, in order of time

    def __repr__(self) -> str:
        inferred = f", inferred {share(self.probability)}" if self.inferred else ", known"
        return brief(self, f"({self.question}): {span_text((self.begin, self.end))}{inferred}")

    def to_polars(self) -> pl.DataFrame:
        """One row per span, in order of time; `begin_inferred` and `end_inferred` mark inferred dates."""
        ends = {f"{end}_inferred": [end in span.inferred for span in self.spans] for end in ("begin", "end")}
        values = {name: [getattr(span, name) for span in self.spans] for name in ("begin", "end", "probability")}
        return pl.DataFrame({**values, **ends})

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        values = {name: getattr(self, name) for name in ("question", "begin", "end", "probability", "no_end")}
        lists = {name: list(getattr(self, name)) for name in ("begin_range", "end_range", "inferred", "times")}
        facts = {name: [asdict(one) for one in getattr(self, name)] for name in ("alternatives", "reasons", "spans")}
        return values | lists | facts | {"known": [list(span) for span in self.known], "holds": self.holds.tolist()}

    def __str__(self) -> str:
        rows = [("", "", "80 % range")]
        for name, value, low, high in (
            ("begin", self.begin, *self.begin_range),
            ("end", self.end, *self.end_range),
        ):
            rows.append((name, f"{value or '?'}{'' if name in self.inferred else ' (known)'}", f"{low} to {high}"))
        lines = [f"({visible(self.question)}, ?)", *sparkline(self.times, self.holds), *table(rows)]
        if self.inferred:
            right = f"{self.inferred[0]} is" if len(self.inferred) == 1 else "begin and end are"
            lines.append(f"probability that the {right} right: {share(self.probability)}")
            if self.no_end >= LEAST_SHOWN:
                lines.append(f"probability that it has no end: {share(self.no_end)}")
            more = [f"{span_text((one.begin, one.end))} ({share(one.probability)})" for one in self.alternatives]
            lines += [f"or: {', '.join(more)}"] if more else []
        if len(self.spans) > 1:
            lines.append(f"holds {len(self.spans)} times: {', '.join(map(_filled_text, self.spans))}")
        lines += [f"because of {visible(_fact_text(fact))} ({fact.value:+.2f})" for fact in self.reasons]
        told = ", ".join(span_text(span) for span in self.known) or "nothing"
        return "\n".join([*lines, f"known: {told}"])


@dataclass(frozen=True, eq=False)
class Inferred:
    """What is inferred of many facts at once."""

    begin: Ints  # (n,) ids of the best span
    end: Ints
    probability: Floats
    no_end: Floats
    begin_range: tuple[Ints, Ints]
    end_range: tuple[Ints, Ints]


def infer(head: TimeHead, model: TemporalModel | None, asked: Asked, begin: Ints, end: Ints) -> Inferred:
    """The best span of each fact, given what is known of begin and end (OPEN where it is not)."""
    parts = [_read(head, belief) for belief in head.believe(asked, model, begin, end)]
    if not parts:  # of no facts
        none, zero = np.zeros(0, np.int64), np.zeros(0)
        return Inferred(none, none, zero, zero, (none, none), (none, none))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    begin, end, probability, no_end, *ranges = columns
    return Inferred(begin, end, probability, no_end, (ranges[0], ranges[1]), (ranges[2], ranges[3]))


def _read(head: TimeHead, belief: Belief) -> tuple[Any, ...]:
    return *(column[:, 0] for column in belief.spans(1)), *_read_ends(head, belief)


def _read_ends(head: TimeHead, belief: Belief) -> tuple[Any, ...]:
    """The chance of no end, and the 80 % ranges of begin and end."""
    low = shortest_range(belief.begins, head.fitted.begin_level, belief.positions)
    high = shortest_range(belief.ends, head.fitted.end_level, belief.positions)
    return 1 - belief.closed, *low, *high


def when(
    model: TemporalModel,
    head: TimeHead | None,
    dataset: Dataset,
    subject: str,
    predicate: str,
    object: str,
    *,
    infer_known: bool = False,
) -> When:
    """When (subject, predicate, object) holds.

    Where a fact of the dataset tells begin and end, they are the answer; where it tells one of them, the other is
    inferred given it. `infer_known` infers both from the other facts alone.
    """
    return when_ids(model, check_head(head), dataset, [fact_ids(dataset, subject, predicate, object)], infer_known)[0]


def when_batch(
    model: TemporalModel,
    head: TimeHead | None,
    dataset: Dataset,
    rows: Rows,
    *,
    infer_known: bool = False,
    errors: Errors = "raise",
) -> list[Any]:
    """The same for many facts: subject, predicate and object of each; with `errors="return"`, errors in their place."""
    head = check_head(head)
    found = read_all(rows, 3, lambda *parts: fact_ids(dataset, *parts), errors)
    answers = iter(when_ids(model, head, dataset, [one for one in found if isinstance(one, tuple)], infer_known))
    return [next(answers) if isinstance(one, tuple) else one for one in found]


def fact_ids(dataset: Dataset, subject: Any, predicate: Any, object: Any, time: Any = None) -> Ids:
    """The ids of a fact that is given by names; a time, which rows of questions may have, is not looked at."""
    names = zip(COLUMNS[:3], (subject, predicate, object), strict=True)
    s, p, o = (name_id(dataset, place, name_text(name)) for place, name in names)
    return s, p, o


def check_head(head: TimeHead | None) -> TimeHead:
    if head is None:
        raise BadRequest("this model has no time head; train with --set dating.passes=4, on facts with times")
    return head


def when_ids(
    model: TemporalModel, head: TimeHead, dataset: Dataset, facts: Sequence[Ids], infer_known: bool = False
) -> list[When]:
    """The same for facts by their ids: all that is to be inferred is inferred together."""
    known = [dataset.spans.of(*fact) for fact in facts]
    parts = [_given(fact, spans, infer_known) for fact, spans in zip(facts, known, strict=True)]
    given = Facts.concatenate(Facts.empty(), *parts)
    asked = Asked.of(given, head.rows.of(given))
    unknown = np.full(len(given), OPEN)
    begin, end = (unknown, unknown) if infer_known else (given.begin, given.end)
    told = [one for belief in head.believe(asked, model, begin, end) for one in _Told.each(head, belief)]
    found, row = [], 0
    for fact, part, spans in zip(facts, parts, known, strict=True):
        here = range(row, row + len(part))
        row += len(part)
        ends = [(int(begin[i]), int(end[i])) for i in here]
        reasons: tuple[PlacingFact, ...] = ()
        if ends[-1][0] == OPEN:
            reasons = _reasons(head, dataset, asked[here[-1] : here[-1] + 1], told[here[-1]].spans[0][0])
        found.append(_answer(dataset, fact, spans, ends, [told[i] for i in here], reasons))
    return found


def _given(fact: Ids, spans: Facts, infer_known: bool) -> Facts:
    """What is known of the spans of a fact, in order of time, all of them or the last; one row where nothing is."""
    dated = spans[~spans.is_static]
    if not len(dated):
        return Facts(*(np.array([i], np.int64) for i in (*fact, OPEN, OPEN)))
    ordered = dated[np.lexsort((dated.end, dated.begin))]
    return ordered[-1:] if infer_known else ordered


@dataclass(frozen=True)
class _Told:
    """What is believed of one question: the best spans as ids, and what is read beside them."""

    spans: list[tuple[int, int, float]]
    ranges: tuple[int, int, int, int]  # of the begin, then of the end
    no_end: float
    holds: Floats  # (T,)

    @classmethod
    def each(cls, head: TimeHead, belief: Belief) -> Iterator[_Told]:
        best = [column.tolist() for column in belief.spans(1 + ALTERNATIVES)]
        no_end, *ranges = _read_ends(head, belief)
        for i in range(len(belief)):
            spans = list(zip(*(column[i] for column in best), strict=True))
            low, high, first, last = (int(ids[i]) for ids in ranges)
            yield cls(spans, (low, high, first, last), float(no_end[i]), belief.holds[i])


def _answer(
    dataset: Dataset,
    fact: Ids,
    known: Facts,
    ends: Sequence[tuple[int, int]],
    told: Sequence[_Told],
    reasons: tuple[PlacingFact, ...],
) -> When:
    """The answer about a fact, from what is given (OPEN where it is not) and believed of each of its spans."""
    labels, (s, p, o), last = dataset.timeline.labels(), fact, told[-1]
    filled = [_filled(one.spans[0], given, labels) for given, one in zip(ends, told, strict=True)]
    best = filled[-1]
    low, high, first, final = (labels[id] for id in last.ranges)
    names = (dataset.entities.label(s), dataset.predicates.label(p), dataset.entities.label(o))
    options = tuple(TimeSpan(labels[a], labels[z], chance) for a, z, chance in last.spans[1:])
    holds = 1 - np.prod([1 - one.holds for one in told], axis=0)
    return When(
        ", ".join(names),
        best.begin,
        best.end,
        best.probability,
        (low, high),
        (first, final),
        last.no_end if "end" in best.inferred else 0.0,
        best.inferred,
        tuple(span_labels(known, labels)),
        options if best.inferred else (),
        reasons,
        labels,
        holds,
        tuple(filled),
    )


def _filled(best: tuple[int, int, float], given: tuple[int, int], labels: list[str]) -> FilledSpan:
    begin, end = (guess if id == OPEN else id for guess, id in zip(best[:2], given, strict=True))
    inferred = tuple(name for name, id in zip(("begin", "end"), given, strict=True) if id == OPEN)
    return FilledSpan(labels[begin], labels[end], best[2] if inferred else 1.0, inferred)


@torch.no_grad()
def _reasons(head: TimeHead, dataset: Dataset, asked: Asked, begin: int) -> tuple[PlacingFact, ...]:
    """The facts whose gaps speak most for a begin: by how much more than for the begins that are expected."""
    around = head.around(asked)
    facing = Facing(around)
    p = torch.tensor(asked.predicate)
    said = head.begins.along(p, facing, head.axis, None, each=True)[0].numpy()  # (f, T)
    said = head.fitted.begin_scale * (said[:, begin] - said.mean(1))
    labels, found = [*dataset.timeline.labels(), None], dict[int, float]()
    for row, value in zip(around.row[0].tolist(), said.tolist(), strict=True):
        if row >= 0:
            found[row] = found.get(row, 0.0) + value
    best = sorted((row for row, value in found.items() if value > 0), key=lambda row: -found[row])[:REASONS]
    rows = head.known[np.array(best, np.int64)].rows().tolist()
    entity, predicate = dataset.entities.label, dataset.predicates.label

    def key(s: int, q: int, o: int) -> tuple[str, str, str]:
        return dataset.entities.key(s), dataset.predicates.key(q), dataset.entities.key(o)

    return tuple(
        PlacingFact(entity(s), predicate(q), entity(o), labels[b], labels[e], found[row], key(s, q, o))
        for row, (s, q, o, b, e) in zip(best, rows, strict=True)
    )


def mostly_dated(dataset: Dataset) -> Bools:  # (P,)
    """Predicates of whose training facts at least half have a time: a fact of these without one lacks it."""
    train, P = dataset.train, len(dataset.predicates)
    dated, all = (np.bincount(some.predicate, minlength=P) for some in (train[~train.is_static], train))
    return np.asarray(dated >= MOSTLY * np.maximum(all, 1))


def fill(
    model: TemporalModel, head: TimeHead | None, dataset: Dataset, *, min_probability: float = 0.0
) -> pl.DataFrame:
    """Every fact, with inferred begins and ends in columns of their own where they are missing.

    A fact without any time is dated only where at least half of the training facts of its predicate have one. An end is
    inferred only where it is more probable than that the fact has none. What is known is never changed; a span less
    probable than `min_probability` is left out.
    """
    head = check_head(head)
    facts = Facts.concatenate(dataset.train, dataset.valid, dataset.test, dataset.added)
    missing = facts.is_half_open | (facts.is_static & mostly_dated(dataset)[facts.predicate])
    rows = np.flatnonzero(missing)
    some = facts[rows]
    place = np.where(rows < len(dataset.train), rows, rows - len(dataset.valid) - len(dataset.test))
    own = (rows < len(dataset.train)) | (rows >= len(facts) - len(dataset.added))
    found = infer(head, model, Asked.of(some, np.where(own, place, -1)), some.begin, some.end)
    sure = found.probability >= min_probability
    names, labels = dataset.named(facts), np.array([*dataset.timeline.labels(), None], dtype=np.object_)

    def column(ids: Ints, wanted: Any) -> list[str | None]:
        filled = np.full(len(facts), OPEN)
        filled[rows] = np.where(sure & wanted, ids, OPEN)
        return labels[filled].tolist()  # type: ignore[no-any-return]

    no_begin, no_end = some.begin == OPEN, (some.end == OPEN) & (found.no_end <= MOSTLY)
    chances, endless = np.full(len(facts), np.nan), np.full(len(facts), np.nan)
    chances[rows] = np.where(sure & (no_begin | no_end), found.probability, np.nan)
    endless[rows] = np.where(some.end == OPEN, found.no_end, np.nan)
    return names.with_columns(
        pl.Series("inferred_begin", column(found.begin, no_begin), pl.String),
        pl.Series("inferred_begin_from", column(found.begin_range[0], no_begin), pl.String),
        pl.Series("inferred_begin_to", column(found.begin_range[1], no_begin), pl.String),
        pl.Series("inferred_end", column(found.end, no_end), pl.String),
        pl.Series("inferred_end_from", column(found.end_range[0], no_end), pl.String),
        pl.Series("inferred_end_to", column(found.end_range[1], no_end), pl.String),
        pl.Series("inferred_probability", chances, pl.Float64).fill_nan(None),
        pl.Series("inferred_no_end", endless, pl.Float64).fill_nan(None),
    )


def _filled_text(span: FilledSpan) -> str:
    ends = {"begin": span.begin, "end": span.end}
    return " to ".join(f"{end} (inferred)" if name in span.inferred else end for name, end in ends.items())


def _fact_text(fact: PlacingFact) -> str:
    return f"{fact.subject}, {fact.predicate}, {fact.object}, {span_text((fact.begin, fact.end))}"
