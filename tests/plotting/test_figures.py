"""Files of figures, what is missing, and the figures of answers, runs, calibration and timestamps."""

import builtins
import dataclasses
import sys
from itertools import combinations

import numpy as np
import pytest

from knowwhen.errors import BadRequest, DiskError, MissingExtra
from knowwhen.evaluation import CalibrationReport
from knowwhen.evaluation.bins import Bin, Reliability
from knowwhen.evaluation.reliability import SlotReport
from knowwhen.plotting import (
    answers_figure,
    plot,
    reliability_figure,
    save,
    timeline_figure,
    times_figure,
    timestamps_figure,
    training_figure,
)
from knowwhen.plotting.figures import COLOURS, bare, extent, log_axis, new_figure, spread
from knowwhen.plotting.timestamps import principal_plane

MAGIC = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}


@pytest.mark.parametrize("ending", MAGIC)
def test_the_ending_says_the_format_and_files_are_the_same_each_time(presidents, tmp_path, ending):
    for name in ("new/one", "two"):
        save(timeline_figure(presidents), tmp_path / f"{name}{ending}")
    data = (tmp_path / f"new/one{ending}").read_bytes()
    assert data.startswith(MAGIC[ending])
    assert data == (tmp_path / f"two{ending}").read_bytes()


def test_other_endings_and_places_are_errors(presidents, tmp_path):
    figure = timeline_figure(presidents)
    with pytest.raises(BadRequest, match=r"cannot write a figure to 'f\.gif'; expected .* \.svg, \.png, \.pdf"):
        save(figure, "f.gif")
    (tmp_path / "file").touch()
    with pytest.raises(DiskError, match=r"cannot write .*f\.svg: "):
        save(figure, tmp_path / "file" / "f.svg")


def test_without_matplotlib_the_error_says_what_to_install(presidents, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "knowwhen.plotting.drawn", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"plotting needs .*: pip install 'knowwhen\[plot\]'"):
        timeline_figure(presidents)


def test_answers_are_bars_best_on_top_and_new_ones_differ(answers):
    axes = answers_figure(answers).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [0.8, 0.1]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["Barack Obama", r"Make \$ & \$ Co"]
    assert axes.yaxis_inverted()
    assert axes.patches[0].get_facecolor() != axes.patches[1].get_facecolor()
    assert [text.get_text() for text in axes.texts] == ["0.800", "0.100  new"]
    with pytest.raises(BadRequest, match=r"no answers to plot for \(France, \?, x\)"):
        answers_figure(type(answers)("France, ?, x", "predicate", (), calibrated=True))


def test_times_are_a_curve_with_known_and_best_spans(time_answers):
    axes = times_figure(time_answers).axes[0]
    curve, first, second = axes.lines
    np.testing.assert_array_equal(curve.get_ydata(), time_answers.probabilities)
    assert list(first.get_xdata()) == [1981, 1982]
    assert list(second.get_xdata()) == [1983.5, 1984]  # an event has a width, cut at the edge
    (known,) = axes.patches
    assert (known.get_x(), known.get_x() + known.get_width()) == (1981, 1984)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["probability", "known", "best spans"]
    assert axes.get_ylabel() == "probability, not calibrated"


def test_a_run_shows_its_terms_and_its_looks_at_valid():
    history = [{"epoch": i, "loss": 8 / i, "objects": 5 / i, "time_penalty": 0.02 * i} for i in range(1, 11)]
    for i in (5, 10):
        history[i - 1]["valid"] = {"mrr": 0.05 * i, "hits@1": 0.04 * i, "hits@10": 0.08 * i}
    figure = training_figure(history)
    losses, ranks = figure.axes
    assert [line.get_label() for line in losses.lines] == ["loss", "objects", "time penalty"]
    assert list(losses.lines[0].get_ydata()) == [record["loss"] for record in history]
    assert (list(ranks.lines[0].get_xdata()), list(ranks.lines[0].get_ydata())) == ([5, 10], [0.25, 0.5])
    assert len(training_figure(history[:4]).axes) == 1
    with pytest.raises(BadRequest, match="no epochs to plot"):
        training_figure([])


