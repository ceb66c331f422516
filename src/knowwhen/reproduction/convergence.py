"""How quickly models get good: MRR on valid against minutes of training, from the validations of stored results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from knowwhen.plotting.convergence import convergence_figure
from knowwhen.reproduction.evidence import CORRECTED, ICEWS, WITH, plan_evidence
from knowwhen.reproduction.experiments import Experiment
from knowwhen.reproduction.link_prediction import LARGE, SAMPLED, TNT, plan_table2
from knowwhen.reproduction.results import Result, those
from knowwhen.reproduction.table import Request, Row, Table, marked, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = {
    TNT: "TNTComplEx",
    TNT + SAMPLED: "TNTComplEx, sampled",
    TNT + LARGE: "TNTComplEx x10, sampled",
    WITH: "UnionComplEx with evidence",
    CORRECTED: "UnionComplEx with evidence and correction",
}
NEAR = 0.99  # of its best: when a model has nearly converged


def plan_convergence(request: Request) -> list[Experiment]:
    """One seed of the paper's model with each softmax, and of ours with evidence; all of them rows of other tables."""
    request = replace(request, seeds=1)
    paper = replace(request, models=[TNT])
    own = replace(request, models=[WITH])
    return [*plan_table2(paper), *plan_table2(replace(paper, sampled=True)), *plan_evidence(own)]


def convergence_rows(results: Sequence[Result]) -> list[Row]:
    """How long each took to its best validation, and nearly there."""
    header = ("dataset", "model", "epochs", "minutes", "best valid MRR", "after minutes", f"{NEAR:.0%} of it after")
    rows: list[Row] = [(*header, "facts/s", "machine")]
    for data in CONVERGENCE.datasets:
        for row, name in ROWS.items():
            for r in [r for r in those(results, data=data, row=row) if r.curve][:1]:  # the first seed
                best = max(r.curve, key=lambda point: point["mrr"])
                near = next(point for point in r.curve if point["mrr"] >= NEAR * best["mrr"])
                times = (f"{best['minutes']:.1f}", f"{near['minutes']:.1f}")
                speed = f"{r.facts_per_second:,.0f}" if r.facts_per_second else ""
                shape = (marked(name, [r]), str(r.epochs), f"{r.minutes:.1f}", number(best["mrr"]))
                rows.append((data, *shape, *times, speed, r.machine))
    return rows


def figure(results: Sequence[Result]) -> Figure | None:
    """The curves of one dataset, of the first seed of each model."""
    curves = {}
    for row, name in ROWS.items():
        found = [r for r in those(results, row=row) if len(r.curve) > 1]
        if found:
            curves[name] = [(point["minutes"], point["mrr"]) for point in found[0].curve]
    return convergence_figure(curves, f"{results[0].data}, MRR on valid") if curves else None


CONVERGENCE = Table(
    "convergence",
    "Convergence: MRR on valid against minutes of training",
    plan_convergence,
    convergence_rows,
    datasets=ICEWS,
    shows=("table2", "evidence"),
    figure=figure,
)
