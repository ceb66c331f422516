"""The figure of a comparison: differences in MRR to the first run, with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowwhen.plotting.figures import FAINT, INK, bare, line_style, new_figure, plain, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from knowwhen.evaluation.comparison import Comparison

BESIDE = 0.6  # of a row: the room of all runs in it


def comparison_figure(found: Comparison) -> Figure:
    """A row for all queries, each kind of support and the most frequent predicates; a colour for each run.

    A group with too few facts for an interval has a hollow dot.
    """
    groups, others = found.shown(), found.runs[1:]
    figure = new_figure(8.0, 1.3 + 0.3 * len(groups) * max(1, 0.6 * len(others)))
    axes = bare(figure.add_subplot())
    axes.axvline(0, color=FAINT, linewidth=1)
    for i, run in enumerate(others):
        colour, _ = line_style(i)
        for row, (_, group) in enumerate(groups):
            one, height = group.differences[i]["mrr"], row + BESIDE * ((i + 0.5) / len(others) - 0.5)
            fill = "none" if one.low is None else colour
            axes.scatter(
                one.value, height, s=24, facecolors=fill, edgecolors=colour, zorder=3, label=_once(run.name, row)
            )
            if one.low is not None and one.high is not None:
                axes.plot((one.low, one.high), (height, height), color=colour, linewidth=1.8, label="_interval")
    names = [f"{plain(name)} ({group.count:,})" for name, group in groups]
    axes.set_yticks(range(len(groups)), names)
    axes.set_ylim(len(groups) - 0.4, -0.6)  # from above
    axes.set_xlabel(f"difference in MRR on {found.split}, 95 % interval", color=INK)
    title(axes, f"against {found.runs[0].name}")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _once(name: str, row: int) -> str:
    return plain(name) if not row else "_again"
