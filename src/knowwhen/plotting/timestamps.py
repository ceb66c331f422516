"""The figure of the timestamps' embedding: neighbours in time lie near each other where it is smooth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from knowwhen.errors import BadRequest
from knowwhen.plotting.figures import FAINT, INK, bare, extent, new_figure, plain, title, year_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

NAMED = 12  # timestamps that are labelled, where there is room
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


def timestamps_figure(times: Sequence[str], rows: NDArray[np.float32]) -> Figure:
    """The rows (T, d) in the plane of their two largest principal components, joined in order and coloured by date."""
    places, shares = principal_plane(rows)
    years = [year_of(label) for label in times]
    figure = new_figure(7.0, 5.0)
    axes = bare(figure.add_subplot())
    x, y = places[:, 0], places[:, 1]
    axes.plot(x, y, color=FAINT, linewidth=0.8, zorder=1)
    points = axes.scatter(x, y, c=years, cmap="cividis", s=22, linewidths=0, zorder=2)
    bar = figure.colorbar(points, ax=axes, label="date", shrink=0.8, format=lambda year, _: f"{year:g}")
    bar.outline.set_visible(False)
    for axis, share in zip(("x", "y"), shares, strict=True):
        axes.set(**{f"{axis}label": f"principal component, {share:.0%} of the variance"})
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    title(axes, f"{len(times)} timestamps in the embedding")
    _name_some(axes, times, places)
    return figure


def principal_plane(rows: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # (T, 2), (2,)
    """The rows' coordinates along their two largest principal components, and each one's share of the variance."""
    if len(rows) < 3 or rows.shape[1] < 2:
        raise BadRequest(
            f"cannot plot {len(rows)} timestamps with {rows.shape[1]} numbers each; expected at least 3 timestamps"
        )
    centred = rows.astype(np.float64) - rows.mean(0, dtype=np.float64)
    left, lengths, _ = np.linalg.svd(centred, full_matrices=False)
    return left[:, :2] * lengths[:2], lengths[:2] ** 2 / max((lengths**2).sum(), np.finfo(float).tiny)


def _name_some(axes: Axes, times: Sequence[str], places: NDArray[np.float64]) -> None:
    """Writes the dates of timestamps at equal distances in time beside them, where there is room."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # settles where the axes are
    dots = axes.transData.transform(places)  # (T, 2), in pixels
    taken: list[Bbox] = []
    for i in np.linspace(0, len(times) - 1, min(NAMED, len(times))).round().astype(int):
        tried = [_beside(axes, plain(times[i]), places[i], side) for side in SIDES]
        covered = [(box.count_overlaps(taken), box.count_contains(dots)) for box in map(extent, tried)]
        best = min(range(len(tried)), key=lambda k: covered[k])
        for k, text in enumerate(tried):
            if k != best or covered[k][0]:
                text.remove()
        if not covered[best][0]:
            taken.append(extent(tried[best]))


def _beside(axes: Axes, label: str, place: NDArray[np.float64], side: tuple[int, int]) -> Text:
    """The label of a point on one side of it."""
    across, up = side
    return axes.annotate(
        label,
        (float(place[0]), float(place[1])),
        (6 * across, 6 * up),
        textcoords="offset points",
        ha={-1: "right", 0: "center", 1: "left"}[across],
        va={-1: "top", 0: "center", 1: "bottom"}[up],
        fontsize=9,
        color=INK,
    )
