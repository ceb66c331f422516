"""Metrics anyone can trust: facts to ranks, ranks to numbers, and times predicted, each with its protocol."""

from knowwhen.evaluation.calibration import Calibration, calibrate
from knowwhen.evaluation.evaluate import evaluate, evaluate_times, ranks_of
from knowwhen.evaluation.metrics import Metrics, RankScores, summarise
from knowwhen.evaluation.pair_counts import PairCounts
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.questions import Questions, ask
from knowwhen.evaluation.ranking import Ranks, rank_objects
from knowwhen.evaluation.reliability import CalibrationReport, calibration_report
from knowwhen.evaluation.report import rank_report, time_report
from knowwhen.evaluation.times import TimeMetrics, TimeScores

__all__ = [
    "Calibration",
    "CalibrationReport",
    "Metrics",
    "PairCounts",
    "Protocol",
    "Questions",
    "RankScores",
    "Ranks",
    "TimeMetrics",
    "TimeScores",
    "ask",
    "calibrate",
    "calibration_report",
    "evaluate",
    "evaluate_times",
    "rank_objects",
    "rank_report",
    "ranks_of",
    "summarise",
    "time_report",
]
