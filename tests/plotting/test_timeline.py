"""The paper's Figure 2, read back from the axes."""

import dataclasses
from itertools import combinations

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from knowwhen.plotting import timeline_figure
from knowwhen.plotting.figures import COLOURS, extent, line_style, year_of


def spans(axes):
    """Left, right and colour of the backgrounds."""
    patches = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    return [(p.get_x(), p.get_x() + p.get_width(), tuple(np.round(p.get_facecolor()[:3], 3))) for p in patches]


def test_each_object_has_its_curve_and_its_spans_in_one_colour(presidents):
    axes = timeline_figure(presidents).axes[0]
    assert [line.get_label() for line in axes.lines] == presidents.objects
    for line, scores in zip(axes.lines, presidents.scores, strict=True):
        assert list(line.get_xdata()) == [float(time) for time in presidents.times]
        np.testing.assert_array_equal(line.get_ydata(), scores)
    assert [line.get_color() for line in axes.lines] == list(COLOURS[:3])
    first, second = (tuple(round(int(c[i : i + 2], 16) / 255, 3) for i in (1, 3, 5)) for c in COLOURS[:2])
    # An open begin reaches to the edge; an event is half a year wide on both sides.
    assert spans(axes) == [(2005, 2007, first), (2007, 2012, second), (2013.5, 2014.5, second)]


def test_probabilities_instead_of_scores(presidents):
    axes = timeline_figure(presidents, "probability").axes[0]
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), presidents.probabilities[1])
    assert (axes.get_ylabel(), axes.get_ylim()[0]) == ("probability", 0)


def test_names_stand_over_the_axes_and_do_not_overlap(presidents):
    many = dataclasses.replace(
        presidents,
        objects=[f"A president with a long name {i}" for i in range(12)],
        scores=np.tile(presidents.scores, (4, 1)),
        known=presidents.known * 4,
    )
    figure = timeline_figure(many)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    boxes = [extent(text) for text in axes.texts]
    assert len(boxes) == 12
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(box.y0 >= axes.bbox.y1 and box.x0 >= axes.bbox.x0 - 1 and box.x1 <= axes.bbox.x1 + 1 for box in boxes)
    assert all(box.y1 <= extent(axes._left_title).y0 for box in boxes)
    assert axes.get_title(loc="left") == "France, has president"


def test_curves_beyond_the_colours_differ_in_their_dashes():
    assert len({line_style(i) for i in range(28)}) == 28


def test_years_are_whole_and_dates_of_a_short_span_are_those_of_its_timestamps(presidents):
    figure = timeline_figure(presidents)
    figure.draw_without_rendering()
    ticks = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert all(tick.isdigit() and len(tick) == 4 for tick in ticks)
    assert len(set(ticks)) == len(ticks) >= 3
    months = [f"{year}-07" for year in range(2005, 2016)]
    figure = timeline_figure(dataclasses.replace(presidents, times=months))
    figure.draw_without_rendering()
    assert "2010" in [text.get_text() for text in figure.axes[0].get_xticklabels()]
    days = [f"2014-03-{day:02}" for day in range(1, 12)]
    figure = timeline_figure(
        dataclasses.replace(presidents, times=days, known=[[("2014-03-02", "2014-03-04")], [], []])
    )
    figure.draw_without_rendering()
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == days[::2]
    assert spans(figure.axes[0])[0][:2] == pytest.approx((year_of("2014-03-02"), year_of("2014-03-04")))


def test_a_single_time_is_shown_as_points(presidents):
    one = dataclasses.replace(presidents, times=["2005"], scores=presidents.scores[:, :1])
    axes = timeline_figure(one).axes[0]
    assert axes.get_xlim() == (2004.5, 2005.5)
    assert [line.get_marker() for line in axes.lines] == ["o"] * 3


@pytest.mark.parametrize(
    ("label", "place"),
    [("2012", 2012), ("-0044", -44), ("2012-07", 2012 + 182 / 366), ("2013-12-31", 2013 + 364 / 365)],
)
def test_dates_have_their_place_among_years(label, place):
    assert year_of(label) == pytest.approx(place)
