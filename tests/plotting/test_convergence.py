from knowwhen.plotting.convergence import convergence_figure


def test_a_curve_has_a_point_for_every_validation():
    figure = convergence_figure({"one": [(1.0, 0.4), (3.0, 0.5)], "other": [(10.0, 0.6)]}, "ICEWS14")
    (axes,) = figure.axes
    assert [list(line.get_xdata()) for line in axes.lines] == [[1.0, 3.0], [10.0]]
    assert [text.get_text() for text in axes.texts] == ["one", "other"] and axes.get_xscale() == "log"
