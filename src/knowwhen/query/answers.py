"""Answers as values: what was found, how likely it is, and what of it is known; printed, as HTML or as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from itertools import zip_longest
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from knowwhen.drawable import Drawable
from knowwhen.evaluation.questions import Floats, Slot
from knowwhen.query.explain import Explanation, FactShare, NamedFact
from knowwhen.tabular import Listed, Tabular
from knowwhen.text import brief, plural, table, visible

Span = tuple[str | None, str | None]
"""Begin and end as dates, None where unknown."""

UNCALIBRATED = "probabilities are not calibrated: trust their order, not their size"
EXPLAINED = "the parts under an answer add up to its score"
FACTS_SHOWN = 3  # of those that spoke for an answer; to_dict() has all
LEAST_SHOWN = 0.005  # a share that would print as 0.00 is not worth a line


@dataclass(frozen=True)
class Answer:
    """One answer: a name in the place of the unknown."""

    name: str  # its label, or its key if it has none
    key: str
    score: float
    probability: float
    known: bool  # some split has the fact at the asked time
    spans: tuple[Span, ...]  # when it is known to hold; empty if it is new
    reasons: Explanation | None = field(default=None, repr=False)  # if asked for

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types; reasons only if asked for."""
        values = {  # asdict(self), which would take as long as finding the answer
            "name": self.name,
            "key": self.key,
            "score": self.score,
            "probability": self.probability,
            "known": self.known,
            "spans": self.spans,
        }
        return values if self.reasons is None else {**values, "reasons": self.reasons.to_dict()}


