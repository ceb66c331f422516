"""Metrics anyone can trust: facts to ranks, ranks to numbers, and times predicted, each with its protocol."""

from knowwhen.evaluation.evaluate import evaluate, evaluate_times
from knowwhen.evaluation.metrics import Metrics, RankScores, summarise
from knowwhen.evaluation.pair_history import PairCounts
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.queries import Queries, ask
from knowwhen.evaluation.ranking import Ranks, rank_objects
from knowwhen.evaluation.report import rank_report, time_report
from knowwhen.evaluation.times import TimeMetrics, TimeScores

__all__ = [
    "Metrics",
    "PairCounts",
    "Protocol",
    "Queries",
    "RankScores",
    "Ranks",
    "TimeMetrics",
    "TimeScores",
    "ask",
    "evaluate",
    "evaluate_times",
    "rank_objects",
    "rank_report",
    "summarise",
    "time_report",
]
