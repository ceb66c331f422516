"""The paper's two figures, drawn from what was run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from knowwhen.plotting.figures import save
from knowwhen.plotting.strength import strength_figure
from knowwhen.plotting.timeline import timeline_figure
from knowwhen.reproduction.experiments import figure2
from knowwhen.reproduction.report import strengths
from knowwhen.reproduction.results import read_all
from knowwhen.trained import open as open_run


def draw_figure1(runs: Path, path: Path, data: str) -> None:
    """MRR on valid against the strength of the smoothness penalties."""
    curves = {
        name.replace("lambda", "Λ"): [(weight, result.valid_mrr) for weight, result in points]
        for name, points in strengths(read_all(runs), data).items()
    }
    save(strength_figure(curves, f"TNTComplEx on {data}, MRR on valid"), path)


def draw_figure2(runs: Path, path: Path, _data: str) -> None:
    """Scores of the presidents of France along time, their true terms behind."""
    (experiment,) = figure2()
    model = open_run(runs / experiment.name)
    save(timeline_figure(model.timeline("France", "has president", span="1980..2020")), path)


DRAW: dict[str, Callable[[Path, Path, str], None]] = {"figure1": draw_figure1, "figure2": draw_figure2}


def draw_all(runs: Path, folder: Path) -> dict[str, str]:
    """Every figure that has its runs, drawn into a folder: file names by table."""
    drawn = {}
    if strengths(read_all(runs), "icews14"):
        drawn["figure1"] = "results-figure1.svg"
    if (runs / figure2()[0].name / "model" / "model.json").is_file():
        drawn["figure2"] = "results-figure2.svg"
    for table, name in drawn.items():
        DRAW[table](runs, folder / name, "icews14")
    return drawn
