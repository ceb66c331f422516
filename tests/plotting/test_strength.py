import pytest

from knowwhen.errors import BadRequest
from knowwhen.plotting.strength import Panel, grid_figure, strength_figure


def test_curves_are_in_order_of_weight_with_zero_at_the_left():
    curves = {"Λ3": [(1.0, 0.5), (0.0, 0.4), (0.01, 0.45)], "Λ4": [(0.1, 0.6)]}
    figure = strength_figure([Panel(curves, "smoothness"), Panel({"Ω3": [(0.1, 0.3)]}, "embeddings")], "ICEWS14")
    axes, right = figure.axes
    first, second = axes.get_lines()[:2]
    assert list(first.get_xdata()) == [0.0, 0.01, 1.0]
    assert list(first.get_ydata()) == [0.4, 0.45, 0.5]
    assert list(second.get_xdata()) == [0.1]
    assert axes.get_xscale() == "symlog"
    assert (axes.get_xlabel(), right.get_xlabel()) == ("smoothness", "embeddings")
    assert axes.get_ylim() == right.get_ylim(), "the panels can be compared"


def test_nothing_to_plot_is_said():
    with pytest.raises(BadRequest, match="no results to plot: run `knowwhen reproduce figure1`"):
        strength_figure([], "ICEWS14")


def test_a_grid_has_a_cell_for_every_run():
    figure = grid_figure({(0.1, 0.0): 0.5, (0.1, 1.0): 0.6, (0.3, 1.0): 0.55}, ("rows", "columns"), "ICEWS14")
    (axes,) = figure.axes
    assert {text.get_position(): text.get_text() for text in axes.texts} == {
        (0, 0): "0.5000",
        (1, 0): "0.6000",
        (1, 1): "0.5500",
    }
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("columns", "rows")
