"""What the API gives, for its documentation: the shapes of the library's `to_dict()`. Tests compare both."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Dates = Annotated[list[str | None], Field(min_length=2, max_length=2)]
"""Begin and end of a span; null if open or unknown."""


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NamedFact(Shape):
    subject: str
    predicate: str
    object: str
    keys: tuple[str, str, str] = Field(description="Keys of subject, predicate and object.")
    begin: str | None
    end: str | None


class Fact(NamedFact):
    value: float = Field(description="Its part of the score.")


class EvidenceFact(Fact):
    lag: str | None = Field(description="Distance from the asked time.", examples=["2 to 3 days before"])
    path: list[NamedFact] = Field(
        description="The facts that lead to it from the subject, if it is about other entities."
    )


class Explanation(Shape):
    """Shares that add up to the score."""

    decomposition: float
    facts: list[EvidenceFact]
    others: float = Field(description="Part of facts at other timestamps.")
    correction: float = Field(description="Part of the correction by the number of facts.")
    time: str | None
    note: str | None = Field(description="Why no facts are listed, if the model has no evidence terms.")


class Answer(Shape):
    name: str = Field(examples=["Barack Obama"])
    key: str = Field(examples=["Barack Obama"])
    score: float = Field(examples=[10.51])
    probability: float = Field(examples=[0.872])
    known: bool = Field(description="True if a fact states it; otherwise it is inferred.", examples=[True])
    spans: list[Dates] = Field(description="Known spans.", examples=[[["2009", "2017"]]])
    reasons: Explanation | None = None


class Answers(Shape):
    question: str = Field(examples=["United States, has president, ?, 2012"])
    asks: Literal["subject", "predicate", "object"]
    calibrated: bool
    as_of: str | None = Field(
        default=None, description="The timestamp of the answer, if the asked time is not on the axis."
    )
    note: str | None = Field(default=None, description="The same as a sentence.")
    answers: list[Answer]


class TimeSpan(Shape):
    begin: str
    end: str
    probability: float


class TimeAnswers(Shape):
    question: str = Field(examples=["France, has president, François Mitterrand, ?"])
    asks: Literal["time"]
    calibrated: bool
    best: str = Field(description="The most probable timestamp.", examples=["1981"])
    spans: list[TimeSpan]
    known: list[Dates]
    times: list[str] = Field(description="The time axis.")
    scores: list[float]
    probabilities: list[float] = Field(description="Probability that a moment of the fact's span is this timestamp.")
    reasons: Explanation | None = None


class ManyAnswers(Shape):
    results: list[Answers | TimeAnswers]


class FilledSpan(TimeSpan):
    inferred: list[Literal["begin", "end"]] = Field(description="Which of begin and end are inferred.")


class When(Shape):
    question: str = Field(examples=["France, has president, François Mitterrand"])
    begin: str | None = Field(examples=["1981"])
    end: str | None = Field(examples=["1995"])
    probability: float = Field(
        description="Probability that begin and end are both right, given the known dates.", examples=[0.45]
    )
    no_end: float = Field(description="Probability that the data has no end for it.")
    begin_range: tuple[str, str] = Field(description="Contains the begin with a probability of 80 %.")
    end_range: tuple[str, str]
    inferred: list[Literal["begin", "end"]] = Field(description="Which of begin and end are inferred.")
    times: list[str]
    spans: list[FilledSpan] = Field(description="All spans, if the fact is known to hold several times.")
    alternatives: list[TimeSpan]
    reasons: list[Fact]
    known: list[Dates]
    holds: list[float] = Field(description="The probability that it holds at each of the times.")


class ManyWhen(Shape):
    results: list[When]


Basis = Literal["known", "open", "undated", "inferred"]


class Holds(Shape):
    question: str = Field(examples=["France, has president, Emmanuel Macron, 2026"])
    probability: float = Field(examples=[0.93])
    known: bool = Field(description="A fact states that it holds then.")
    basis: Basis = Field(
        description="open: only one end of its span is known; undated: the fact is known, but not its time."
    )
    beyond: bool = Field(description="The time is after the last date in the data.")
    calibrated: bool
    spans: list[Dates] = Field(description="Known spans of the fact.")


class ManyHolds(Shape):
    results: list[Holds]


class AsOfAnswer(Shape):
    name: str
    key: str
    probability: float = Field(description="Probability that it holds at the date; several may hold.")
    basis: Basis
    known: bool
    spans: list[Dates]


class AsOf(Shape):
    question: str
    asks: Literal["subject", "predicate", "object"]
    beyond: bool
    calibrated: bool
    answers: list[AsOfAnswer]


class Timeline(Shape):
    subject: str
    predicate: str
    objects: list[str]
    keys: list[str]
    times: list[str]
    scores: list[list[float]] = Field(description="One row per object.")
    probabilities: list[list[float]] = Field(description="Probability of the object among all entities, at that time.")
    known: list[list[Dates]]


class Neighbour(Shape):
    name: str
    key: str
    similarity: float = Field(description="Cosine similarity.", examples=[0.36])


class Neighbours(Shape):
    of: str
    neighbours: list[Neighbour]


class FoundName(Shape):
    key: str
    name: str
    matched: str = Field(description="The key or label that matched.")
    facts: int = Field(description="Number of facts with this name.")


class Names(Shape):
    q: str
    kind: Literal["entity", "predicate"]
    names: list[FoundName]


class EntityFact(Shape):
    side: Literal["subject", "object"] = Field(
        description="Whether the entity is the subject or the object of this fact."
    )
    predicate: str
    predicate_key: str
    other: str
    other_key: str
    begin: str | None
    end: str | None


class Entity(Shape):
    key: str
    name: str
    time: str | None
    total: int = Field(description="Number of facts, including those not listed.")
    facts: list[EntityFact]


class InferredDates(Shape):
    valid_at: str | None
    valid_range: tuple[str, str] | None = Field(description="Contains the date with a probability of 80 %.")
    invalid_at: str | None
    invalid_range: tuple[str, str] | None
    probability: float | None = Field(description="Probability that these dates are right, given the known ones.")
    no_end: float = Field(description="Probability that the data has no end for it.")


class Edge(Shape):
    source: str
    name: str
    target: str
    source_label: str
    name_label: str
    target_label: str
    valid_at: str | None = Field(description="Known date.")
    invalid_at: str | None
    inferred: InferredDates | None = Field(description="Inferred dates.")
    holds: float | None = Field(description="Probability that it holds at the asked time.")


class Edges(Shape):
    entity: str
    time: str | None
    edges: list[Edge]


class Predicate(Shape):
    key: str
    name: str
    facts: int


class Info(Shape):
    run: str
    runs: list[dict[str, str]]
    model: dict[str, Any]
    data: dict[str, Any]
    about: dict[str, str]
    calibrated: bool
    predicates: list[Predicate]
    times: list[str]
    card: str = Field(description="The model card in Markdown.")
    writable: bool
    limits: dict[str, float | None]


class Evaluation(Shape):
    run: str
    split: str
    facts: int
    measured: int
    ranking: dict[str, Any]
    calibration: dict[str, Any]
    time_questions: dict[str, Any] | None


class Added(Shape):
    run: str
    added: int
    added_in_all: int
    new_entities: int
    new_timestamps: int


class Status(Shape):
    status: str
