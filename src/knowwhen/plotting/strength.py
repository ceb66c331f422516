"""Figures of the weights of penalties: MRR against one weight, a curve for each penalty, and over a grid of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowwhen.errors import BadRequest
from knowwhen.plotting.figures import INK, bare, label_right, line_style, new_figure, plain, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Panel:
    """Curves over one kind of weight."""

    curves: Mapping[str, Sequence[tuple[float, float]]]  # weight and MRR of each point
    label: str


def strength_figure(panels: Sequence[Panel], heading: str) -> Figure:
    """MRR over weights on a logarithmic scale, with the weight 0 at its left end; panels share the scale of MRR."""
    if not any(points for panel in panels for points in panel.curves.values()):
        raise BadRequest("no results to plot: run `knowwhen reproduce figure1` without --only-report first")
    figure = new_figure(5.5 * len(panels) + 1.5, 4.0)
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(every, panels, strict=True):
        bare(axes)
        weights = [weight for points in panel.curves.values() for weight, _ in points if weight > 0]
        for i, (name, points) in enumerate(panel.curves.items()):
            colour, dash = line_style(i)
            axes.plot(
                *zip(*sorted(points), strict=True), color=colour, linestyle=dash, marker="o", markersize=4, label=name
            )
        axes.set_xscale("symlog", linthresh=min(weights, default=1.0))
        axes.set_xlabel(panel.label, color=INK)
    every[0].set_ylabel("MRR", color=INK)
    title(every[0], heading)
    for axes, panel in zip(every, panels, strict=True):
        label_right(axes, list(panel.curves))
    return figure


def grid_figure(cells: Mapping[tuple[float, float], float], labels: tuple[str, str], heading: str) -> Figure:
    """MRR as colours over two weights, each cell with its value, the best in bold; empty where nothing was run."""
    rows, columns = (sorted({weights[i] for weights in cells}) for i in (0, 1))
    figure = new_figure(1.2 * len(columns) + 2.5, 0.6 * len(rows) + 1.8)
    axes = bare(figure.subplots())
    values = [[cells.get((row, column), float("nan")) for column in columns] for row in rows]
    axes.imshow(values, cmap="Blues", aspect="auto", origin="lower", vmin=min(cells.values()) - 0.02)
    middle = (min(cells.values()) + max(cells.values())) / 2
    for (row, column), value in cells.items():
        weight = "bold" if value == max(cells.values()) else "normal"
        place = (columns.index(column), rows.index(row))
        colour = "white" if value > middle else INK
        axes.text(*place, f"{value:.4f}", ha="center", va="center", fontsize=9, color=colour, fontweight=weight)
    axes.set_yticks(range(len(rows)), [f"{row:g}" for row in rows])
    axes.set_xticks(range(len(columns)), [f"{column:g}" for column in columns])
    axes.set_ylabel(plain(labels[0]), color=INK)
    axes.set_xlabel(plain(labels[1]), color=INK)
    title(axes, heading)
    return figure
