"""Which figure each kind of value has: `kw.plot(value)` and `value.plot()` find it here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowwhen.drawable import FIGURES, draw
from knowwhen.evaluation.comparison import Comparison
from knowwhen.evaluation.reliability import CalibrationReport
from knowwhen.evaluation.times import TimeMetrics
from knowwhen.plotting.answers import answers_figure, times_figure, when_figure
from knowwhen.plotting.comparison import comparison_figure
from knowwhen.plotting.figures import save
from knowwhen.plotting.reliability import dates_figure, reliability_figure
from knowwhen.plotting.timeline import timeline_figure
from knowwhen.query import Answers, TimeAnswers, TimelineScores, When

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(value: Any, out: str | Path | None = None) -> Figure:
    """Draw answers, a timeline, a calibration report, a study or a comparison; `out` also writes it to a file."""
    figure: Figure = draw(value, out)
    return figure


def drawn(make: Callable[[Any], Figure], value: Any, out: str | Path | None) -> Figure:
    """What `FIGURES` holds for a kind of value: the figure that a function makes, also written with `out`."""
    figure = make(value)
    if out is not None:
        save(figure, out)
    return figure


FIGURES[Answers] = partial(drawn, answers_figure)
FIGURES[TimeAnswers] = partial(drawn, times_figure)
FIGURES[When] = partial(drawn, when_figure)
FIGURES[TimelineScores] = partial(drawn, timeline_figure)
FIGURES[CalibrationReport] = partial(drawn, reliability_figure)
FIGURES[Comparison] = partial(drawn, comparison_figure)
FIGURES[TimeMetrics] = partial(drawn, dates_figure)
