"""Figures of answers: bars for names, a curve for times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowwhen.errors import BadRequest
from knowwhen.plotting.figures import COLOURS, INK, bare, new_figure, plain, shade, shown_part, time_axis, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from knowwhen.query.answers import Answers, TimeAnswers
    from knowwhen.query.when import When

KNOWN, NEW = COLOURS[0], COLOURS[1]


def answers_figure(answers: Answers) -> Figure:
    """A horizontal bar for the probability of each answer, best on top; known answers and new ones differ in colour."""
    if not len(answers):
        raise BadRequest(f"no answers to plot for ({answers.question})")
    figure = new_figure(7.0, 1.1 + 0.3 * len(answers))
    axes = bare(figure.add_subplot())
    bars = axes.barh(
        range(len(answers)),
        [answer.probability for answer in answers],
        color=[KNOWN if answer.known else NEW for answer in answers],
        height=0.7,
    )
    labels = [f"{answer.probability:.3f}" + ("" if answer.known else "  new") for answer in answers]
    axes.bar_label(bars, labels, padding=4, fontsize=9, color=INK)
    axes.set_yticks(range(len(answers)), [plain(answer.name) for answer in answers])
    axes.invert_yaxis()
    axes.tick_params(left=False)
    axes.set_xlim(0, 1.15 * max(answer.probability for answer in answers))
    axes.set_xlabel("probability" if answers.calibrated else "probability, not calibrated", color=INK)
    title(axes, answers.question)
    return figure


def times_figure(answers: TimeAnswers) -> Figure:
    """The probability of each timestamp, the spans that are known as background, the best spans as bars below."""
    figure = new_figure(8.0, 3.4)
    axes = bare(figure.add_subplot())
    places = time_axis(axes, answers.times)
    axes.plot(places, answers.probabilities, color=KNOWN, linewidth=1.8, label="probability")
    axes.fill_between(places, answers.probabilities, color=KNOWN, alpha=0.15, linewidth=0)
    for span in answers.known:
        shade(axes, places, span, COLOURS[2], "known")
    top = float(answers.probabilities.max())
    for best in answers.spans:
        ends = shown_part(axes, places, (best.begin, best.end))
        assert ends is not None, "the axes show the whole time axis"
        axes.plot(ends, (-0.06 * top,) * 2, color=NEW, linewidth=5, solid_capstyle="butt", label="best spans")
    axes.set_ylim(-0.12 * top, 1.08 * top)
    axes.set_ylabel("probability" if answers.calibrated else "probability, not calibrated", color=INK)
    title(axes, answers.question)
    handles = {name: handle for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    axes.legend(handles.values(), handles.keys(), fontsize=9, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def when_figure(found: When) -> Figure:
    """The chance that a fact holds along time, what is known as background, the best span and 80 % ranges below."""
    figure = new_figure(8.0, 3.4)
    axes = bare(figure.add_subplot())
    places = time_axis(axes, found.times)
    axes.plot(places, found.holds, color=KNOWN, linewidth=1.8, label="holds")
    axes.fill_between(places, found.holds, color=KNOWN, alpha=0.15, linewidth=0)
    for span in found.known:
        shade(axes, places, span, COLOURS[2], "known")
    bars = [((found.begin, found.end), NEW, -0.06, "best span")]
    bars += [(found.begin_range, COLOURS[3], -0.12, "80 % range of the begin")]
    bars += [(found.end_range, COLOURS[4], -0.18, "80 % range of the end")]
    for ends, colour, height, label in bars:
        shown = shown_part(axes, places, ends)
        if shown is not None:
            axes.plot(shown, (height,) * 2, color=colour, linewidth=5, solid_capstyle="butt", label=label)
    axes.set_ylim(-0.24, 1.08)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.set_ylabel("probability", color=INK)
    title(axes, found.question)
    axes.legend(fontsize=9, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
