"""Names in, numbers out: a question as it was asked, read against the names and times of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unicodedata import normalize

import numpy as np

from knowwhen.errors import BadRequest, KnowwhenError
from knowwhen.evaluation.questions import Slot
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Ints
from knowwhen.facts.timeline import Moment, Timeline
from knowwhen.models import Sizes
from knowwhen.query.rows import COLUMNS, name_text, time_text
from knowwhen.query.scoring import ScoredQuestion

UNKNOWN = ("?", "_")  # some shells read ? as a pattern for file names


@dataclass(frozen=True, eq=False)
class Question:
    """A fact with one unknown: ids of what is known, -1 in the slot that is asked for."""

    slot: Slot
    s: int
    p: int
    o: int
    moment: Moment | None  # None: whenever
    text: str  # 'United States, has president, ?, 2012'
    candidates: Ints | None = None
    note: str | None = None  # where the axis has no timestamp of the time that is asked for

    @property
    def times(self) -> range | None:
        """Neighbouring timestamps; None: whenever."""
        return None if self.moment is None else self.moment.ids

    def scored(self, sizes: Sizes, *, temporal: bool, hidden: Ints | None = None) -> ScoredQuestion:
        """What a model has to score for a question that asks for a name."""
        a, b = {
            "object": (self.s, self.p),
            "subject": (self.o, self.p + sizes.predicates),
            "predicate": (self.s, self.o),
        }[self.slot]
        times = self.times
        if times is None:
            times = range(sizes.timestamps, sizes.timestamps + 1) if sizes.undated_row else range(sizes.timestamps)
        return ScoredQuestion(a, b, times if temporal else range(1), self.candidates, hidden)


def read_question(
    dataset: Dataset,
    subject: Any,
    predicate: Any,
    object: Any,
    time: Any = None,
    *,
    candidates: Sequence[str] | None = None,
) -> Question:
    """The question that names ask; `candidates` are names, or "seen": those that training saw in that slot."""
    date = time_text(time)
    given = dict(zip(COLUMNS, (*map(name_text, (subject, predicate, object)), date), strict=True))
    for column in COLUMNS[:3]:
        with in_column(column):
            if not given[column].strip():
                raise BadRequest(f"the {column} is empty; expected a name, or '?' to ask for it")
    asked = [column for column in COLUMNS if given[column].strip() in UNKNOWN]
    if len(asked) != 1:
        text = ", ".join(part or "no time" for part in given.values())
        raise BadRequest(f"a question needs exactly one '?', but ({text}) has {len(asked) or 'none'}")
    slot = asked[0]
    s, p, o = (-1 if slot == place else name_id(dataset, place, given[place]) for place in COLUMNS[:3])
    with in_column("time"):
        moment = None if slot == "time" or not date else _moment(dataset.timeline, date)
    note = None if moment is None else moment.note(date)
    question = Question(slot, s, p, o, moment, _text(dataset, slot, s, p, o, date), note=note)
    return (
        question if candidates is None else replace(question, candidates=candidate_ids(dataset, question, candidates))
    )


def name_id(dataset: Dataset, place: str, name: str) -> int:
    """The id of what stands in a place of a fact; blanks around it do not matter where no name has them."""
    vocabulary = dataset.predicates if place == "predicate" else dataset.entities
    with in_column(place):
        if not name.strip():
            raise BadRequest(f"the {place} is empty; expected a name")
        plain = name.strip()  # and with accents as tables of facts have them
        written = (one for one in (name, plain, normalize("NFC", plain)) if one in vocabulary)
        return vocabulary.id(next(written, plain))


@contextmanager
def in_column(place: str) -> Iterator[None]:
    """Says which part of a question an error is about."""
    try:
        yield
    except KnowwhenError as error:
        error.column = place
        raise


def candidate_ids(dataset: Dataset, question: Question, candidates: Sequence[str]) -> Ints:
    """Sorted ids of the only answers that are allowed."""
    if question.slot == "time":
        raise BadRequest("candidates do not apply to a question for a time; leave them out")
    if isinstance(candidates, str):
        if candidates != "seen":
            raise BadRequest(f'candidates is {candidates!r}; expected a list of names, or "seen"')
        if question.slot == "predicate":
            raise BadRequest('candidates="seen" needs a predicate; name the candidates instead')
        train = dataset.train
        column = train.object if question.slot == "object" else train.subject
        found = np.unique(column[train.predicate == question.p])
        if not len(found):
            raise BadRequest(f"train has no {question.slot} of {dataset.predicates.label(question.p)!r}")
        return found
    vocabulary = dataset.predicates if question.slot == "predicate" else dataset.entities
    if not len(candidates):
        raise BadRequest("the list of candidates is empty; name at least one, or leave it out")
    return np.unique(np.array([vocabulary.id(name) for name in candidates], np.int64))


def _moment(timeline: Timeline, date: str) -> Moment:
    if not len(timeline):
        raise BadRequest(f"no fact has a time; leave out the time {date!r}")
    return timeline.moment(date)


def _text(dataset: Dataset, slot: Slot, s: int, p: int, o: int, date: str) -> str:
    names = [
        "?" if i < 0 else vocabulary.label(i)
        for i, vocabulary in ((s, dataset.entities), (p, dataset.predicates), (o, dataset.entities))
    ]
    return ", ".join([*names, *(["?"] if slot == "time" else [date] if date else [])])
