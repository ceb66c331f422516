"""Models side by side: how good they are, against their size and against the time they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from knowwhen.plotting.figures import COLOURS, INK, bare, log_axis, new_figure, plain, spread, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Point = tuple[str, int, float, float]  # model, parameters, processor minutes of training, test MRR


def field_figure(points: Sequence[Point], data: str) -> Figure:
    """Test MRR against parameters, in millions, and against processor minutes of training, on a logarithmic axis."""
    figure = new_figure(11, 6)
    sides = (
        ("parameters, millions", [parameters / 1e6 for _, parameters, _, _ in points]),
        ("processor minutes of training", [max(minutes, 0.01) for _, _, minutes, _ in points]),
    )
    scores = [mrr for *_, mrr in points]
    room = (max(scores) - min(scores) or 1) / 30
    for i, (label, places) in enumerate(sides):
        axes = bare(figure.add_subplot(1, 2, i + 1))
        axes.scatter(places, scores, s=18, color=COLOURS[i])
        for (name, *_), x, y, height in zip(points, places, scores, spread(scores, room), strict=True):
            axes.annotate(
                plain(name),
                (x, y),
                (1.02, height),
                textcoords=axes.get_yaxis_transform(),
                fontsize=7,
                color=INK,
                va="center",
                arrowprops={"arrowstyle": "-", "color": COLOURS[i], "alpha": 0.25, "linewidth": 0.6},
            )
        axes.set_xlabel(label, color=INK)
        if i:
            log_axis(axes)
        else:
            axes.set_xlim(0, 1.1 * max(places))
        title(axes, f"{data}: test MRR" if not i else "")
    return figure
