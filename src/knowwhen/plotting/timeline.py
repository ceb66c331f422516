"""The figure of scores along time: the paper's Figure 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from knowwhen.plotting.figures import INK, bare, label_above, line_style, new_figure, plain, shade, time_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from knowwhen.query.timelines import TimelineScores

Values = Literal["score", "probability"]


def timeline_figure(scores: TimelineScores, values: Values = "score") -> Figure:
    """One curve per object over time, the spans in which it is known to hold as background of the same colour.

    Lacroix et al. 2020, Figure 2 ("Qualitative study"), which shows scores; probabilities are of the object among all
    entities at that time.
    """
    figure = new_figure()
    axes = bare(figure.add_subplot())
    places = time_axis(axes, scores.times)
    curves = scores.scores if values == "score" else scores.probabilities
    tops = []
    for i, curve in enumerate(curves):
        colour, dash = line_style(i)
        marker = "o" if len(places) == 1 else ""
        axes.plot(places, curve, color=colour, linestyle=dash, marker=marker, linewidth=1.8, label=scores.objects[i])
        middles = [shade(axes, places, span, colour, scores.objects[i]) for span in scores.known[i]]
        # The name goes over the first span that is shown, or over the peak where none is.
        tops.append(next((middle for middle in middles if middle is not None), places[int(curve.argmax())]))
    axes.set_ylabel(values, color=INK)
    if values == "probability":
        axes.set_ylim(0, 1.02)
    rows = label_above(axes, scores.objects, tops, [line_style(i)[0] for i in range(len(curves))])
    axes.set_title(
        plain(f"{scores.subject}, {scores.predicate}"), loc="left", fontsize=11, color=INK, pad=10 + 13 * rows
    )
    return figure
