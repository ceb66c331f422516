"""The figure of a training run: its losses by term, and the MRR on valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from knowwhen.errors import BadRequest
from knowwhen.plotting.figures import INK, bare, label_right, line_style, new_figure, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOT_TERMS = ("epoch", "valid", "corrected")


def training_figure(records: Sequence[dict[str, Any]]) -> Figure:
    """Losses and penalties over epochs, on a logarithmic scale; beside them the ranks where valid was looked at."""
    if not records:
        raise BadRequest("no epochs to plot: a run has records after its first epoch, a saved model has none")
    figure = new_figure(9.0, 4.0)
    looks = [record for record in records if "valid" in record]
    panels = figure.subplots(1, 2 if looks else 1, squeeze=False)[0]
    terms = [name for name in records[-1] if name not in NOT_TERMS]
    _curves(panels[0], {name.replace("_", " "): [(r["epoch"], r[name]) for r in records] for name in terms})
    panels[0].set_yscale("log")
    title(panels[0], "training loss by term")
    if looks:
        shown = {"MRR": "mrr", "Hits@1": "hits@1", "Hits@10": "hits@10"}
        _curves(panels[1], {name: [(r["epoch"], r["valid"][key]) for r in looks] for name, key in shown.items()})
        panels[1].set_ylim(0, 1)
        title(panels[1], "validation")
    for axes, names in zip(panels, (terms, ("MRR", "Hits@1", "Hits@10")), strict=False):
        label_right(axes, [name.replace("_", " ") for name in names])
    return figure


def _curves(axes: Axes, curves: dict[str, list[tuple[float, float]]]) -> None:
    from matplotlib.ticker import MaxNLocator

    bare(axes)
    for i, (name, points) in enumerate(curves.items()):
        colour, dash = line_style(i)
        marker = "o" if len(points) < 15 else ""
        x, y = zip(*points, strict=True)
        axes.plot(x, y, color=colour, linestyle=dash, marker=marker, markersize=4, linewidth=1.8, label=name)
    axes.set_xlabel("epoch", color=INK)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=(1, 2, 5, 10)))
