"""The figure of a penalty's strength: MRR against its weight, one curve a penalty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from knowwhen.errors import BadRequest
from knowwhen.plotting.figures import INK, bare, label_right, line_style, new_figure, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def strength_figure(curves: Mapping[str, Sequence[tuple[float, float]]], heading: str) -> Figure:
    """MRR over weights on a logarithmic scale, with the weight 0 at its left end."""
    if not any(curves.values()):
        raise BadRequest("no results to plot: run `knowwhen reproduce figure1` without --only-report first")
    figure = new_figure(7.0, 4.0)
    axes = bare(figure.subplots())
    smallest = min(weight for points in curves.values() for weight, _ in points if weight > 0)
    for i, (name, points) in enumerate(curves.items()):
        colour, dash = line_style(i)
        weights, scores = zip(*sorted(points), strict=True)
        axes.plot(weights, scores, color=colour, linestyle=dash, marker="o", markersize=4, linewidth=1.8, label=name)
    axes.set_xscale("symlog", linthresh=smallest)
    axes.set_xlabel("weight of the smoothness penalty", color=INK)
    axes.set_ylabel("MRR", color=INK)
    title(axes, heading)
    label_right(axes, list(curves))
    return figure
