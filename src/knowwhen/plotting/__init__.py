"""Figures from values of a run and of questions; each is a matplotlib Figure, made without a display."""

from knowwhen.plotting.answers import answers_figure, times_figure
from knowwhen.plotting.comparison import comparison_figure
from knowwhen.plotting.figures import check_figure, save
from knowwhen.plotting.plot import plot
from knowwhen.plotting.reliability import dates_figure, reliability_figure
from knowwhen.plotting.timeline import timeline_figure
from knowwhen.plotting.timestamps import timestamps_figure
from knowwhen.plotting.training import training_figure
from knowwhen.plotting.tuning import tuning_figure

__all__ = [
    "answers_figure",
    "check_figure",
    "comparison_figure",
    "dates_figure",
    "plot",
    "reliability_figure",
    "save",
    "timeline_figure",
    "times_figure",
    "timestamps_figure",
    "training_figure",
    "tuning_figure",
]
