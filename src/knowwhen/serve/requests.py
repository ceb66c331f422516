"""What can be asked of a service: each request as a value, checked as far as it can be without a model."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

Text = Annotated[str, Field(max_length=2000)]
Place = Annotated[
    str, Field(max_length=2000, description="A name or key, or ? to ask for it.", examples=["United States"])
]
Name = Annotated[str, Field(min_length=1, max_length=2000, description="A name or a key.", examples=["France"])]
Date = Annotated[
    str | None,
    Field(
        max_length=100,
        description="A date, a range such as 2009..2012, or ? to ask when; by default any time.",
        examples=["2012"],
    ),
]
Run = Annotated[str | None, Field(max_length=200, description="The run to ask; by default the first.")]
Top = Annotated[int, Field(ge=1, le=1_000_000, description="Number of results, best first.")]


class Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def example(**values: Any) -> ConfigDict:
    """The configuration of a request whose documentation shows these values."""
    return ConfigDict(frozen=True, extra="forbid", json_schema_extra={"examples": [values]})


class Question(Request):
    """A fact with ? in one place."""

    subject: Place = "?"
    predicate: Annotated[Place, Field(examples=["has president"])] = "?"
    object: Annotated[Place, Field(examples=["?"])] = "?"
    time: Date = None


class AskOptions(Request):
    top: Top = 10
    novel: bool = Field(default=False, description="Leave out known answers.")
    min_probability: float = Field(default=0.0, ge=0, le=1, description="Leave out answers below this probability.")
    explain: bool = Field(default=False, description="Explain each score: its parts and the facts behind them.")
    run: Run = None


class Ask(AskOptions, Question):
    candidates: list[Text] | None = Field(
        default=None,
        description="Only allow these answers: names or keys, or the word seen (seen there in training).",
    )


class AskMany(AskOptions):
    model_config = example(
        questions=[
            {"subject": "United States", "predicate": "has president", "object": "?", "time": "2012"},
            {"subject": "France", "predicate": "has president", "object": "François Mitterrand", "time": "?"},
        ],
        top=3,
    )
    questions: list[Question] = Field(min_length=1, description="Answered in this order.")
    candidates: list[Text] | None = Field(default=None, description="Only allow these answers, in all questions.")


class Named(Request):
    """A fact without its time."""

    subject: Name
    predicate: Annotated[Name, Field(examples=["has president"])]
    object: Annotated[Name, Field(examples=["François Mitterrand"])]


class WhenOptions(Request):
    infer: bool = Field(default=False, description="Infer begin and end from other facts, even if they are known.")
    run: Run = None


class When(WhenOptions, Named):
    pass


class WhenMany(WhenOptions):
    model_config = example(
        facts=[{"subject": "France", "predicate": "has president", "object": "François Mitterrand"}], infer=True
    )
    facts: list[Named] = Field(min_length=1, description="Answered in this order.")


Moment = Annotated[
    str,
    Field(
        min_length=1, max_length=100, description="A date or a range; it may be after the data ends.", examples=["2026"]
    ),
]


class Dated(Named):
    """A fact at a time."""

    time: Moment


class Holds(Dated):
    run: Run = None


class HoldsMany(Request):
    model_config = example(
        facts=[{"subject": "France", "predicate": "has president", "object": "Emmanuel Macron", "time": "2026"}]
    )
    facts: list[Dated] = Field(min_length=1, description="Answered in this order.")
    run: Run = None


class AsOf(Request):
    subject: Place = "?"
    predicate: Annotated[Place, Field(examples=["has president"])] = "?"
    object: Annotated[Place, Field(examples=["?"])] = "?"
    time: Moment
    top: Top = 10
    run: Run = None


class Timeline(Request):
    subject: Name
    predicate: Annotated[Name, Field(examples=["has president"])]
    objects: list[Text] | None = Field(
        default=None, description="The objects to score; by default those known in that time."
    )
    span: Date = Field(
        default=None, description="A range such as 1980..2020; by default the whole axis.", examples=["1980..2020"]
    )
    run: Run = None


class Similar(Request):
    entity: Name
    top: Top = 10
    run: Run = None


class Names(Request):
    q: Text = Field(
        "", description="A name or its beginning; case and accents are ignored, typos allowed.", examples=["mitter"]
    )
    kind: Literal["entity", "predicate"] = Field(default="entity", description="entity or predicate.")
    limit: Top = 10
    run: Run = None


class Entity(Request):
    time: Date = Field(default=None, description="Only facts that hold at this time.", examples=["1990"])
    first: int = Field(default=0, ge=0, le=1_000_000_000, description="Number of facts to skip.")
    limit: int | None = Field(default=None, ge=1, le=1_000_000, description="Number of facts; by default the limit.")
    run: Run = None


class Chosen(Request):
    run: Run = None


class NewFact(Named):
    """A fact to add; one date alone is that of an event where it is both begin and end."""

    begin: str | None = Field(default=None, max_length=100, description="A date; null: unknown.", examples=["2024"])
    end: str | None = Field(default=None, max_length=100, description="A date; null: unknown, or it still holds.")


class AddFacts(Request):
    model_config = example(
        facts=[{"subject": "France", "predicate": "has prime minister", "object": "Michel Barnier", "begin": "2024"}]
    )
    facts: list[NewFact] = Field(min_length=1, description="All are added, or none.")
    run: Run = None


class NewEdge(BaseModel):
    """A fact as memories of agents keep it; fields that it does not name are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: Name = Field(validation_alias=AliasChoices("source", "source_node_uuid", "subject"))
    name: Name = Field(validation_alias=AliasChoices("name", "relation", "predicate"), examples=["has prime minister"])
    target: Name = Field(validation_alias=AliasChoices("target", "target_node_uuid", "object"))
    valid_at: str | None = Field(default=None, max_length=100, description="A date or time; null: unknown.")
    invalid_at: str | None = Field(
        default=None, max_length=100, description="A date or time; null: unknown, or still valid."
    )

    def fact(self) -> NewFact:
        values = {"begin": self.valid_at, "end": self.invalid_at}
        return NewFact(subject=self.source, predicate=self.name, object=self.target, **values)


class AddEdges(Request):
    model_config = example(
        edges=[{"source": "France", "name": "has prime minister", "target": "Michel Barnier", "valid_at": "2024-09-05"}]
    )
    edges: list[NewEdge] = Field(min_length=1, description="All are added, or none.")
    run: Run = None


class Edges(Request):
    entity: Name
    time: Moment | None = Field(
        default=None, description="Only edges that may hold at this time, with their probability."
    )
    limit: Top = 100
    run: Run = None
