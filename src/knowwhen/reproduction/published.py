"""The field as published: each paper's own set-up, ours beside the number that was printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from knowwhen.reproduction.experiments import Experiment
from knowwhen.reproduction.results import Result, those
from knowwhen.reproduction.table import Request, Row, Table, marked, spread

DATA = "icews14"


class Printed(NamedTuple):
    """A number of a paper."""

    recipe: str
    mrr: float
    remark: str = ""  # what differs from our protocol


RERUN = "rerun by Goel et al."
OPTIMISTIC = "ties favour the target; false negatives are kept"
# Test MRR on ICEWS14. All but DE-SimplE's and TA-DistMult's own are numbers that later papers repeat.
PRINTED = {
    "transe": Printed("goel2020-transe", 0.280, RERUN),
    "distmult": Printed("goel2020-distmult", 0.439, RERUN),
    "simple": Printed("goel2020-simple", 0.458, RERUN),
    "ttranse": Printed("leblay2018-ttranse", 0.255, "settings not printed; negatives and margin are ours"),
    "hyte": Printed("dasgupta2018-hyte", 0.297, "settings of its code; the margin is ours"),
    "tatranse": Printed("garciaduran2018-tatranse", 0.275),
    "tadistmult": Printed("garciaduran2018-tadistmult", 0.477),
    "detranse": Printed("goel2020-detranse", 0.326, OPTIMISTIC),
    "dedistmult": Printed("goel2020-dedistmult", 0.501, OPTIMISTIC),
    "desimple": Printed("goel2020-desimple", 0.526, OPTIMISTIC),
    "cont": Printed("ma2019-cont", 0.185, f"{RERUN}; the rank is ours"),
}


def plan_published(request: Request) -> list[Experiment]:
    """One run of each paper's set-up."""
    return [
        Experiment(
            "published",
            model,
            data,
            request.length(),
            request.command("published", data, model, seed),
            seed,
            recipe=f"{PRINTED[model].recipe}-{data}",
        )
        for data in request.datasets
        for model in request.models
        for seed in range(request.seeds)
    ]


def published_rows(results: Sequence[Result]) -> list[Row]:
    """Ours beside the printed number."""
    header = ("dataset", "model", "recipe", "epochs", "seeds", "test MRR", "published", "difference")
    rows: list[Row] = [(*header, "remark")]
    for model, printed in PRINTED.items():
        seeds = those(results, data=DATA, row=model)
        if seeds:
            found = [r.test["mrr"] for r in seeds]
            made = (f"{printed.recipe}-{DATA}", str(seeds[0].epochs), str(len(seeds)), spread(found))
            beside = (f"{printed.mrr:.3f}", f"{sum(found) / len(found) - printed.mrr:+.3f}", printed.remark)
            rows.append((DATA, marked(model, seeds), *made, *beside))
    return rows


PUBLISHED = Table(
    "published",
    "Models as published: each paper's settings with early stopping, and our reciprocals, filter and ties",
    plan_published,
    published_rows,
    datasets=(DATA,),
    models=tuple(PRINTED),
)
