"""What all figures share: paper, colours, time axis, labels that do not overlap, and files.

No pyplot: a figure is a value, made and saved without a display and without global state.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowwhen.errors import BadRequest, MissingExtra
from knowwhen.facts.dates import MINUTES, civil, day_number, parse_period
from knowwhen.files import UNCHANGED, check_target, write_whole, writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    from knowwhen.query.answers import Span

# Okabe and Ito's colours, told apart by people who do not see all colours; without yellow, which is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
DASHES = ("-", "--", ":", "-.")  # one after the other once all colours are used
INK, FAINT = "#333333", "#bbbbbb"
ENDINGS = (".svg", ".png", ".pdf")
MANY_YEARS = 4  # from here on an axis has ticks at whole years, below at timestamps
SHORT_TICKS = 6  # of such an axis: dates are long


def new_figure(width: float = 8.0, height: float = 4.0) -> Figure:
    """An empty figure, in inches; says what to install where matplotlib is missing."""
    try:
        from knowwhen.plotting.drawn import Drawn
    except ImportError:
        raise MissingExtra("plotting", "plot") from None
    return Drawn(width, height)


def bare(axes: Axes) -> Axes:
    """The axes without a frame on the right and above."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize=9)
    return axes


def title(axes: Axes, text: str) -> None:
    """Puts a title at the left of the axes; names are shown as they are, dollar signs included."""
    axes.set_title(plain(text), loc="left", fontsize=11, color=INK)


def plain(text: str) -> str:
    """The text with dollar signs that matplotlib does not take for mathematics."""
    return text.replace("$", r"\$")


def line_style(index: int) -> tuple[str, str]:
    """The colour and dash of the i-th curve; none is used twice among the first 28."""
    return COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)]


def year_of(label: str) -> float:
    """The place of a date on an axis of years: 2012 for '2012', 2012.5 for '2012-07-02'."""
    period = parse_period(label, clock=True)
    assert period is not None, "labels of a timeline are dates"
    year = civil(period.first)[0]
    first, after = day_number(year, 1, 1), day_number(year + 1, 1, 1)
    return year + (period.first + period.start / MINUTES - first) / (after - first)


def time_axis(axes: Axes, times: Sequence[str]) -> list[float]:
    """The places of the times; the axis covers them, with ticks at whole years or, in a short span, at timestamps."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

    places = [year_of(label) for label in times]
    first, last = places[0], places[-1]
    axes.set_xlim((first, last) if first < last else (first - 0.5, last + 0.5))
    if last - first >= MANY_YEARS:
        axes.xaxis.set_major_locator(MaxNLocator(9, integer=True))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda place, _: str(round(place))))
    else:
        near = {int(np.abs(np.array(places) - place).argmin()) for place in np.linspace(first, last, SHORT_TICKS)}
        axes.xaxis.set_major_locator(FixedLocator([places[i] for i in sorted(near)]))
        label_at = dict(zip(places, times, strict=True))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda place, _: label_at.get(place, "")))
    return places


def log_axis(axes: Axes, subs: Sequence[float] = (1.0, 2.0, 5.0)) -> None:
    """Makes x logarithmic, with labels at these multiples of powers of ten alone: all of them would run together."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:g}")


def extent(text: Text) -> Bbox:
    """The box of a text in pixels."""
    figure = text.get_figure(root=True)
    assert figure is not None
    return text.get_window_extent(figure.canvas.get_renderer())  # type: ignore[attr-defined]


