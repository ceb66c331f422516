"""Names in, ranked answers out: questions, times, neighbours, and probabilities that can be believed."""

from knowwhen.query.answers import Answer, Answers, TimeAnswers, TimeSpan
from knowwhen.query.as_of import AsOf, AsOfAnswer, as_of
from knowwhen.query.ask import answer, ask, ask_batch
from knowwhen.query.entities import EntityFact, EntityFacts, FoundName, entity_facts, fact_counts, find_names
from knowwhen.query.explain import Explainer, Explanation, FactShare
from knowwhen.query.holds import Holds, holds, holds_batch
from knowwhen.query.neighbours import Neighbour, Neighbours, embeddings, nearest_times, similar
from knowwhen.query.questions import Question, read_question
from knowwhen.query.timelines import TimelineScores, timeline
from knowwhen.query.when import PlacingFact, When, fill, when, when_batch

__all__ = [
    "Answer",
    "Answers",
    "AsOf",
    "AsOfAnswer",
    "EntityFact",
    "EntityFacts",
    "Explainer",
    "Explanation",
    "FactShare",
    "FoundName",
    "Holds",
    "Neighbour",
    "Neighbours",
    "PlacingFact",
    "Question",
    "TimeAnswers",
    "TimeSpan",
    "TimelineScores",
    "When",
    "answer",
    "as_of",
    "ask",
    "ask_batch",
    "embeddings",
    "entity_facts",
    "fact_counts",
    "fill",
    "find_names",
    "holds",
    "holds_batch",
    "nearest_times",
    "read_question",
    "similar",
    "timeline",
    "when",
    "when_batch",
]
