"""The field in one table: every model with the same loss, budget, epochs and number of trials."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from knowwhen.models import MODELS, Sizes
from knowwhen.models.budget import rank_for_budget, stored
from knowwhen.plotting.field import field_figure
from knowwhen.reproduction import paper
from knowwhen.reproduction.experiments import RANKING, Experiment, Setting
from knowwhen.reproduction.results import Result, chosen, comparable, those
from knowwhen.reproduction.table import Request, Row, Table, marked, mean, spread
from knowwhen.tuning.space import Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# As they are loaded: |E| and |T| of all splits, |P| without reciprocals.
SIZES = {
    "icews14": Sizes(7_128, 230, 365),
    "icews05-15": Sizes(10_488, 251, 4_017),
    "yago15k": Sizes(15_403, 51, 169),
    "wikidata12k": Sizes(12_554, 24, 618),
}
BASE_RANKS = {data: ranks["tntcomplex"] for data, ranks in paper.RANKS.items()} | {"wikidata12k": 156}
TRIED = (Setting.EMBEDDING_WEIGHT, Setting.LEARNING_RATE)
# The likeliest first: `--trials 2` takes the first two.
POINTS: list[Point] = [
    dict(zip(TRIED, values, strict=True)) for values in ((1e-2, 0.1), (1e-2, 1e-2), (1e-1, 0.1), (1e-3, 0.1))
]
OPTIONS: dict[str, dict[str, Any]] = {  # where a default is too slow for all candidates: L2 has a kernel
    "rotate": {"model.norm": 2},
    "tero": {"model.norm": 2},
}
HISTORY = "+history"
PRODUCTS = (
    *("tntcomplex", "unioncomplex", "tcomplex", "timeplex", "telm", "teast", "chronor", "complex", "simple"),
    *("distmult", "cp", "hole", "rescal", "asalsan", "cont", "tuckertnt", "tadistmult", "tucker"),
)
DISTANCES = ("ttranse", "transe", "rotate", "tero", "tatranse", "transh", "transd", "stranse", "hyte", "boxte")
IN_TIME = ("desimple", "dedistmult", "detranse", "latent")
EVERY = (*PRODUCTS, *DISTANCES, *IN_TIME, "rgcn")
SLOW = ("rgcn", "boxte", "latent")  # hours on two cores


def budget(data: str) -> int:
    """What TNTComplEx stores at the paper's base rank."""
    return stored(MODELS["tntcomplex"], SIZES[data], BASE_RANKS[data])


@cache
def rank(data: str, model: str) -> int:
    """The largest that the budget allows."""
    return rank_for_budget(MODELS[model], SIZES[data], budget(data))


def plan_field(request: Request) -> list[Experiment]:
    """Each model at each point that is tried, alone or with the history of the pair as evidence."""
    return [
        Experiment(
            "field",
            row,
            data,
            {**_model(data, row), **point, **request.length()},
            request.command("field", data, row, seed),
            seed,
            tried=TRIED,
            recipe="field-any",
        )
        for data, row in product(request.datasets, request.models)
        for point in POINTS[: request.trials]
        for seed in range(request.seeds)
    ]


def _model(data: str, row: str) -> Point:
    name = row.removesuffix(HISTORY)
    evidence: Point = {Setting.EVIDENCE: ["pair_history"]} if row.endswith(HISTORY) else {}
    return {Setting.MODEL: name, Setting.RANK: rank(data, name), **OPTIONS.get(name, {}), **evidence}


def field_rows(results: Sequence[Result]) -> list[Row]:
    """Each model at the point that valid chose, best first."""
    header = ("dataset", "model", "parameters", "rank", "chosen on valid", "trials", "epochs", "seeds", "test MRR")
    rows: list[Row] = [(*header, "Hits@1", "Hits@10", "seconds an epoch", "ms a question")]
    for data in FIELD.datasets:
        for seeds, trials in sorted(_best(those(results, data=data)), key=lambda found: -_mrr(found[0])):
            one, hits = seeds[0], [mean(r.test[f"hits@{k}"] for r in seeds) for k in (1, 10)]
            shape = (f"{one.parameters:,}", str(one.rank), one.choice, str(trials), str(one.epochs), str(len(seeds)))
            scores = (spread(r.test["mrr"] for r in seeds), *hits)
            rows.append(
                (data, marked(one.row, seeds), *shape, *scores, f"{_epoch(seeds):.1f}", f"{_question(seeds):.2f}")
            )
    return rows


def _best(results: Sequence[Result]) -> list[tuple[list[Result], int]]:
    """Of each row the runs of the point that is best on valid, and how many points were tried."""
    found = []
    for row in dict.fromkeys(r.row for r in results):
        here = comparable(those(results, row=row))
        best = chosen(here)
        found.append((those(here, choice=best.choice), len({r.choice for r in here})))
    return found


def _mrr(seeds: Sequence[Result]) -> float:
    return float(statistics.mean(r.test["mrr"] for r in seeds))


def _epoch(seeds: Sequence[Result]) -> float:
    return statistics.mean(60 * r.minutes / r.epochs for r in seeds)


def _question(seeds: Sequence[Result]) -> float:
    return float(statistics.mean(1000 * r.settings.get(RANKING, 0) / r.test["count"] for r in seeds))


def figure(results: Sequence[Result]) -> Figure | None:
    """MRR against parameters and against the time of training."""
    points = [
        (seeds[0].row, seeds[0].parameters, statistics.mean(r.minutes for r in seeds), _mrr(seeds))
        for seeds, _ in _best(results)
    ]
    return field_figure(points, results[0].data) if points else None


FIELD = Table(
    "field",
    "The field, trained alike: the same loss, size and number of trials for every model",
    plan_field,
    field_rows,
    datasets=tuple(SIZES),
    models=(*EVERY, *(name + HISTORY for name in EVERY)),
    if_asked=(*(data for data in SIZES if data != "icews14"), *SLOW, *(name + HISTORY for name in EVERY)),
    whole=(Request(trials=2),),
    figure=figure,
)