def label_above(axes: Axes, names: Sequence[str], places: Sequence[float], colours: Sequence[str]) -> int:
    """Writes names above the axes, each over its place, in as many rows as they need; returns how many."""
    # The rows are spaced in points and the boxes measured in pixels, so both hold whatever the size of the figure.
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # settles where the axes are
    left, right = axes.bbox.x0, axes.bbox.x1
    ends: list[float] = []  # of each row so far, in pixels
    order = sorted(range(len(names)), key=lambda i: places[i])
    for i in order:
        text = axes.annotate(
            plain(names[i]), (places[i], 1), (0, 0), ("data", "axes fraction"), "offset points", ha="center"
        )
        text.set(color=darker(colours[i]), fontsize=9, fontweight="bold", annotation_clip=False, in_layout=True)
        box = extent(text)
        shift = max(0.0, left - box.x0) - max(0.0, box.x1 - right)
        row = next((k for k, end in enumerate(ends) if end + 8 < box.x0 + shift), len(ends))
        ends[row : row + 1] = [box.x1 + shift]
        text.set_position((shift * 72 / figure.dpi, 5 + 13 * row))
    return len(ends)


def label_right(axes: Axes, names: Sequence[str]) -> None:
    """Writes the name of each curve behind its last point, in its colour; labels that would meet are moved apart."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # settles where the axes are
    lines = list(axes.lines)
    data = [np.asarray(line.get_xydata()) for line in lines]
    points = [(float(rows[-1, 0]), float(rows[-1, 1])) for rows in data]
    ends = [float(axes.transData.transform(point)[1]) for point in points]
    heights = spread(ends, 13 * figure.dpi / 72)
    for line, name, point, end, height in zip(lines, names, points, ends, heights, strict=True):
        offset = (6, (height - end) * 72 / figure.dpi)
        text = axes.annotate(plain(name), point, offset, textcoords="offset points", va="center", fontsize=9)
        text.set(color=darker(str(line.get_color())), annotation_clip=False)


def shown_part(axes: Axes, places: Sequence[float], span: Span) -> tuple[float, float] | None:
    """What time axes show of a span, None where they show nothing of it.

    An open side reaches to the edge of the axes; an event is half a step wide on both sides.
    """
    left, right = axes.get_xlim()
    first, last = (None if end is None else year_of(end) for end in span)
    if first is not None and first == last:
        half = min((b - a for a, b in pairwise(places)), default=1.0) / 2
        first, last = first - half, first + half
    first, last = max(left, left if first is None else first), min(right, right if last is None else last)
    return (first, last) if first < last else None


def shade(axes: Axes, places: Sequence[float], span: Span, colour: str, label: str) -> float | None:
    """The middle of what the axes show of a span, which is coloured; None where they show nothing of it."""
    part = shown_part(axes, places, span)
    if part is None:
        return None
    axes.axvspan(*part, color=colour, alpha=0.14, linewidth=0, label=label)
    return sum(part) / 2


def darker(colour: str) -> str:
    """The colour for text: the same, but legible on white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(0.75 * part):02x}" for part in parts)


def spread(values: Sequence[float], least: float) -> list[float]:
    """The values moved apart until neighbours are at least that far from each other, in the same order."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    moved = list(values)
    for _ in range(50):
        for low, high in pairwise(order):
            missing = least - (moved[high] - moved[low])
            if missing > 0:
                moved[low], moved[high] = moved[low] - missing / 2, moved[high] + missing / 2
    return moved


def save(figure: Figure, path: str | Path) -> Path:
    """The path of the written figure: SVG, PNG or PDF by its ending; the same figure gives the same bytes."""
    import matplotlib

    path = Path(path)
    check_ending(path)
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
    content = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "knowwhen"}):
        figure.savefig(content, format=path.suffix.lower()[1:], dpi=160, metadata=undated)
    with writing(path, UNCHANGED):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content.getbuffer())
    return path


def check_figure(path: Path) -> None:
    """An error before the work, where a figure cannot be written there."""
    check_ending(path)
    with writing(path, UNCHANGED):
        path.parent.mkdir(parents=True, exist_ok=True)
    check_target(path)


def check_ending(path: Path) -> None:
    if path.suffix.lower() not in ENDINGS:
        raise BadRequest(f"cannot write a figure to {str(path)!r}; expected a name that ends in {', '.join(ENDINGS)}")
