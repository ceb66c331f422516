import pytest

from knowwhen.errors import BadRequest
from knowwhen.plotting.strength import strength_figure


def test_curves_are_in_order_of_weight_with_zero_at_the_left():
    figure = strength_figure({"Λ3": [(1.0, 0.5), (0.0, 0.4), (0.01, 0.45)], "Λ4": [(0.1, 0.6)]}, "ICEWS14")
    (axes,) = figure.axes
    first, second = axes.get_lines()[:2]
    assert list(first.get_xdata()) == [0.0, 0.01, 1.0]
    assert list(first.get_ydata()) == [0.4, 0.45, 0.5]
    assert list(second.get_xdata()) == [0.1]
    assert axes.get_xscale() == "symlog"


def test_nothing_to_plot_is_said():
    with pytest.raises(BadRequest, match="no results to plot: run `knowwhen reproduce figure1`"):
        strength_figure({}, "ICEWS14")
