"""What training says about the pair of a question: how much of a result a benchmark's redundancy can explain."""

from __future__ import annotations

import numpy as np

from knowwhen.evaluation.questions import Questions
from knowwhen.facts.index.spans import SpanIndex
from knowwhen.facts.table import Bools, Facts, Ints


def supports(train: Facts, questions: Questions, *, itself: bool = False) -> dict[str, Bools]:
    """Which questions are of which group, by what train has about their pair (s, o), in either direction.

    `same_time`: a fact that holds at the asked time, under any predicate; `other_time`: facts, but none of those;
    `none`: no fact. A fact without time holds at no time, and is asked about as such: only facts without time are at
    its time. `itself` says that the facts are rows of train: then each has one fact fewer for itself, its own row.
    """
    dated, static = (_index(train[rows]) for rows in (~train.is_static, train.is_static))
    pair = tuple(column[questions.fact] for column in _pair(questions.facts))
    without_time = static.count(pair)
    any_time = dated.count(pair) + without_time > itself
    holding = dated.count_holding(pair, questions.t, questions.t)
    same_time = np.where(questions.facts.is_static[questions.fact], without_time, holding) > itself
    return {"same_time": same_time, "other_time": any_time & ~same_time, "none": ~any_time}


def _index(facts: Facts) -> SpanIndex:
    return SpanIndex(_pair(facts), facts.begin, facts.end)


def _pair(facts: Facts) -> tuple[Ints, Ints]:
    """Subject and object, whichever comes first."""
    return np.minimum(facts.subject, facts.object), np.maximum(facts.subject, facts.object)
