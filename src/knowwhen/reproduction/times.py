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
NO_HEAD: Point = {Setting.PASSES: 0}  # the curve of the decomposition is what is measured
WITH_LOSS = " with time loss"
RANKING = ("valid MRR", "test MRR", "T-MRR", "NT-MRR")
TIMES = (
    *("events: MRR", "mean error"),
    *("intervals: aeIOU@1", "gaeIOU@1", "TAC@1"),
    *("AP over time", "base rate", "AUC-PR (paper)", "its base rate"),
)


def plan_wikidata(request: Request) -> list[Experiment]:
    """Three models, the temporal ones with and without the time loss; objects only, and time questions."""
    return [
        Experiment(
            "wikidata",
            f"{model}{WITH_LOSS}" if loss else model,
            "wikidata12k",
            {Setting.MODEL: model, Setting.TIME_LOSS: loss, **NO_HEAD, **point, **request.length(EPOCHS)},
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
        cells = _time_cells(times["model"], times) if times else [""] * len(TIMES)
        rows.append((marked(row, [best]), best.choice, str(best.epochs), *scores, *cells))
    for name, answers in baselines.items():
        rows.append((f"({name.replace('_', ' ')})", *[""] * (2 + len(RANKING)), *_time_cells(answers, {})))
    return rows


def _time_cells(scores: Mapping[str, Any], rates: Mapping[str, Any]) -> list[str]:
    """Under TIMES."""
    events, intervals = scores["events"], scores["intervals"]
    found = [events and events[key] for key in ("mrr", "mean_absolute_error")]
    found += [intervals and intervals[key] for key in ("aeIOU@1", "gaeIOU@1", "TAC@1")]
    found += [scores["average_precision"], rates.get("base_rate")]
    return [number(value) for value in (*found, scores["auc_pr_paper"], rates.get("base_rate_paper"))]


def loss_note(results: Sequence[Result]) -> str:
    """What the loss over timestamps costs and gives, beside the paper's section 5."""
    runs = [those(results, row=f"tntcomplex{suffix}") for suffix in ("", WITH_LOSS)]
    if not all(runs):
        return ""
    alone, both = (chosen(found).test for found in runs)
    told = f"TNTComplEx with the loss over timestamps: MRR {both['mrr'] - alone['mrr']:+.4f} (paper: -{paper.MRR_LOST})"
    if not (alone["times"] and both["times"]):
        return f"{told}."
    before, after = (test["times"]["model"] for test in (alone, both))
    auc = f"macro AUC-PR as the paper defines it {before['auc_pr_paper']:.2f} to {after['auc_pr_paper']:.2f}"
    theirs = " to ".join(f"{value:.2f}" for value in paper.AUC_PR)
    dated = f"average precision on dated facts {before['average_precision']:.2f} to {after['average_precision']:.2f}"
    return f"{told}, {auc} (paper, with facts without a time as true at all times: {theirs}), {dated}."


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
    """Who is drawn: the years in which he is known to hold the office, and those in which his score is the highest."""
    rows: list[Row] = [("data", "model", "rank", "test MRR", "object", "known", "highest score")]
    for r in results:
        model = (r.data, marked(r.row, [r]), str(r.rank), number(r.test["mrr"]))
        rows += [(*model, *cells) for cells in _terms(r.series)] if r.series else [(*model, "", "", "")]
    return rows


def _terms(drawn: Mapping[str, Any]) -> list[Row]:
    """Of each object its name, the spans that are known, and those in which it is above the others."""
    highest, found = np.array(drawn["scores"]).argmax(0), list[Row]()
    for i, name in enumerate(drawn["objects"]):
        years = [year for year, best in zip(drawn["times"], highest, strict=True) if best == i]
        known = "; ".join(f"{begin or ''}–{end or ''}" for begin, end in drawn["known"][i])
        found.append((name, known, spans(years, drawn["times"])))
    return found


def spans(times: Sequence[str], axis: Sequence[str]) -> str:
    """'1981–1994; 2002–2006': runs of neighbours on a time axis."""
    found: list[list[str]] = []
    for time in times:
        if found and axis.index(time) == axis.index(found[-1][-1]) + 1:
            found[-1].append(time)
        else:
            found.append([time])
    return "; ".join(f"{run[0]}–{run[-1]}" for run in found)


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
    "Figure 2: scores of the presidents of France along time",
    plan_figure2,
    figure2_rows,
    datasets=("leaders",),
    figure=figure2,
)
WIKIDATA = Table(
    "wikidata",
    "Section 5, the loss over timestamps: Wikidata12k, objects only, in short runs",
    plan_wikidata,
    wikidata_rows,
    datasets=("wikidata12k",),
    note=loss_note,
)
