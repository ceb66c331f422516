"""The paper's question at Wikidata's size: facts with and without a time, objects only, and the speed of training.

On politicians, which are at hand; on a generated knowledge base with as many entities and facts as the paper's; and on
`wikidata` once that was made of a dump (docs/wikidata.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knowwhen.reproduction import paper
from knowwhen.reproduction.evidence import WITH
from knowwhen.reproduction.experiments import Experiment, Setting
from knowwhen.reproduction.results import Result, chosen, those
from knowwhen.reproduction.table import Request, Row, Table, marked, number
from knowwhen.tuning.space import Point

POLITICIANS, GENERATED, WIKIDATA = "politicians", "generated", "wikidata"
WEIGHTS = {POLITICIANS: (3e-3, 1e-2, 3e-2), GENERATED: (1e-2,), WIKIDATA: (1e-2,)}  # of Ω³; valid chooses
EPOCHS = {POLITICIANS: 4, GENERATED: 2, WIKIDATA: 10}
RECIPES = {POLITICIANS: POLITICIANS, GENERATED: WIKIDATA, WIKIDATA: WIKIDATA}
TNT = "tntcomplex"


def plan_table4(request: Request) -> list[Experiment]:
    """Static, temporal and both, at one rank with the weight of the penalty that valid chooses; and with evidence."""
    return [
        _experiment(request, data, row, weight, seed)
        for data in request.datasets
        for row in request.models
        if row != WITH or data == POLITICIANS  # which has a recipe for it
        for weight in WEIGHTS[data]
        for seed in range(request.seeds)
    ]


def _experiment(request: Request, data: str, row: str, weight: float, seed: int) -> Experiment:
    model: Point = {} if row == WITH else {Setting.MODEL: row}
    return Experiment(
        "table4",
        row,
        data,
        {**model, Setting.EMBEDDING_WEIGHT: weight, **request.length(EPOCHS[data])},
        request.command("table4", data, row, seed),
        seed,
        tried=(Setting.EMBEDDING_WEIGHT,),
        recipe=f"evidence-{data}" if row == WITH else RECIPES[data],
        directions="objects",
    )


def plan_seeds(request: Request) -> list[Experiment]:
    """TNTComplEx on politicians over seeds, at the weight that is best with the first; it waits for that choice."""
    first = plan_table4(replace(request, datasets=[POLITICIANS], models=[TNT], seeds=1))
    planned = {e.name: e.point for e in first}
    trials = [r for r in _trials(request.found) if planned.get(r.name) == r.point]
    is_chosen = len(trials) == len(first)
    weight = chosen(trials).point[Setting.EMBEDDING_WEIGHT] if is_chosen else WEIGHTS[POLITICIANS][0]
    more = [
        replace(_experiment(request, POLITICIANS, TNT, weight, seed), waits=not is_chosen, command=command)
        for seed in range(1, request.seeds)
        for command in [request.command("stddev", POLITICIANS, seed=seed)]
    ]
    return [*first, *more]


def seeds_of(results: Sequence[Result]) -> list[Result]:
    """The seeds of TNTComplEx on politicians, at the weight that was best with the first."""
    firsts = those(_trials(results), seed=0)
    return those(_trials(results), choice=chosen(firsts).choice) if firsts else []


def _trials(results: Sequence[Result]) -> list[Result]:
    return those(results, table="table4", data=POLITICIANS, row=TNT)


def table4_rows(results: Sequence[Result]) -> list[Row]:
    """Each model at the weight that valid chose."""
    header = ("dataset", "model", "rank", "chosen on valid", "epochs", "valid MRR", "test MRR", "NT-MRR", "T-MRR")
    rows: list[Row] = [(*header, "paper, on Wikidata", "minutes", "triples/s", "paper's")]
    for data in TABLE4.datasets:
        for row in TABLE4.models:
            trials = those(results, data=data, row=row)
            if trials:
                best = chosen(trials)
                scores = (best.valid_mrr, best.test["mrr"], best.test["nt_mrr"], best.test["t_mrr"])
                cells = (str(best.rank), best.choice, str(best.epochs), *map(number, scores), _printed(row))
                speed = [f"{value:,.0f}" if value else "" for value in (best.facts_per_second, paper.SPEED.get(row))]
                rows.append((data, marked(row, [best]), *cells, f"{best.minutes:.1f}", *speed))
    return rows


def _printed(row: str) -> str:
    found = paper.TABLE4.get(row)
    return "" if found is None else " / ".join(f"{value:.2f}" for value in found)


TABLE4 = Table(
    "table4",
    "Table 4: facts with and without a time, objects only, in short runs; the paper's are MRR / NT-MRR / T-MRR",
    plan_table4,
    table4_rows,
    datasets=(POLITICIANS, GENERATED, WIKIDATA),
    models=(*paper.MODELS, WITH),
    if_asked=(GENERATED, WIKIDATA),
    whole=(Request(), Request(datasets=(GENERATED,))),
)
