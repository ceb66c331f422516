"""The reliability diagram: how often answers are right, by how sure the model is of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from knowwhen.errors import BadRequest
from knowwhen.plotting.figures import COLOURS, FAINT, INK, bare, new_figure, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from knowwhen.evaluation.bins import Reliability
    from knowwhen.evaluation.reliability import CalibrationReport, SlotReport
    from knowwhen.evaluation.times import TimeMetrics

DATES = {"begin": "begins", "end": "ends", "span": "whole spans", "holds": "facts at a time"}


def reliability_figure(report: CalibrationReport) -> Figure:
    """A panel for each kind of question: accuracy over confidence, without a temperature and with it.

    Each point is a bin of answers, larger the more there are; calibrated answers lie on the diagonal.
    """
    figure, panels = _panels([f"{slot} questions" for slot in report.slots], f"accuracy on {report.split}")
    for axes, found in zip(panels, report.slots.values(), strict=True):
        _panel(axes, found, report.calibrated)
    return figure


def dates_figure(metrics: TimeMetrics) -> Figure:
    """Panels for begins, ends and spans (how often the first answer is exactly right), and for facts at a time."""
    found = dict(metrics.model.reliability) | ({"holds": metrics.holds.reliability} if metrics.holds else {})
    if not found:
        raise BadRequest("no dates to plot: this model has no time head; train with --set dating.passes=4")
    figure, panels = _panels([DATES[name] for name in found], "accuracy")
    for axes, one in zip(panels, found.values(), strict=True):
        _points(axes, one, COLOURS[0], f"ECE {one.expected_calibration_error:.3f}")
        axes.legend(loc="upper left", fontsize=8.5, frameon=False, borderaxespad=0.1, handlelength=1.2)
    return figure


def _panels(titles: Sequence[str], accuracy: str) -> tuple[Figure, list[Axes]]:
    """Empty panels with a diagonal, two a row."""
    columns, rows = min(2, len(titles)), -(-len(titles) // 2)
    figure, panels = new_figure(3.6 * columns, 3.7 * rows), []
    for place, name in enumerate(titles, 1):
        axes = figure.add_subplot(rows, columns, place)
        bare(axes).plot((0, 1), (0, 1), color=FAINT, linewidth=1, label="_diagonal")
        title(axes, name)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal", xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        axes.set_xlabel("confidence", color=INK)
        axes.set_ylabel(accuracy, color=INK)
        panels.append(axes)
    return figure, panels


def _panel(axes: Axes, found: SlotReport, calibrated: bool) -> None:
    curves = [("as scored", COLOURS[1], found.before)]
    if calibrated:
        curves.append((f"T = {found.temperature:.2f}", COLOURS[0], found.after))
    for name, colour, reliability in curves:
        _points(axes, reliability, colour, f"{name}: ECE {reliability.expected_calibration_error:.3f}")
    axes.legend(loc="upper left", fontsize=8.5, frameon=False, borderaxespad=0.1, handlelength=1.2)


def _points(axes: Axes, reliability: Reliability, colour: str, label: str) -> None:
    x, y = [bin.confidence for bin in reliability.bins], [bin.accuracy for bin in reliability.bins]
    most = max((bin.count for bin in reliability.bins), default=1)
    axes.plot(x, y, color=colour, linewidth=1.4, label=label)
    axes.scatter(x, y, s=[8 + 60 * bin.count / most for bin in reliability.bins], color=colour, alpha=0.8, linewidths=0)
