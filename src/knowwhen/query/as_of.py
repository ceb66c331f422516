"""What holds as of a date: names as answers, each with the probability that it holds then."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from knowwhen.dating.head import TimeHead
from knowwhen.errors import BadRequest
from knowwhen.evaluation.questions import Slot
from knowwhen.facts.dataset import Dataset
from knowwhen.models import TemporalModel
from knowwhen.query.answers import UNCALIBRATED, Span, share, span_text
from knowwhen.query.ask import answer, known_answers
from knowwhen.query.holds import Basis, holds_batch, read_moment
from knowwhen.query.questions import UNKNOWN, Question, in_column, read_question
from knowwhen.query.rows import COLUMNS, name_text, time_text
from knowwhen.query.when import check_head
from knowwhen.tabular import Listed, Tabular
from knowwhen.text import brief, plural, table, visible

JUDGED = 20  # of the best answers, beside those that are known


@dataclass(frozen=True)
class AsOfAnswer:
    """A name, and the probability that the fact with it holds at the date."""

    name: str
    key: str
    probability: float
    basis: Basis
    known: bool
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class AsOf(Tabular, Listed[AsOfAnswer]):
    """The answers as of a date, most probable first. Several may hold at once, so probabilities do not add up to 1."""

    question: str
    slot: Slot
    rows: tuple[AsOfAnswer, ...]
    beyond: bool  # the date is after the last date in the data
    calibrated: bool

    def listed(self) -> tuple[AsOfAnswer, ...]:
        return self.rows

    def __repr__(self) -> str:
        best = f", best {self.rows[0].name!r} {share(self.rows[0].probability)}" if self.rows else ""
        return brief(self, f"({self.question}): {plural(len(self), 'answer')}{best}")

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dictionary for each answer."""
        return [asdict(row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        about = {"question": self.question, "asks": self.slot, "beyond": self.beyond, "calibrated": self.calibrated}
        return {**about, "answers": self.to_dicts()}

    def to_polars(self) -> pl.DataFrame:
        """One answer a row; spans are left to `to_dicts`."""
        kept = ("name", "key", "probability", "basis", "known")
        schema = {**dict.fromkeys(kept, pl.String), "probability": pl.Float64, "known": pl.Boolean}
        return pl.DataFrame({name: [getattr(row, name) for row in self] for name in kept}, schema=schema)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [(self.slot, "holds", "because", "facts")]
        rows += [
            (row.name, share(row.probability), row.basis, ", ".join(span_text(span) for span in row.spans))
            for row in self.rows
        ]
        lines = [f"({visible(self.question)})", *table(rows)]
        lines += ["this is after the last date in the data"] if self.beyond else []
        return "\n".join(lines if self.calibrated else [*lines, UNCALIBRATED])


def as_of(
    model: TemporalModel,
    head: TimeHead | None,
    dataset: Dataset,
    names: tuple[str, str, str],
    date: object,
    *,
    top: int = 10,
) -> AsOf:
    """The answers to (subject, predicate, object) with "?" in one place, by the probability that each holds at a date.

    Judged are the best answers at the date, or at the last time of the data where it lies beyond, and all that facts
    know to hold then or not to have ended before.
    """
    head = check_head(head)
    if not any(name_text(name).strip() in UNKNOWN for name in names):
        raise BadRequest("an as-of question needs ? in place of the subject, predicate or object")
    with in_column("time"):
        beyond = read_moment(dataset, time_text(date)).beyond
    asked = read_question(dataset, *names, date)
    (found,) = answer(model, dataset, [asked], top=max(top, JUDGED))
    candidates = dict.fromkeys([*(row.key for row in found), *_known(dataset, asked)])  # type: ignore[union-attr]
    given: dict[str, object] = dict(zip(COLUMNS, (*names, date), strict=True))
    judged = holds_batch(model, head, dataset, [{**given, asked.slot: key} for key in candidates])
    vocabulary = dataset.predicates if asked.slot == "predicate" else dataset.entities
    rows = [
        AsOfAnswer(vocabulary.label(vocabulary.id(key)), key, one.probability, one.basis, one.known, one.spans)
        for key, one in zip(candidates, judged, strict=True)
    ]
    rows.sort(key=lambda row: (not row.known, -row.probability))
    text = asked.text.rpartition(", ")[0] + f", {date}"
    return AsOf(text, asked.slot, tuple(rows[:top]), beyond, head.judge is not None)


def _known(dataset: Dataset, asked: Question) -> list[str]:
    """Keys of the answers that facts know, at the time."""
    facts = known_answers(dataset, asked)
    vocabulary = dataset.predicates if asked.slot == "predicate" else dataset.entities
    return [vocabulary.key(int(i)) for i in dict.fromkeys(getattr(facts, asked.slot).tolist())]
