"""Time questions (s, p, o, ?): how well the scores along time find when facts hold. Takes scores, never models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from knowwhen.drawable import Drawable
from knowwhen.evaluation.baselines import TimeCurves, TimeScorer, count_spans
from knowwhen.evaluation.bins import Reliability, reliabilities
from knowwhen.evaluation.intervals import INTERVAL_METRICS, coalesce
from knowwhen.evaluation.precision import average_precision, macro_average_precision
from knowwhen.evaluation.questions import Floats, span_ids
from knowwhen.facts.dates import Granularity
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.table import Bools, Facts, Ints
from knowwhen.facts.timeline import Timeline
from knowwhen.models import Sizes
from knowwhen.text import brief

BATCH_SCORES = 2_000_000  # timestamps times facts that are looked at together
BEST_OF = (1, 5, 10)


@dataclass(frozen=True)
class EventTimes:
    """Events: the rank of their time among all but the other known ones, and how far off the best time is."""

    mrr: float
    mean_absolute_error: float  # in units of the axis
    count: int

    def to_dict(self) -> dict[str, float | int]:
        return {"mrr": self.mrr, "mean_absolute_error": self.mean_absolute_error, "count": self.count}


@dataclass(frozen=True)
class IntervalTimes:
    """Spans of which both ends are known: the best of k predicted ones, on average."""

    best_of: Mapping[str, float]  # "aeIOU@1" …
    count: int

    def to_dict(self) -> dict[str, float | int]:
        return {**self.best_of, "count": self.count}


@dataclass(frozen=True)
class Ends:
    """Begins, or ends: how far off the middle of what is believed is, and whether ranges hold the truth."""

    mean_error: float  # in units of the axis
    median_error: float
    coverage: float  # share of facts whose truth lies in the range; 0.8 is what it should be
    range_length: float  # mean, in units
    count: int


@dataclass(frozen=True)
class HoldsScores:
    """How far the probabilities that new facts hold at a time can be believed."""

    reliability: Reliability  # of all probabilities: the share of true moments by how probable they are called
    brier: float  # mean of (probability − truth)²
    auc: float  # the chance that a true moment is called more probable than a wrong one; a tie counts half
    means: Mapping[str, float]  # mean probability by kind of moment
    count: int

    def to_dict(self) -> dict[str, Any]:
        return {"ece": self.reliability.expected_calibration_error, **asdict(self)}


@dataclass(frozen=True)
class TimeScores:
    """What one scorer reaches; None where there is no fact of that kind."""

    events: EventTimes | None
    intervals: IntervalTimes | None  # begin before end
    closed: IntervalTimes | None  # these and events
    average_precision: float | None  # over time, the mean over dated facts
    auc_pr_paper: float | None  # over facts, the mean over timestamps, undated facts true at all of them
    begins: Ends | None = None  # where begins and ends are believed for themselves
    ends: Ends | None = None
    reliability: Mapping[str, Reliability] = field(default_factory=dict)  # "begin", "end", "span": of the first answers

    def to_dict(self) -> dict[str, Any]:
        return {
            "events": self.events.to_dict() if self.events else None,
            "intervals": self.intervals.to_dict() if self.intervals else None,
            "closed": self.closed.to_dict() if self.closed else None,
            "average_precision": self.average_precision,
            "auc_pr_paper": self.auc_pr_paper,
            **{name: vars(one) for name in ("begins", "ends") if (one := getattr(self, name))},
            **({"reliability": reliabilities(self.reliability)} if self.reliability else {}),
        }


@dataclass(frozen=True)
class TimeMetrics(Drawable):
    """The time metrics of a model, next to those of two simple baselines on the same facts."""

    model: TimeScores
    baselines: Mapping[str, TimeScores]  # "median_span", "nearest_known"
    base_rate: float | None  # of the average precision: what scores without information reach
    base_rate_paper: float | None  # the same of auc_pr_paper
    counts: Mapping[str, int]  # facts by kind
    unit: Granularity
    thresholds: str  # the split that the interval thresholds come from
    holds: HoldsScores | None = None  # where a judge was learned

    def __repr__(self) -> str:
        facts = ", ".join(f"{count:,} {kind}" for kind, count in self.counts.items() if count)
        return brief(self, f"of {facts} facts beside {', '.join(self.baselines)}")

    def describe(self) -> str:
        """The protocol in one line."""
        facts, half_open, static = (sum(self.counts.values()), self.counts["half_open"], self.counts["static"])
        return (
            "events and average precision without the other known times of a fact, ties half, "
            f"lengths in {self.unit}s, interval thresholds from {self.thresholds}, {facts:,} facts "
            f"({half_open:,} half-open and {static:,} static ones have no interval)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "model": self.model.to_dict(),
            "baselines": {name: scores.to_dict() for name, scores in self.baselines.items()},
            "base_rate": self.base_rate,
            "base_rate_paper": self.base_rate_paper,
            "counts": dict(self.counts),
            "unit": str(self.unit),
            "holds": self.holds.to_dict() if self.holds else None,
            "protocol": {"text": self.describe(), "thresholds": self.thresholds},
        }


@dataclass(frozen=True, eq=False)
class TimeTask:
    """The facts to be dated, what is known beside them, and where thresholds come from."""

    facts: Facts
    known: KnownFacts
    reference: Facts  # for the thresholds of intervals
    timeline: Timeline
    sizes: Sizes

    def measure(self, scorer: TimeScorer) -> TimeScores:
        """All time metrics of one scorer."""
        intervals, closed = self._intervals(scorer)
        return TimeScores(
            events=self._events(scorer, self.facts[self.facts.is_event]),
            intervals=intervals,
            closed=closed,
            average_precision=self._average_precision(scorer),
            auc_pr_paper=self._paper(scorer),
        )

    def base_rate(self) -> float | None:
        """The mean share of true timestamps, over dated facts: the average precision of constant scores."""
        shares = [
            truth.sum(-1) / (truth | ~self.known_times(part)).sum(-1)
            for part in self._batches(self._dated)
            for truth in [self.truth(part)]
        ]
        return _mean(shares) if shares else None

    def base_rate_paper(self) -> float | None:
        """The mean share of true facts, over timestamps with any: the paper's AUC of constant scores."""
        zero = np.zeros(self.sizes.timestamps, np.int64)
        true = sum((self.truth(part).sum(0) for part in self._batches(self.facts)), start=zero)
        return float(true[true > 0].mean() / len(self.facts)) if true.any() else None

    def truth(self, facts: Facts) -> Bools:  # (n, T)
        """At which timestamps each fact holds; an open end reaches to that of the axis."""
        first, last = span_ids(facts, Sizes(0, 0, self.sizes.timestamps))
        ids = np.arange(self.sizes.timestamps)
        return np.asarray((first[:, None] <= ids) & (ids <= last[:, None]))

    def known_times(self, facts: Facts) -> Bools:  # (n, T)
        """At which timestamps each fact's subject, predicate and object are known to hold, in this fact or another."""
        rows, first, last = self.known.times(facts.subject, facts.predicate, facts.object)
        return np.asarray(count_spans(rows, first, last, len(facts), self.sizes.timestamps) > 0)

    def _events(self, scorer: TimeScorer, events: Facts) -> EventTimes | None:
        if not len(events):
            return None
        reciprocal, errors = [], []
        for part in self._batches(events):
            scores = np.where(self.known_times(part) & ~self.truth(part), -np.inf, scorer(part))
            reciprocal.append(1 / time_ranks(scores, part.begin))
            errors.append(time_errors(scores, part.begin, self.timeline.positions))
        return EventTimes(_mean(reciprocal), _mean(errors), len(events))

    def _intervals(self, scorer: TimeScorer) -> tuple[IntervalTimes | None, IntervalTimes | None]:
        """Of facts whose begin lies before their end, and of these with events."""
        facts = self.facts[is_closed(self.facts)]
        if not facts.is_interval.any():
            return None, None
        threshold, fits = self.thresholds(scorer), []
        for part in self._batches(facts):
            fits.append(best_fits(softmax(scorer(part)), part, threshold[part.predicate], self.timeline.positions))
        found = {name: np.concatenate([fit[name] for fit in fits]) for name in fits[0]}
        classes = [facts.is_interval, np.ones(len(facts), np.bool_)]
        intervals, closed = (
            IntervalTimes({name: float(fit[rows].mean()) for name, fit in found.items()}, int(rows.sum()))
            for rows in classes
        )
        return intervals, closed

    def thresholds(self, scorer: TimeScorer) -> Floats:  # (P,)
        """The mean probability inside the spans of each predicate; of all where a predicate has none."""
        masses = [(softmax(scorer(part)) * self.truth(part)).sum(-1) for part in self._batches(self.reference)]
        mass = np.concatenate([*masses, np.empty(0)])
        overall = mass.mean() if len(mass) else 0.5  # nothing is known: half of the probability
        P, predicate = self.sizes.predicates, self.reference.predicate
        count = np.bincount(predicate, minlength=P)
        return np.where(count > 0, np.bincount(predicate, mass, minlength=P) / np.maximum(count, 1), overall)

    def _average_precision(self, scorer: TimeScorer) -> float | None:
        found = []
        for part in self._batches(self._dated):
            truth = self.truth(part)
            rows = zip(truth, truth | ~self.known_times(part), scorer(part), strict=True)
            found.append(np.array([average_precision(t[asked], scores[asked]) for t, asked, scores in rows]))
        return _mean(found) if found else None

    def _paper(self, scorer: TimeScorer) -> float | None:
        """Macro AUC-PR of Lacroix et al. 2020, "Qualitative study": over the facts, for each timestamp."""

        def columns(some: slice) -> tuple[Bools, TimeCurves]:
            parts = [(self.truth(part)[:, some], scorer(part)[:, some]) for part in self._batches(self.facts)]
            return np.concatenate([truth for truth, _ in parts]), np.concatenate([scores for _, scores in parts])

        found = macro_average_precision(columns, len(self.facts), self.sizes.timestamps)
        return None if np.isnan(found) else found

    @property
    def _dated(self) -> Facts:
        return self.facts[~self.facts.is_static]

    def _batches(self, facts: Facts) -> Iterator[Facts]:
        size = max(1, BATCH_SCORES // max(1, self.sizes.timestamps))
        return (facts[start : start + size] for start in range(0, len(facts), size))


def is_closed(facts: Facts) -> Bools:
    """Both ends are known."""
    return facts.is_event | facts.is_interval


def time_ranks(scores: TimeCurves, t: Ints) -> Floats:  # (n, T), (n,) -> (n,)
    """The rank of each row's time; a tie counts half."""
    target = np.take_along_axis(scores, t[:, None], axis=1)
    above, equal = (scores > target).sum(-1), (scores == target).sum(-1) - 1
    return np.asarray(1 + above + equal / 2)


def time_errors(scores: TimeCurves, t: Ints, positions: Ints) -> Floats:  # (n, T), (n,), (T,) -> (n,)
    """Units between each row's time and the best one; the mean over the best ones where several tie."""
    best = scores == scores.max(-1, keepdims=True)
    away = abs(positions - positions[t][:, None])
    return np.asarray((best * away).sum(-1) / best.sum(-1))


def best_fits(probability: Floats, facts: Facts, threshold: Floats, positions: Ints) -> dict[str, Floats]:
    """Each interval metric at 1, 5 and 10: the best of the spans grown from the k most probable timestamps."""
    starts = np.argsort(-probability, axis=1, kind="stable")[:, : max(BEST_OF)]
    first, last = coalesce(probability, starts, threshold)
    gold = (positions[facts.begin][:, None], positions[facts.end][:, None])
    found: dict[str, Floats] = {}
    for name, metric in INTERVAL_METRICS.items():
        fits = metric(positions[first], positions[last], *gold)  # (n, k)
        found |= {f"{name}@{k}": fits[:, :k].max(-1) for k in BEST_OF}
    return found


def softmax(scores: TimeCurves) -> Floats:  # (n, T)
    """exp(x) / Σ exp(x) along time."""
    exponential = np.exp(scores.astype(np.float64) - scores.max(-1, keepdims=True))
    return np.asarray(exponential / exponential.sum(-1, keepdims=True))


def _mean(parts: list[Floats]) -> float:
    return float(np.concatenate(parts).mean())
