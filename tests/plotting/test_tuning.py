import pytest

from knowwhen.errors import BadRequest
from knowwhen.plotting.tuning import tuning_figure

SPACE = {
    "weight": {"low": 0.001, "high": 1.0, "log": True},
    "rank": {"low": 2, "high": 8},
    "evidence": [[], ["pair_history", "context"], "$x"],
}
TRIALS = [
    ("complete", 0.5, {"weight": 0.1, "rank": 8, "evidence": []}),
    ("complete", 0.4, {"weight": 0.01, "rank": 4, "evidence": ["pair_history", "context"]}),
    ("pruned", 0.1, {"weight": 1.0, "rank": 2, "evidence": "$x"}),
    ("running", 0.2, {"weight": 0.5, "rank": 3, "evidence": []}),
    ("failed", None, {"weight": 0.002, "rank": 5, "evidence": []}),
]


def dots(axes):
    """Places of what is drawn, by its name in the legend."""
    return {dots.get_label(): [tuple(map(float, at)) for at in dots.get_offsets()] for dots in axes.collections}


def test_a_panel_has_the_trials_by_state_and_a_ring_around_the_best():
    figure = tuning_figure(TRIALS, SPACE, {"rank": 0.6, "weight": 0.1, "evidence": 0.0})
    weight, rank, evidence, shares = figure.axes
    assert dots(weight) == {
        "complete": [(0.1, 0.5), (0.01, 0.4)],
        "pruned": [(1.0, 0.1)],
        "failed": [(0.002, 0.0)],
        "best": [(0.1, 0.5)],
    }
    assert labels(weight) == ["0.001", "0.01", "0.1", "1"]
    assert weight.get_xscale() == "log" and rank.get_xscale() == "linear"
    assert dots(evidence)["complete"] == [(0, 0.5), (1, 0.4)] and dots(evidence)["pruned"] == [(2, 0.1)]
    assert [tick.get_text() for tick in evidence.get_xticklabels()] == ["none", "pair_history\ncontext", r"\$x"]
    assert [bar.get_width() for bar in shares.patches] == [0.0, 0.1, 0.6]  # the largest on top
    assert [text.get_text() for text in shares.texts] == ["evidence  0.00", "weight  0.10", "rank  0.60"]
    for axes in (weight, rank, evidence):
        assert axes.get_ylim() == (0.0, pytest.approx(0.55))


def test_ticks_of_a_short_logarithmic_axis_do_not_meet():
    short = {"rate": {"low": 0.02, "high": 0.5, "log": True}}
    (axes,) = tuning_figure([("complete", 0.5, {"rate": 0.1})], short, {}).axes
    assert labels(axes) == ["0.02", "0.05", "0.1", "0.2", "0.5"]


def labels(axes):
    axes.figure.draw_without_rendering()
    low, high = axes.get_xlim()
    return [tick.get_text() for tick in axes.get_xticklabels() if low <= tick.get_position()[0] <= high]


def test_without_importances_there_is_no_panel_for_them():
    figure = tuning_figure(TRIALS[:1], SPACE, {})
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["weight", "rank", "evidence"]


def test_nothing_to_plot_is_said():
    with pytest.raises(BadRequest, match="no trials to plot: none has been validated yet"):
        tuning_figure([TRIALS[-1], ("running", None, {})], SPACE, {})
