"""Link prediction: the paper's main table, its ranks and spread, what counting gives; and ours with evidence."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from knowwhen.errors import BadRequest
from knowwhen.models.budget import de_simple_parameter_count, paper_parameter_count, paper_rank
from knowwhen.reproduction import paper
from knowwhen.reproduction.experiments import Experiment, Setting, count_and_evaluate
from knowwhen.reproduction.results import Result, those
from knowwhen.reproduction.table import Request, Row, Table, marked, mean, spread
from knowwhen.training.config import read_config
from knowwhen.tuning.space import Point, point_of

BASELINE = "pair-counts"  # a row that is not the paper's
BASELINE_WINDOWS = {"icews05-15": 120}  # eleven years by day: all of a subject's facts are many
WITHOUT = "unioncomplex"
WITH = f"{WITHOUT}+evidence"
CORRECTED = f"{WITH}+correction"
WITHOUT_EPOCHS = 20  # evidence is learned in less
SUPPORT = ("same_time", "other_time", "none")


def plan_table2(request: Request) -> list[Experiment]:
    """Three models on three datasets at the base ranks, or ten times them; and counting."""
    return [
        (_counting if model == BASELINE else _training)(request, data, model, seed)
        for data in request.datasets
        for model in request.models
        for seed in range(request.seeds)
    ]


def _training(request: Request, data: str, model: str, seed: int) -> Experiment:
    size, command = "-x10" if request.large else "", request.command("table2", data, model, seed, large=request.large)
    recipe = f"lacroix2020-{model}-{data}{size}"
    return Experiment("table2", model + size, data, request.length(), command, seed, recipe=recipe)


def _counting(request: Request, data: str, model: str, seed: int) -> Experiment:
    point: Point = {Setting.WINDOW: BASELINE_WINDOWS.get(data)}
    command = request.command("table2", data, model, seed)
    return Experiment("table2", model, data, point, command, seed, measure=count_and_evaluate)


def table2_rows(results: Sequence[Result]) -> list[Row]:
    """Ours beside the paper's, seeds of one row as mean ± standard deviation; then the baseline, which is only ours."""
    header = ("dataset", "model", "rank", "seeds", "test MRR", "paper", "difference", "Hits@1", "Hits@3", "Hits@10")
    rows: list[Row] = [header]
    known = {(data, model + ("-x10" if large else "")): row.mrr for (data, model, large), row in paper.TABLE2.items()}
    for data, name in [*known, *((data, BASELINE) for data in paper.DATASETS)]:
        seeds = those(results, data=data, row=name)
        if seeds:
            printed, found = known.get((data, name)), [r.test["mrr"] for r in seeds]
            hits = [mean(r.test[f"hits@{k}"] for r in seeds) for k in (1, 3, 10)]
            beside = ("", "") if printed is None else (f"{printed:.2f}", f"{statistics.mean(found) - printed:+.3f}")
            rows.append(
                (data, marked(name, seeds), str(seeds[0].rank or ""), str(len(seeds)), spread(found), *beside, *hits)
            )
    return rows


def stddev_rows(results: Sequence[Result]) -> list[Row]:
    """Spread of TNTComplEx over seeds."""
    rows: list[Row] = [("dataset", "seeds", "mean test MRR", "standard deviation", "paper's")]
    for data, printed in paper.STDDEV.items():
        seeds = those(results, data=data, row="tntcomplex")
        found = [r.test["mrr"] for r in seeds]
        if len(found) > 1:
            shown = (f"{value:.4f}" for value in (statistics.mean(found), statistics.stdev(found), printed))
            rows.append((marked(data, seeds), str(len(found)), *shown))
    return rows


def params_rows(_results: Sequence[Result]) -> list[Row]:
    """Table 1 and the ranks that follow from it, for each dataset and model."""
    rows: list[Row] = [("dataset", "model", "rank", "paper's rank", "Table 1 parameters", "DE-SimplE, d = 100")]
    for data, sizes in paper.SIZES.items():
        budget = round(de_simple_parameter_count(*sizes[:2]))
        for model in paper.MODELS:
            rank = paper_rank(model, *sizes)
            count = paper_parameter_count(model, rank, *sizes)
            rows.append((data, model, str(rank), str(paper.RANKS[data][model]), f"{count:,}", f"{budget:,}"))
    return rows


def plan_evidence(request: Request) -> list[Experiment]:
    """UnionComplEx with evidence, with and without correction, at no more parameters than TNTComplEx at base rank.

    Without either, all other settings are those that were chosen with both; but without evidence there are more epochs.
    Recipes that hold no facts out have no correction.
    """
    bare: Point = {Setting.HELD_OUT: 0.0}
    points: dict[str, Point] = {
        CORRECTED: request.length(),
        WITH: {**bare, **request.length()},
        WITHOUT: {**bare, Setting.EVIDENCE: [], **request.length(WITHOUT_EPOCHS)},
    }
    found = [
        Experiment("evidence", row, data, points[row], command, seed, recipe=f"evidence-{data}")
        for data in request.datasets
        for row in request.models
        if row != CORRECTED or point_of(read_config(f"evidence-{data}"))[Setting.HELD_OUT] > 0
        for seed in range(request.seeds)
        for command in [request.command("evidence", data, row, seed)]
    ]
    if not found:
        raise BadRequest(
            f"the recipe for {' or '.join(request.datasets)} holds no facts out to learn a correction from"
        )
    return found


def evidence_rows(results: Sequence[Result]) -> list[Row]:
    """Models with evidence beside those without, by what training says about the pair of a test fact."""
    rows: list[Row] = [("dataset", "model", "parameters", "seeds", "test MRR", "Hits@1", "Hits@10", *SUPPORT)]
    for data in EVIDENCE.datasets:
        here = those(results, data=data)
        for name in dict.fromkeys(r.row for r in here):
            seeds = those(here, row=name)
            scores = [spread(r.test[key] for r in seeds) for key in ("mrr", "hits@1", "hits@10")]
            support = [[r.test["support"][g]["mrr"] for r in seeds if g in r.test["support"]] for g in SUPPORT]
            shown = [mean(found) for found in support]
            rows.append((data, marked(name, seeds), f"{seeds[0].parameters:,}", str(len(seeds)), *scores, *shown))
    return rows


PARAMS = Table("params", "Parameters and ranks (Table 1)", lambda _: (), params_rows)
TABLE2 = Table(
    "table2",
    "Table 2: link prediction, filtered test MRR",
    plan_table2,
    table2_rows,
    datasets=paper.DATASETS,
    models=(*paper.MODELS, BASELINE),
    if_asked=(BASELINE,),
)
STDDEV = Table(
    "stddev",
    "Standard deviations over seeds",
    lambda request: plan_table2(replace(request, seeds=max(request.seeds, 2))),
    stddev_rows,
    datasets=paper.DATASETS,
    models=("tntcomplex",),
    shows=("table2",),
)
EVIDENCE = Table(
    "evidence",
    "Evidence: test MRR, also by what train says about the pair; without, settings are the same",
    plan_evidence,
    evidence_rows,
    datasets=(*paper.DATASETS, "wikidata12k", "leaders"),
    models=(CORRECTED, WITH, WITHOUT),
    shows=("evidence", "table2"),
)
