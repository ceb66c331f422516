import numpy as np
import pytest

from knowwhen.evaluation import Protocol
from knowwhen.evaluation.bootstrap import Difference
from knowwhen.evaluation.comparison import ComparedGroup, ComparedRun, Comparison
from knowwhen.plotting.comparison import comparison_figure


def group(count, *differences):
    values = tuple({"mrr": 0.5} for _ in range(len(differences) + 1))
    return ComparedGroup(count, count, values, tuple({"mrr": one} for one in differences))


@pytest.fixture
def found():
    runs = tuple(ComparedRun(name, "tntcomplex", 10, None) for name in ("runs/a", "runs/$b", "runs/c"))
    small, clear = Difference(0.01, -0.02, 0.03), Difference(0.1, 0.05, 0.2)
    groups = {
        "support": {"none": group(60, small, clear)},
        "predicate": {"won": group(4, Difference(0.3), Difference(-0.3)), "leads": group(96, small, clear)},
    }
    return Comparison(runs, group(100, small, clear), groups, Protocol(), "test", 2000)


def test_rows_have_dots_and_intervals_of_each_run(found):
    figure = comparison_figure(found)
    (axes,) = figure.axes
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert names == ["all (100)", "pair not in train (60)", "leads (96)", "won (4)"]  # predicates by frequency
    intervals = [line.get_xdata() for line in axes.get_lines() if line.get_label() == "_interval"]
    assert [tuple(map(float, ends)) for ends in intervals] == [(-0.02, 0.03)] * 3 + [(0.05, 0.2)] * 3
    values = [float(dot.get_offsets()[0][0]) for dot in axes.collections]
    assert values == [0.01, 0.01, 0.01, 0.3, 0.1, 0.1, 0.1, -0.3]
    hollow = [not np.any(dot.get_facecolors()) for dot in axes.collections]
    assert hollow == [False, False, False, True] * 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [r"runs/\$b", "runs/c"]
    assert axes.get_title(loc="left") == "against runs/a"


def test_a_comparison_draws_itself(found, tmp_path):
    found.plot(tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
