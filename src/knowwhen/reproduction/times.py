"""What is learned about time: intervals on Wikidata12k, and the paper's figure of scores along time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from knowwhen.plotting.timeline import timeline_figure
from knowwhen.query import TimelineScores
from knowwhen.reproduction import paper
from knowwhen.reproduction.experiments import Experiment, Setting
from knowwhen.reproduction.results import Result, chosen, those
from knowwhen.reproduction.table import Request, Row, Table, marked, number
from knowwhen.trained import TrainedModel
from knowwhen.tuning.space import Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRIED = (Setting.RANK, Setting.EMBEDDING_WEIGHT)
POINTS: list[Point] = [dict(zip(TRIED, values, strict=True)) for values in ((50, 3e-2), (100, 3e-3), (100, 3e-2))]
EPOCHS = 15  # shorter than the recipe, as many runs are compared
RANKING = ("valid MRR", "test MRR", "T-MRR", "NT-MRR")
TIMES = (
    *("events: MRR", "mean error"),
    *("intervals: aeIOU@1", "gaeIOU@1", "TAC@1"),
    *("AP over time", "AUC-PR (paper)"),
)


def plan_wikidata(request: Request) -> list[Experiment]:
    """Three models, the temporal ones with and without the time loss; objects only, and time questions."""
    return [
        Experiment(
            "wikidata",
            f"{model} with time loss" if loss else model,
            "wikidata12k",
            {Setting.MODEL: model, Setting.TIME_LOSS: loss, **point, **request.length(EPOCHS)},
            request.command("wikidata"),
            tried=TRIED,
            recipe="wikidata12k",
            directions="objects",
            asks_times=True,
        )
        for model, loss in product(paper.MODELS, (0.0, 1.0))
        if model != "complex" or not loss  # it has no times to learn
        for point in POINTS
    ]


def wikidata_rows(results: Sequence[Result]) -> list[Row]:
    """Each model at the point that valid chose; below, the trivial answers to time questions."""
    rows: list[Row] = [("model", "chosen on valid", "epochs", *RANKING, *TIMES)]
    baselines: Mapping[str, Any] = {}
    for row in dict.fromkeys(r.row for r in results):
        best = chosen(those(results, row=row))
        test, times = best.test, best.test["times"]
        baselines = times["baselines"] if times else baselines
        scores = [number(value) for value in (best.valid_mrr, test["mrr"], test["t_mrr"], test["nt_mrr"])]
        rows.append(
            (marked(row, [best]), best.choice, str(best.epochs), *scores, *_time_cells(times and times["model"]))
        )
    for name, answers in baselines.items():
        rows.append((f"({name.replace('_', ' ')})", *[""] * (2 + len(RANKING)), *_time_cells(answers)))
    return rows


def _time_cells(scores: Mapping[str, Any] | None) -> list[str]:
    """Under TIMES."""
    if scores is None:
        return [""] * len(TIMES)
    events, intervals = scores["events"], scores["intervals"]
    found = [events and events[key] for key in ("mrr", "mean_absolute_error")]
    found += [intervals and intervals[key] for key in ("aeIOU@1", "gaeIOU@1", "TAC@1")]
    return [number(value) for value in (*found, scores["average_precision"], scores["auc_pr_paper"])]


def plan_figure2(request: Request) -> list[Experiment]:
    """The model behind the paper's second figure, on the bundled dataset."""
    command = request.command("figure2")
    return [
        Experiment("figure2", "tntcomplex", "leaders", request.length(), command, recipe="leaders", draws=presidents)
    ]


def presidents(trained: TrainedModel) -> dict[str, Any]:
    """The scores of the presidents of France along time: what the figure draws."""
    found = trained.timeline("France", "has president", span="1980..2020").to_dict()
    scores = [[round(score, 4) for score in curve] for curve in found["scores"]]
    return {**{name: found[name] for name in ("subject", "predicate", "objects", "times", "known")}, "scores": scores}


def figure2_rows(results: Sequence[Result]) -> list[Row]:
    """The model whose scores are drawn."""
    rows: list[Row] = [("data", "model", "rank", "valid MRR", "test MRR")]
    return rows + [
        (r.data, marked(r.row, [r]), str(r.rank), number(r.valid_mrr), number(r.test["mrr"])) for r in results
    ]


def figure2(results: Sequence[Result]) -> Figure | None:
    """Scores of the presidents of France along time, their true terms behind."""
    drawn = next((result.series for result in results if result.series), None)
    if drawn is None:
        return None
    known = [[(begin, end) for begin, end in spans] for spans in drawn["known"]]
    scores = np.array(drawn["scores"], np.float32)
    names = {name: drawn[name] for name in ("subject", "predicate", "objects", "times")}
    return timeline_figure(TimelineScores(**names, scores=scores, probabilities=np.zeros(scores.shape), known=known))


FIGURE2 = Table(
    "figure2",
    "Figure 2: the model whose scores along time are drawn",
    plan_figure2,
    figure2_rows,
    datasets=("leaders",),
    figure=figure2,
)
WIKIDATA = Table(
    "wikidata",
    "Intervals: Wikidata12k, objects only, in short runs",
    plan_wikidata,
    wikidata_rows,
    datasets=("wikidata12k",),
)
