"""Names in, ranked answers out: questions, times, neighbours, and probabilities that can be believed."""

from knowwhen.query.answers import Answer, Answers, TimeAnswers, TimeSpan
from knowwhen.query.ask import answer, ask, ask_batch
from knowwhen.query.explain import Explainer, Explanation, FactShare
from knowwhen.query.neighbours import Neighbour, Neighbours, embeddings, nearest_times, similar
from knowwhen.query.questions import Question, read_question
from knowwhen.query.timelines import TimelineScores, timeline

__all__ = [
    "Answer",
    "Answers",
    "Explainer",
    "Explanation",
    "FactShare",
    "Neighbour",
    "Neighbours",
    "Question",
    "TimeAnswers",
    "TimeSpan",
    "TimelineScores",
    "answer",
    "ask",
    "ask_batch",
    "embeddings",
    "nearest_times",
    "read_question",
    "similar",
    "timeline",
]
