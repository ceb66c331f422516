"""Names in, ranked answers out: questions with one unknown, alone or many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from knowwhen import chunks
from knowwhen.console import Progress, counted
from knowwhen.dating import TimeHead
from knowwhen.errors import BadRequest
from knowwhen.evaluation.calibration import Calibration, temperature_of
from knowwhen.evaluation.probabilities import time_curves
from knowwhen.evaluation.questions import SLOTS, Floats, Slot
from knowwhen.evaluation.spans import SPAN_SHARE, best_spans
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Facts, Ints, span_labels
from knowwhen.models import TemporalModel
from knowwhen.query.answers import Answer, Answers, Span, TimeAnswers, TimeSpan
from knowwhen.query.explain import Explainer, Explanation, Ids
from knowwhen.query.questions import Question, read_question
from knowwhen.query.rows import Errors, Rows, read_all
from knowwhen.query.scoring import Ranked, ScoredQuestion, rank_answers
from knowwhen.query.when import When, when_ids

Found = Answers | TimeAnswers
AT_ONCE = 1000  # questions of a batch


def ask(
    model: TemporalModel,
    dataset: Dataset,
    subject: str,
    predicate: str,
    object: str,
    time: object = None,
    *,
    top: int = 10,
    novel: bool = False,
    candidates: Sequence[str] | None = None,
    min_probability: float = 0.0,
    explain: bool = False,
    calibration: Calibration | None = None,
    times: TimeHead | None = None,
) -> Found:
    """The answers to a question with "?" in exactly one place: object, subject, predicate or time.

    A time is a date of any precision, a range "2009..2012", or None: whenever. Over several timestamps, scores and
    probabilities are means. Probabilities are shares of all candidates; `novel` leaves known answers out of the list,
    and what is left keeps its probability. `explain` adds what each score is made of: the share of the decomposition
    and that of each fact that is evidence.
    """
    question = read_question(dataset, subject, predicate, object, time, candidates=candidates)
    options = {"top": top, "novel": novel, "min_probability": min_probability, "explain": explain}
    return answer(model, dataset, [question], calibration=calibration, times=times, **options)[0]  # type: ignore[arg-type]


def ask_batch(
    model: TemporalModel,
    dataset: Dataset,
    rows: Rows,
    *,
    candidates: Sequence[str] | None = None,
    errors: Errors = "raise",
    progress: bool | Progress | None = None,
    **options: Any,
) -> list[Any]:
    """The answers to many questions in their order: rows of subject, predicate, object and time.

    With `errors="return"`, a question that cannot be answered has its error in place of answers.
    """

    def read(*parts: Any) -> Question:
        question = read_question(dataset, *parts, candidates=candidates)
        check_answerable(model, dataset, question, novel=options.get("novel", False))
        return question

    found = read_all(rows, 3, read, errors)
    questions = [one for one in found if isinstance(one, Question)]
    answers: list[Found] = []
    with counted(progress, "questions") as told:
        for part in chunks.slices(len(questions), AT_ONCE):
            answers += answer(model, dataset, questions[part], **options)
            if told:
                told(part.stop, len(questions))
    each = iter(answers)
    return [next(each) if isinstance(one, Question) else one for one in found]


def answer(
    model: TemporalModel,
    dataset: Dataset,
    questions: Sequence[Question],
    *,
    top: int = 10,
    novel: bool = False,
    min_probability: float = 0.0,
    explain: bool = False,
    calibration: Calibration | None = None,
    times: TimeHead | None = None,
) -> list[Found]:
    """The answers to questions that are already read, in their order; those of one kind are scored together."""
    if not isinstance(top, int) or top < 1:
        raise BadRequest(f"top is {top!r}; expected a whole number, at least 1")
    if not 0 <= min_probability <= 1:
        raise BadRequest(f"min_probability is {min_probability}; expected 0 to 1")
    for question in questions:
        check_answerable(model, dataset, question, novel=novel)
    if explain and model.shard is not None:
        raise BadRequest("explanations need a single process; leave out --workers")
    explainer = Explainer(model, dataset) if explain else None
    respond = _Respond(model, dataset, top, novel, min_probability, explainer, calibration, times)
    found: dict[int, Found] = {}
    for slot in SLOTS:
        places = [i for i, question in enumerate(questions) if question.slot == slot]
        some = [questions[i] for i in places]
        answers: list[Any] = respond.times(some) if slot == "time" else respond.names(slot, some)
        found |= zip(places, answers, strict=True)
    return [found[i] for i in range(len(questions))]


def check_answerable(model: TemporalModel, dataset: Dataset, question: Question, *, novel: bool) -> None:
    """Refuses a question for a time that this model or these options have no answer to."""
    if question.slot != "time":
        return
    if not len(dataset.timeline):
        raise BadRequest(f"{dataset.name} has no times, so it cannot answer questions for a time")
    if not model.temporal:
        raise BadRequest(
            f"{model.name} does not depend on time, so it cannot answer questions for a time; "
            "use a temporal model such as tntcomplex"
        )
    if novel:
        raise BadRequest("novel does not apply to a question for a time; leave it out")


def known_answers(dataset: Dataset, question: Question) -> Facts:
    """The facts that answer a question, at the time it asks for."""
    s, p, o, spans = question.s, question.p, question.o, dataset.spans
    if question.slot == "object":
        found = spans.with_subject(s, p)
    elif question.slot == "subject":
        found = spans.with_object(p, o)
    else:
        found = spans.between(s, o)
    return dataset.timeline.holding(found, question.moment)


class _Respond:
    """Turns questions of one kind into answers, under the same options."""

    def __init__(
        self,
        model: TemporalModel,
        dataset: Dataset,
        top: int,
        novel: bool,
        min_probability: float,
        explainer: Explainer | None,
        calibration: Calibration | None,
        head: TimeHead | None,
    ) -> None:
        self.head = head
        self.model, self.dataset, self.explainer, self.calibration = model, dataset, explainer, calibration
        self.top, self.novel, self.min_probability = top, novel, min_probability
        self.labels = dataset.timeline.labels()

    def names(self, slot: Slot, questions: Sequence[Question]) -> list[Answers]:
        known = [known_answers(self.dataset, question) for question in questions]
        column = _column(slot)
        asked = [
            question.scored(
                self.model.sizes,
                temporal=self.model.temporal,
                hidden=np.unique(column(facts)) if self.novel else None,
            )
            for question, facts in zip(questions, known, strict=True)
        ]
        ranked = rank_answers(self.model, slot, asked, temperature_of(self.calibration, slot), self.top)
        return [self._answers(*one) for one in zip(questions, asked, ranked, known, strict=True)]

    def _answers(self, question: Question, asked: ScoredQuestion, ranked: Ranked, known: Facts) -> Answers:
        vocabulary = self.dataset.predicates if question.slot == "predicate" else self.dataset.entities
        listed = ranked[ranked.probabilities >= self.min_probability]
        spans_of = self._spans(known, _column(question.slot)(known), listed.ids)
        rows = []
        for i, score, probability, why in zip(*listed.columns(), self._reasons(question, asked, listed), strict=True):
            spans = tuple(spans_of.get(i, ()))
            name, key = vocabulary.label(i), vocabulary.key(i)
            rows.append(Answer(name, key, score, probability, bool(spans), spans, why))
        calibrated = self._is_calibrated(question.slot)
        return Answers(question.text, question.slot, tuple(rows), calibrated, question.note, _as_of(question))

    def _reasons(
        self, question: Question, asked: ScoredQuestion, listed: Ranked
    ) -> Sequence[Explanation] | Sequence[None]:
        """Why each answer has its score, where that was asked for."""
        ids, scores, _ = listed.columns()
        if self.explainer is None:
            return [None] * len(ids)
        is_predicate = question.slot == "predicate"
        facts: list[Ids] = [(asked.a, i, asked.b) if is_predicate else (asked.a, asked.b, i) for i in ids]
        return self.explainer.explain(facts, scores, asked.times)

    def _spans(self, known: Facts, answers: Ints, listed: Ints) -> dict[int, list[Span]]:
        """The spans of the listed answers, each in order of time."""
        found: dict[int, list[Span]] = {}
        rows = np.flatnonzero(np.isin(answers, listed)) if len(answers) else answers
        if len(rows):
            rows = rows[np.lexsort((known.end[rows], known.begin[rows]))]
            for i, span in zip(answers[rows].tolist(), span_labels(known[rows], self.labels), strict=True):
                found.setdefault(i, []).append(span)
        return found

    def times(self, questions: Sequence[Question]) -> list[TimeAnswers]:
        found: list[TimeAnswers] = []
        for part in chunks.slices(len(questions), chunks.rows_at_once(len(self.labels))):
            some = questions[part]
            s, p, o = (np.array([getattr(question, name) for question in some]) for name in ("s", "p", "o"))
            curves = time_curves(self.model, s, p, o, temperature_of(self.calibration, "time"))
            told: Sequence[When | None] = [None] * len(some)
            if self.head is not None:
                told = when_ids(self.model, self.head, self.dataset, [(q.s, q.p, q.o) for q in some])
            found += [self._time_answers(*one) for one in zip(some, *curves, told, strict=True)]
        return found

    def _time_answers(self, question: Question, scores: Any, probabilities: Floats, told: When | None) -> TimeAnswers:
        if told is None:
            peak_share = self.calibration.span_share if self.calibration else SPAN_SHARE
            found = best_spans(probabilities, peak_share, self.top)
            spans = [TimeSpan(self.labels[first], self.labels[last], held) for first, last, held in found]
        else:
            probabilities = told.holds / max(told.holds.sum(), 1e-30)
            spans = [TimeSpan(str(told.begin), str(told.end), told.probability), *told.alternatives][: self.top]
        spans = [span for span in spans if span.probability >= self.min_probability]
        known: list[Span] = span_labels(self.dataset.spans.of(question.s, question.p, question.o), self.labels)
        return TimeAnswers(
            question.text,
            self.labels,
            scores,
            probabilities,
            tuple(spans),
            tuple(known),
            self._is_calibrated("time"),
            reasons=self._time_reasons(question, scores, probabilities, spans),
        )

    def _time_reasons(
        self, question: Question, scores: Any, probabilities: Floats, spans: Sequence[TimeSpan]
    ) -> Explanation | None:
        """Why the most probable timestamp of the best span is that; of the whole axis where no span is listed."""
        if self.explainer is None:
            return None
        begin, end = (spans[0].begin, spans[0].end) if spans else (self.labels[0], self.labels[-1])
        first, last = self.labels.index(begin), self.labels.index(end)
        t = first + int(probabilities[first : last + 1].argmax())
        ids = (question.s, question.p, question.o)
        return self.explainer.explain([ids], [float(scores[t])], range(t, t + 1), self.labels[t])[0]

    def _is_calibrated(self, slot: Slot) -> bool:
        if slot == "time" and self.head is not None:
            return len(self.dataset.valid) > 0
        return self.calibration is not None and slot in self.calibration.fits


def _as_of(question: Question) -> str | None:
    return question.moment.as_of if question.moment else None


def _column(slot: Slot) -> Callable[[Facts], Ints]:
    """The column of facts that holds the answers."""
    return lambda facts: getattr(facts, slot)
