"""The figure of convergence: MRR against minutes of training, a curve for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from knowwhen.plotting.figures import INK, bare, label_right, line_style, log_axis, new_figure, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def convergence_figure(curves: Mapping[str, Sequence[tuple[float, float]]], heading: str) -> Figure:
    """MRR at each validation, over minutes on a logarithmic scale: models differ by powers of ten."""
    figure = new_figure(8.0, 4.2)
    axes = bare(figure.subplots())
    for i, (name, points) in enumerate(curves.items()):
        colour, dash = line_style(i)
        minutes, scores = zip(*points, strict=True)
        axes.plot(minutes, scores, color=colour, linestyle=dash, marker="o", markersize=3, linewidth=1.6, label=name)
    log_axis(axes)
    axes.set_xlabel("minutes of training", color=INK)
    axes.set_ylabel("MRR", color=INK)
    title(axes, heading)
    label_right(axes, list(curves))
    return figure
