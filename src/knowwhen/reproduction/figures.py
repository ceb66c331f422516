"""The paper's two figures, drawn from what was run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from knowwhen.plotting.figures import save
from knowwhen.plotting.strength import strength_figure
from knowwhen.plotting.timeline import timeline_figure
from knowwhen.reproduction.experiments import figure2
from knowwhen.reproduction.results import read_all
from knowwhen.trained import open as open_run


def draw_figure1(runs: Path, path: Path) -> None:
    """MRR on valid against the strength of the smoothness penalties."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for result in read_all(runs):
        if result.table == "figure1":
            name = result.row.replace("lambda", "Λ")
            curves.setdefault(name, []).append((float(result.choice[1:]), result.valid_mrr))
    save(strength_figure(curves, "TNTComplEx, MRR on valid"), path)


def draw_figure2(runs: Path, path: Path) -> None:
    """Scores of the presidents of France along time, their true terms behind."""
    (experiment,) = figure2()
    model = open_run(runs / experiment.name)
    save(timeline_figure(model.timeline("France", "has president", span="1980..2020")), path)


DRAW: dict[str, Callable[[Path, Path], None]] = {"figure1": draw_figure1, "figure2": draw_figure2}
