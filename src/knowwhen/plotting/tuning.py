"""The figure of a study: MRR on valid against each setting that was searched, and what mattered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from knowwhen.errors import BadRequest
from knowwhen.plotting.figures import COLOURS, FAINT, INK, bare, log_axis, new_figure, plain, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Tried = tuple[str, float | None, Mapping[str, Any]]  # state, MRR on valid, settings
COLUMNS = 3
ROOM = 0.03  # of an axis, beyond its ends
MANY = 60  # times the low end: from here on an axis has ticks at powers of ten alone
MARKS = {  # by state: a failed trial has no MRR, and lies on the floor
    "complete": {"marker": "o", "color": COLOURS[0], "s": 26},
    "pruned": {"marker": "o", "facecolors": "none", "edgecolors": COLOURS[6], "s": 22, "linewidths": 0.9},
    "failed": {"marker": "x", "color": COLOURS[1], "s": 26, "linewidths": 1.2},
}


def tuning_figure(trials: Sequence[Tried], space: Mapping[str, Any], importances: Mapping[str, float]) -> Figure:
    """A panel for each setting of the space, the trials best first, the best ringed; and bars of what mattered.

    The axes of a setting are its choices, a list, or its range: {"low": …, "high": …, "log": …}.
    """
    shown = [trial for trial in trials if trial[0] in MARKS and (trial[1] is not None or trial[0] == "failed")]
    if not any(mrr is not None for _, mrr, _ in shown):
        raise BadRequest("no trials to plot: none has been validated yet")
    count = len(space) + bool(importances)
    columns = min(COLUMNS, 2 if count == 4 else count)
    rows = -(-count // columns)
    figure = new_figure(3.4 * columns, 2.9 * rows + 0.3)
    for i, (name, axis) in enumerate(space.items()):
        axes = bare(figure.add_subplot(rows, columns, i + 1))
        _panel(axes, shown, name, axis)
        if not i % columns:
            axes.set_ylabel("MRR on valid", color=INK)
    if importances:
        _bars(bare(figure.add_subplot(rows, columns, count)), importances)
    handles = {label: one for axes in figure.axes for one, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def _panel(axes: Axes, shown: Sequence[Tried], name: str, axis: Any) -> None:
    title(axes, name)
    place = _axis(axes, axis)
    for state, style in MARKS.items():
        some = [(place(point[name]), mrr or 0.0) for found, mrr, point in shown if found == state and name in point]
        if some:
            axes.scatter(*zip(*some, strict=True), label=state, zorder=2, **style)  # type: ignore[arg-type]
    for mrr, point in [(mrr, point) for state, mrr, point in shown if state == "complete" and mrr is not None][:1]:
        axes.scatter(
            place(point[name]),
            mrr,
            s=110,
            facecolors="none",
            edgecolors=COLOURS[1],
            linewidths=1.4,
            zorder=3,
            label="best",
        )
    axes.set_ylim(0, 1.1 * max(mrr or 0 for _, mrr, _ in shown) or 1)


def _axis(axes: Axes, axis: Any) -> Any:
    """The function from a value to its place on the axis, which is made for it."""
    if isinstance(axis, list):
        labels = [plain(_label(value)) for value in axis]
        axes.set_xticks(range(len(axis)), labels, rotation=30 if len("".join(labels)) > 24 else 0)
        axes.set_xlim(-0.5, len(axis) - 0.5)
        return lambda value: axis.index(value)
    low, high = axis["low"], axis["high"]
    if axis.get("log"):
        log_axis(axes, (1.0, 2.0, 5.0) if high < MANY * low else (1.0,))
        axes.set_xlim(low * (low / high) ** ROOM, high * (high / low) ** ROOM)
    else:
        axes.set_xlim(low - ROOM * (high - low), high + ROOM * (high - low))
    return lambda value: value


def _label(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "\n".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _bars(axes: Axes, importances: Mapping[str, float]) -> None:
    title(axes, "what mattered")
    names, shares = list(importances)[::-1], list(importances.values())[::-1]
    axes.barh(range(len(names)), shares, color=COLOURS[0], height=0.5)
    for i, (name, share) in enumerate(zip(names, shares, strict=True)):
        axes.annotate(f"{plain(name)}  {share:.2f}", (0, i + 0.33), fontsize=8.5, color=INK, va="bottom")
    axes.set(xlim=(0, 1), ylim=(-0.6, len(names) - 0.2), yticks=())
    axes.spines["left"].set_color(FAINT)
    axes.set_xlabel("share explained by the setting alone", color=INK)
