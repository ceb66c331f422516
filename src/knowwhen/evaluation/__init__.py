"""Metrics anyone can trust: facts to ranks, ranks to numbers, and times predicted, each with its protocol."""

from knowwhen.evaluation.evaluate import evaluate
from knowwhen.evaluation.metrics import Metrics, RankScores, summarise
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.queries import Queries, ask
from knowwhen.evaluation.ranking import Ranks, rank_objects

__all__ = [
    "Metrics",
    "Protocol",
    "Queries",
    "RankScores",
    "Ranks",
    "ask",
    "evaluate",
    "rank_objects",
    "summarise",
]
