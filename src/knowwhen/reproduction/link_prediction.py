"""Link prediction: the paper's main table at both sizes, its ranks and spread, and what counting gives."""

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
from knowwhen.reproduction.table4 import POLITICIANS, plan_seeds, seeds_of
from knowwhen.tuning.space import Point

BASELINE = "pair-counts"  # a row that is not the paper's
BASELINE_WINDOWS = {"icews05-15": 120}  # eleven years by day: all of a subject's facts are many
LARGE, SAMPLED = "-x10", "-sampled"  # what rows end in
FEW, MANY = 1024, 4096  # negatives: with few, YAGO15k loses .004
NEGATIVES = {"yago15k": MANY}
SPREAD_SEEDS = 5  # as in the paper
TNT = "tntcomplex"


def sampled_softmax(data: str) -> Point:
    """The settings of a sampled softmax that loses next to nothing on that dataset."""
    return {Setting.SAMPLING: "uniform", Setting.NEGATIVES: NEGATIVES.get(data, 0)}


def plan_table2(request: Request) -> list[Experiment]:
    """Three models on three datasets at the base ranks, or ten times them; and counting."""
    if request.large and request.sampled:
        raise BadRequest("the runs of --large have a sampled softmax already; leave out --sampled")
    return [
        (_counting if model == BASELINE else _training)(request, data, model, seed)
        for data in request.datasets
        for model in request.models
        for seed in range(request.seeds)
    ]


def _training(request: Request, data: str, model: str, seed: int) -> Experiment:
    kind = LARGE if request.large else SAMPLED if request.sampled else ""
    point = {**(sampled_softmax(data) if request.sampled else {}), **request.length()}
    recipe = f"lacroix2020-{model}-{data}{LARGE if request.large else ''}"
    command = request.command("table2", data, model, seed, large=request.large, sampled=request.sampled)
    return Experiment("table2", model + kind, data, point, command, seed, recipe=recipe)


def _counting(request: Request, data: str, model: str, seed: int) -> Experiment:
    point: Point = {Setting.WINDOW: BASELINE_WINDOWS.get(data)}
    command = request.command("table2", data, model, seed)
    return Experiment("table2", model, data, point, command, seed, measure=count_and_evaluate)


def table2_rows(results: Sequence[Result]) -> list[Row]:
    """Ours beside the paper's, seeds of one row as mean ± standard deviation; then the baseline, which is only ours."""
    hits = [f"Hits@{k} (paper)" for k in (1, 3, 10)]
    header = ("dataset", "model", "rank", "softmax", "seeds", "test MRR", "paper", "difference", *hits)
    rows: list[Row] = [(*header, "minutes", "GB")]
    for (data, model, large), printed in paper.TABLE2.items():
        for row in (model + LARGE,) if large else (model, model + SAMPLED):
            rows += _table2_row(those(results, data=data, row=row), printed)
    for data in paper.DATASETS:
        rows += _table2_row(those(results, data=data, row=BASELINE), None)
    return rows


def _table2_row(seeds: Sequence[Result], printed: paper.Scores | None) -> list[Row]:
    """The row of some seeds, or none."""
    if not seeds:
        return []
    one, found = seeds[0], [r.test["mrr"] for r in seeds]
    beside = ("", "") if printed is None else (f"{printed.mrr:.2f}", f"{statistics.mean(found) - printed.mrr:+.3f}")
    ours = [mean(r.test[f"hits@{k}"] for r in seeds) for k in (1, 3, 10)]
    hits = ours if printed is None else [f"{own} ({theirs:.2f})" for own, theirs in zip(ours, printed[1:], strict=True)]
    shape = (marked(one.row, seeds), str(one.rank or ""), softmax(one), str(len(seeds)))
    cost = (mean([r.minutes for r in seeds], 1), mean([r.memory_gb for r in seeds], 1))
    return [(one.data, *shape, spread(found), *beside, *(text.strip() for text in hits), *cost)]


def softmax(result: Result) -> str:
    """'full', or over how many negatives."""
    sampling = result.settings.get(Setting.SAMPLING, "")
    return f"{result.settings[Setting.NEGATIVES] or FEW:,} negatives" if sampling == "uniform" else sampling and "full"


def plan_stddev(request: Request) -> list[Experiment]:
    """TNTComplEx over seeds, with the sampled softmax; on politicians at the weight that Table 4 chooses."""
    request = replace(request, sampled=True, seeds=request.seeds if request.seeds > 1 else SPREAD_SEEDS)
    here = [data for data in request.datasets if data in paper.DATASETS]
    large = plan_seeds(replace(request, datasets=[POLITICIANS])) if POLITICIANS in request.datasets else []
    return [*plan_table2(replace(request, datasets=here)), *large]


def stddev_rows(results: Sequence[Result]) -> list[Row]:
    """Spread of TNTComplEx over seeds; of facts with and without a time where there are both."""
    rows: list[Row] = [("dataset", "softmax", "seeds", "mean test MRR", "standard deviation", "paper's")]
    for data, printed in paper.STDDEV.items():
        for row in (TNT, TNT + SAMPLED):
            rows += _spread_row(data, those(results, data=data, row=row), "mrr", printed)
    for name, metric, printed in zip(("T", "NT"), ("t_mrr", "nt_mrr"), paper.STDDEV_WIKIDATA, strict=True):
        rows += _spread_row(f"{POLITICIANS}, {name}-MRR", seeds_of(results), metric, printed)
    return rows


def _spread_row(name: str, seeds: Sequence[Result], metric: str, printed: float) -> list[Row]:
    found = [r.test[metric] for r in seeds if r.test[metric] is not None]
    if len(found) < 2:
        return []
    values = (statistics.mean(found), statistics.stdev(found), printed)
    return [(marked(name, seeds), softmax(seeds[0]), str(len(found)), *(f"{value:.4f}" for value in values))]


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


PARAMS = Table("params", "Parameters and ranks (Table 1)", lambda _: (), params_rows)
TABLE2 = Table(
    "table2",
    "Tables 2 and 5: link prediction, filtered test MRR and Hits@k, at the base ranks and at ten times these (x10)",
    plan_table2,
    table2_rows,
    datasets=paper.DATASETS,
    models=(*paper.MODELS, BASELINE),
    if_asked=(BASELINE,),
    whole=(
        Request(models=(*paper.MODELS, BASELINE)),
        Request(sampled=True),
        Request(large=True),
    ),
)
STDDEV = Table(
    "stddev",
    "Standard deviations of TNTComplEx over seeds",
    plan_stddev,
    stddev_rows,
    datasets=(*paper.DATASETS, POLITICIANS),
    models=(TNT,),
    shows=("table2", "table4"),
)
