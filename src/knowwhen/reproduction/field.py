"""The field in one table: every model with the same loss, budget, epochs and number of trials."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

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
HISTORY = "+history"
PRODUCTS = (
    *("tntcomplex", "unioncomplex", "tcomplex", "timeplex", "telm", "teast", "chronor", "complex", "simple"),
    *("distmult", "cp", "hole", "rescal", "asalsan", "cont", "tuckertnt", "tadistmult", "tucker"),
)
DISTANCES = ("ttranse", "transe", "rotate", "tero", "tatranse", "transh", "transd", "stranse", "hyte", "boxte")
IN_TIME = ("desimple", "dedistmult", "detranse", "latent")
EVERY = (*PRODUCTS, *DISTANCES, *IN_TIME, "rgcn")
PROTOCOL = (
    "All share the recipe `field-any`: a softmax over 512 negatives and the batch's own targets, reciprocals, Ω³, "
    "Λ₃ where there are timestamps, the same epochs, L2 where there is a distance, and the largest rank that "
    "stores no more than TNTComplEx at the paper's base rank. Weights of Ω³ and learning rates are tried with "
    "seed 0; valid chooses. `+history` adds the history of the pair as evidence to the model as it was chosen. "
    "Times are those of the processor, on one thread. The settings of each run are in `docs/results/field`."
)
SLOW = ("rgcn", "boxte", "latent")  # hours on two cores


def budget(data: str) -> int:
    """What TNTComplEx stores at the paper's base rank."""
    return stored(MODELS["tntcomplex"], SIZES[data], BASE_RANKS[data])


@cache
def rank(data: str, model: str) -> int:
    """The largest that the budget allows."""
    return rank_for_budget(MODELS[model], SIZES[data], budget(data))


def plan_field(request: Request) -> list[Experiment]:
    """Each model at each point with the first seed; at the point that valid chooses, other seeds, and with evidence.

    With evidence no settings are tried: it is added to the model as it was chosen, so that it makes all the difference.
    """
    return [e for data, row in product(request.datasets, request.models) for e in _runs(request, data, row)]


def _runs(request: Request, data: str, row: str) -> Iterator[Experiment]:
    trials = [_experiment(request, data, row.removesuffix(HISTORY), point, 0) for point in POINTS[: request.trials]]
    more = range(request.seeds)
    if not row.endswith(HISTORY):
        yield from trials
        more = range(1, request.seeds)
    names = {trial.name for trial in trials}
    found = [r for r in request.found if r.name in names]
    waits = len(found) < len(trials)
    best = trials[0].point if waits else chosen(found).point
    for seed in more:
        yield replace(_experiment(request, data, row, {name: best[name] for name in TRIED}, seed), waits=waits)


def _experiment(request: Request, data: str, row: str, point: Point, seed: int) -> Experiment:
    return Experiment(
        "field",
        row,
        data,
        {**_model(data, row), **point, **request.length()},
        request.command("field", data, row, seed),
        seed,
        tried=TRIED,
        recipe="field-any",
    )


def _model(data: str, row: str) -> Point:
    name = row.removesuffix(HISTORY)
    # L2 is a product for all candidates, and takes a tenth of the time of L1.
    norm: Point = {Setting.NORM: 2} if "norm" in MODELS[name].Options.model_fields else {}
    evidence: Point = {Setting.EVIDENCE: ["pair_history"]} if row.endswith(HISTORY) else {}
    return {Setting.MODEL: name, Setting.RANK: rank(data, name), **norm, **evidence}


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
                (data, marked(one.row, seeds), *shape, *scores, mean(_epochs(seeds), 1), mean(_asked(seeds), 2))
            )
    return rows


def _best(results: Sequence[Result]) -> list[tuple[list[Result], int]]:
    """Of each row the runs of the point that is best on valid, and how many points were tried."""
    found = []
    for row in dict.fromkeys(r.row for r in results):
        here = comparable(those(results, row=row))
        best = chosen(those(here, seed=0) or here)
        found.append((those(here, choice=best.choice), len({r.choice for r in here})))
    return found


def _mrr(seeds: Sequence[Result]) -> float:
    return float(statistics.mean(r.test["mrr"] for r in seeds))


def _epochs(seeds: Sequence[Result]) -> list[float]:
    """Processor seconds an epoch, where they are known."""
    return [60 * r.processor_minutes / r.epochs for r in seeds if r.processor_minutes is not None]


def _asked(seeds: Sequence[Result]) -> list[float]:
    """Processor milliseconds a question, where they are known."""
    return [1000 * r.settings[RANKING] / r.test["count"] for r in seeds if RANKING in r.settings]


def figure(results: Sequence[Result]) -> Figure | None:
    """MRR against parameters and against the processor's time in training."""
    points = [
        (seeds[0].row, seeds[0].parameters, statistics.mean(_epochs(seeds)) * seeds[0].epochs / 60, _mrr(seeds))
        for seeds, _ in _best(results)
        if _epochs(seeds)
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
    whole=(
        Request(trials=2, seeds=2),
        Request(trials=2, seeds=2, models=tuple(name + HISTORY for name in EVERY if name not in SLOW)),
    ),
    figure=figure,
    note=lambda results: PROTOCOL if results else "",
)