@dataclass(frozen=True)
class Answers(Drawable, Tabular, Listed[Answer]):
    """The best answers to a question, best first."""

    question: str
    slot: Slot
    rows: tuple[Answer, ...]
    calibrated: bool
    note: str | None = None  # if the asked time is not on the time axis
    as_of: str | None = None  # the timestamp used instead

    def listed(self) -> tuple[Answer, ...]:
        return self.rows

    def __repr__(self) -> str:
        best = f", best {self.rows[0].name!r} {share(self.rows[0].probability)}" if self.rows else ""
        return brief(self, f"({self.question}): {plural(len(self), 'answer')}{best}")

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dictionary per answer."""
        return [row.to_dict() for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "question": self.question,
            "asks": self.slot,
            "calibrated": self.calibrated,
            **({"as_of": self.as_of, "note": self.note} if self.as_of else {}),
            "answers": self.to_dicts(),
        }

    def to_polars(self) -> pl.DataFrame:
        """One row per answer, with `begin` and `end` of the first known span; `to_dicts` also has the reasons."""
        return pl.DataFrame(
            {
                "rank": range(1, len(self) + 1),
                **{name: [getattr(row, name) for row in self] for name in ("name", "key", "score", "probability")},
                "known": [row.known for row in self],
                "begin": [row.spans[0][0] if row.spans else None for row in self],
                "end": [row.spans[0][1] if row.spans else None for row in self],
            },
            schema={
                "rank": pl.Int64,
                "name": pl.String,
                "key": pl.String,
                "score": pl.Float64,
                "probability": pl.Float64,
                "known": pl.Boolean,
                "begin": pl.String,
                "end": pl.String,
            },
        )

    def __str__(self) -> str:
        if not self.rows:
            return "\n".join(
                [f"({visible(self.question)})", "no answers are left", *([self.note] if self.note else [])]
            )
        head, *rows = self._cells()
        number = len(str(len(rows)))
        heading, *lines = table(
            [(" " * number + f"  {head[0]}", *head[1:])]
            + [(f"{i:>{number}}  {cells[0]}", *cells[1:]) for i, cells in enumerate(rows, 1)]
        )
        reasons = reason_lines([row.reasons for row in self.rows], " " * (number + 4))
        lines = [line for answer, why in zip(lines, reasons, strict=True) for line in (answer, *why)]
        return "\n".join([f"({visible(self.question)})", heading, *lines, *self._foot()])

    def _repr_html_(self) -> str:
        return _html(self.question, self._cells(), "; ".join(self._foot()), [row.reasons for row in self.rows])

    def _cells(self) -> list[tuple[str, ...]]:
        keys = any(row.key != row.name for row in self.rows)
        head = (self.slot, *(("key",) if keys else ()), "probability", "score", "known")
        return [head] + [
            (
                row.name,
                *((row.key,) if keys else ()),
                share(row.probability),
                f"{row.score:.2f}",
                ", ".join(span_text(span) for span in row.spans) if row.known else "new",
            )
            for row in self.rows
        ]

    def _foot(self) -> list[str]:
        lines = foot(self.calibrated, self.rows[0].reasons if self.rows else None)
        return [self.note, *lines] if self.note else lines


@dataclass(frozen=True)
class TimeSpan:
    """A span of time that may be the answer, both ends included, and the probability inside it."""

    begin: str
    end: str
    probability: float


@dataclass(frozen=True, eq=False)
class TimeAnswers(Drawable, Tabular, Listed[TimeSpan]):
    """When a fact holds: the curve along the time axis, its best spans, and the known spans."""

    question: str
    times: list[str]
    scores: NDArray[np.float32]  # (T,)
    probabilities: Floats  # (T,), sum to 1: that a moment of the fact's span is this timestamp
    spans: tuple[TimeSpan, ...]  # best first, apart from each other
    known: tuple[Span, ...]
    calibrated: bool
    slot: Slot = "time"
    reasons: Explanation | None = None  # of the most probable timestamp in the best span, where it was asked for

    def listed(self) -> tuple[TimeSpan, ...]:
        return self.spans

    def __repr__(self) -> str:
        found = [f"{span_text((one.begin, one.end))} {share(one.probability)}" for one in self.spans[:1]]
        return brief(self, f"({self.question}): {', best '.join([plural(len(self), 'span'), *found])}")

    @property
    def best(self) -> str:
        """The most probable timestamp."""
        return self.times[int(self.probabilities.argmax())]

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dictionary per best span."""
        return [asdict(span) for span in self.spans]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "question": self.question,
            "asks": self.slot,
            "calibrated": self.calibrated,
            "best": self.best,
            "spans": self.to_dicts(),
            "known": [list(span) for span in self.known],
            "times": self.times,
            "scores": self.scores.tolist(),
            "probabilities": self.probabilities.tolist(),
            **({"reasons": self.reasons.to_dict()} if self.reasons else {}),
        }

    def to_polars(self) -> pl.DataFrame:
        """The curve, with one row per timestamp."""
        return pl.DataFrame({"time": self.times, "score": self.scores, "probability": self.probabilities})

    def __str__(self) -> str:
        lines = [f"({visible(self.question)})", *sparkline(self.times, self.probabilities), *table(self._cells())]
        lines += [f"most probable: {self.best}; known: {self._known()}"]
        if self.reasons:
            lines += [_why(self.reasons), *reason_lines([self.reasons], "    ")[0]]
        return "\n".join([*lines, *foot(self.calibrated, self.reasons)])

    def _repr_html_(self) -> str:
        about = "; ".join([f"known: {self._known()}", *foot(self.calibrated, self.reasons)])
        why = f"<p>{escape(_why(self.reasons))}</p>{_html_reasons(self.reasons)}" if self.reasons else ""
        return _html(self.question, self._cells(), about) + why

    def _cells(self) -> list[tuple[str, ...]]:
        rows = ((span_text((span.begin, span.end)), share(span.probability)) for span in self.spans)
        return [("span", "probability"), *rows]

    def _known(self) -> str:
        return ", ".join(span_text(span) for span in self.known) or "no"


BARS = "▁▂▃▄▅▆▇█"