def test_labels_behind_curves_are_moved_apart():
    history = [{"epoch": i, "loss": 1.0, "objects": 1.001, "times": 1.002} for i in (1, 2)]
    figure = training_figure(history)
    figure.draw_without_rendering()
    boxes = [extent(text) for text in figure.axes[0].texts]
    assert len(boxes) == 3
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert spread([0, 0.1, 5], 1) == pytest.approx([-0.45, 0.55, 5])


def test_labels_of_a_logarithmic_axis_do_not_run_together():
    figure = new_figure()
    axes = bare(figure.add_subplot())
    axes.plot([2, 70], [0, 1])
    log_axis(axes)
    figure.draw_without_rendering()
    shown = [label for label in axes.get_xticklabels(which="both") if 2 <= label.get_position()[0] <= 70]
    assert [label.get_text() for label in shown] == ["2", "5", "10", "20", "50"]
    assert not any(extent(one).overlaps(extent(other)) for one, other in combinations(shown, 2))


def test_reliability_has_a_panel_per_kind_of_question():
    before = Reliability((Bin(0.2, 0.5, 10), Bin(0.9, 0.6, 30)), 0.3)
    after = Reliability((Bin(0.5, 0.5, 40),), 0.0)
    report = CalibrationReport("valid", calibrated=True, slots={"object": SlotReport(0.8, 40, 2.0, 1.5, before, after)})
    (axes,) = reliability_figure(report).axes
    diagonal, as_scored, fitted = axes.lines
    assert (list(diagonal.get_xdata()), list(diagonal.get_ydata())) == ([0, 1], [0, 1])
    assert (list(as_scored.get_xdata()), list(as_scored.get_ydata())) == ([0.2, 0.9], [0.5, 0.6])
    assert list(fitted.get_ydata()) == [0.5]
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["as scored: ECE 0.300", "T = 0.80: ECE 0.000"]
    bare = dataclasses.replace(
        report, calibrated=False, slots=dict.fromkeys(("object", "subject", "time"), report.slots["object"])
    )
    assert [len(axes.lines) for axes in reliability_figure(bare).axes] == [2, 2, 2]


def labels_apart(figure):
    """How many labels there are, none of them over another."""
    boxes = [extent(text) for text in figure.axes[0].texts]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    return len(boxes)


def test_the_plane_of_timestamps_is_that_of_the_largest_components():
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(50, 2)) * [5, 2]
    basis = np.linalg.qr(rng.normal(size=(8, 2)))[0]
    rows = (plane @ basis.T + 3).astype(np.float32)
    places, shares = principal_plane(rows)
    assert shares.sum() == pytest.approx(1)
    assert shares[0] > shares[1]
    distances = [np.linalg.norm(x[:, None] - x[None], axis=-1) for x in (places, plane)]
    np.testing.assert_allclose(*distances, atol=1e-4)
    figure = timestamps_figure([str(1950 + i) for i in range(50)], rows)
    dots = figure.axes[0].collections[0]
    np.testing.assert_allclose(dots.get_offsets(), places)
    assert list(dots.get_array()) == list(range(1950, 2000))
    assert labels_apart(figure) > 3
    crowded = np.vstack([np.tile(rows[:1], (50, 1)), rows[1:3]])  # all but two in one place
    assert labels_apart(timestamps_figure([str(1950 + i) for i in range(52)], crowded)) > 3
    with pytest.raises(BadRequest, match="cannot plot 2 timestamps with 8 numbers each; expected at least 3"):
        principal_plane(rows[:2])


def test_plot_knows_the_figure_of_each_value(presidents, answers, time_answers, tmp_path):
    assert len(plot(presidents).axes[0].lines) == 3
    assert len(plot(answers).axes[0].patches) == 2
    plot(time_answers, tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 1000
    with pytest.raises(BadRequest, match="cannot draw a int; expected answers, a timeline"):
        plot(1)


def test_notebooks_show_figures(answers):
    assert "<svg" in plot(answers)._repr_svg_()


def test_colours_are_told_apart():
    assert len(set(COLOURS)) == len(COLOURS) == 7
