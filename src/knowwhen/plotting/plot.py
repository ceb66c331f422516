"""One function for all that can be drawn: it knows the figure of each kind of value."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from knowwhen.errors import BadRequest
from knowwhen.plotting.answers import answers_figure, times_figure
from knowwhen.plotting.figures import save
from knowwhen.plotting.reliability import reliability_figure
from knowwhen.plotting.timeline import timeline_figure
from knowwhen.query import Answers, CalibrationReport, TimeAnswers, TimelineScores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Plottable = Answers | TimeAnswers | TimelineScores | CalibrationReport


def plot(value: Plottable, out: str | Path | None = None) -> Figure:
    """The figure of answers, of a timeline or of a calibration report; with `out` also written to that file."""
    if isinstance(value, Answers):
        figure = answers_figure(value)
    elif isinstance(value, TimeAnswers):
        figure = times_figure(value)
    elif isinstance(value, TimelineScores):
        figure = timeline_figure(value)
    elif isinstance(value, CalibrationReport):
        figure = reliability_figure(value)
    else:
        raise BadRequest(
            f"no figure for a {type(value).__name__}; expected answers, a timeline or a calibration report"
        )
    if out is not None:
        save(figure, out)
    return figure