def sparkline(times: Sequence[str], values: Floats, width: int = 60) -> list[str]:
    """Two lines: a bar for each timestamp, or for the highest of neighbours where there are many; and the ends."""
    groups = np.array_split(values, min(width, len(values)))
    heights = np.array([group.max() for group in groups])
    top = heights.max()
    levels = np.round(heights / top * (len(BARS) - 1)).astype(int) if top > 0 else np.zeros(len(groups), int)
    bars = "".join(BARS[level] for level in levels)
    gap = max(1, len(bars) - len(times[0]) - len(times[-1]))
    return [bars, times[0] if len(times) == 1 else f"{times[0]}{' ' * gap}{times[-1]}"]


def span_text(span: Span) -> str:
    """'2009 to 2017', '2017 to ?', one date for an event, 'no date' for a fact without time."""
    begin, end = span
    if begin is None and end is None:
        return "no date"
    return str(begin) if begin == end else f"{begin or '?'} to {end or '?'}"


def share(probability: float) -> str:
    """Four digits, or the power of ten of what would be shown as none."""
    return f"{probability:.4f}" if probability >= 5e-5 or probability == 0 else f"{probability:.0e}"


def foot(calibrated: bool, reasons: Explanation | None) -> list[str]:
    """What a reader of the numbers should know, a line each."""
    lines = ["probabilities are calibrated on validation facts" if calibrated else UNCALIBRATED]
    return lines if reasons is None else [*lines, reasons.note or EXPLAINED]


def reason_lines(explanations: Sequence[Explanation | None], indent: str) -> list[list[str]]:
    """The lines under each answer, the shares below each other; none where there is no explanation."""
    cells = [reason_cells(one) if one else [] for one in explanations]
    lines = iter(table([row for rows in cells for row in rows])) if any(cells) else iter(())
    return [[indent + next(lines) for _ in rows] for rows in cells]


def reason_cells(explanation: Explanation) -> list[tuple[str, str]]:
    """Names and shares of what a score is made of, the largest facts one by one."""
    count = sum(abs(fact.value) >= LEAST_SHOWN for fact in explanation.facts[:FACTS_SHOWN])
    shown, more = explanation.facts[:count], explanation.facts[count:]
    cells = [("decomposition", explanation.decomposition), *((fact_text(fact), fact.value) for fact in shown)]
    if more:
        cells.append((f"and {len(more)} more fact{'s'[: len(more) > 1]}", sum(fact.value for fact in more)))
    if explanation.others:
        cells.append(("facts at other timestamps", explanation.others))
    if explanation.correction:
        cells.append(("correction by the number of facts", explanation.correction))
    return [(name, f"{value:+.2f}") for name, value in cells]


def fact_text(fact: FactShare) -> str:
    """'Iran, Make statement, Iraq, 2014-03-02 (1 day before)', then what leads to it: 'via …; …'."""
    led = "; ".join(_plain(one) for one in fact.path)
    return _plain(fact) + (f" ({fact.lag})" if fact.lag else "") + (f", via {led}" if led else "")


def _plain(fact: NamedFact) -> str:
    dated = fact.begin is not None or fact.end is not None
    names = [fact.subject, fact.predicate, fact.object, *([span_text((fact.begin, fact.end))] if dated else [])]
    return ", ".join(names)


def _why(explanation: Explanation) -> str:
    return f"why {explanation.time}, with a score of {explanation.score:.2f}:"


def _html(
    question: str, cells: Sequence[Sequence[str]], foot: str, explanations: Sequence[Explanation | None] = ()
) -> str:
    head, *rows = ([escape(cell) for cell in row] for row in cells)
    lines = [f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>"]
    for row, why in zip_longest(rows, explanations):
        lines.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>")
        if why:
            lines.append(f'<tr><td colspan="{len(head)}">{_html_reasons(why)}</td></tr>')
    return f"<table><caption>{escape(question)}</caption>{''.join(lines)}</table><p>{escape(foot)}</p>"


def _html_reasons(explanation: Explanation) -> str:
    return f"<ul>{''.join(f'<li>{escape(name)} {value}</li>' for name, value in reason_cells(explanation))}</ul>"
