"""The paper's question at Wikidata's size, on data that is at hand: facts with and without a time, objects only."""

from __future__ import annotations

from collections.abc import Sequence

from knowwhen.reproduction import paper
from knowwhen.reproduction.experiments import Experiment, Setting
from knowwhen.reproduction.link_prediction import WITH
from knowwhen.reproduction.results import Result, chosen, those
from knowwhen.reproduction.table import Request, Row, Table, marked, number

WEIGHTS = (3e-3, 1e-2, 3e-2)  # of Ω³; valid chooses
EPOCHS = 4


def plan_table4(request: Request) -> list[Experiment]:
    """Static, temporal and both, at one rank with the weight of the penalty that valid chooses; and with evidence."""
    return [
        Experiment(
            "table4",
            row,
            data,
            {
                **({} if row == WITH else {Setting.MODEL: row}),
                Setting.EMBEDDING_WEIGHT: weight,
                **request.length(EPOCHS),
            },
            request.command("table4", data, row, seed),
            seed,
            tried=(Setting.EMBEDDING_WEIGHT,),
            recipe=f"evidence-{data}" if row == WITH else data,
            directions="objects",
        )
        for data in request.datasets
        for row in request.models
        for weight in WEIGHTS
        for seed in range(request.seeds)
    ]


def table4_rows(results: Sequence[Result]) -> list[Row]:
    """Each model at the weight that valid chose."""
    header = ("dataset", "model", "rank", "chosen on valid", "valid MRR", "test MRR", "NT-MRR", "T-MRR", "minutes")
    rows: list[Row] = [(*header, "paper, on Wikidata")]
    for data in TABLE4.datasets:
        for row in TABLE4.models:
            trials = those(results, data=data, row=row)
            if trials:
                best = chosen(trials)
                scores = (best.valid_mrr, best.test["mrr"], best.test["nt_mrr"], best.test["t_mrr"])
                cells = (str(best.rank), best.choice, *map(number, scores), f"{best.minutes:.1f}")
                rows.append((data, marked(row, [best]), *cells, _printed(row)))
    return rows


def _printed(row: str) -> str:
    found = paper.TABLE4.get(row)
    return "" if found is None else " / ".join(f"{value:.2f}" for value in found)


TABLE4 = Table(
    "table4",
    "Table 4: facts with and without a time, objects only, in short runs; the paper's are MRR / NT-MRR / T-MRR",
    plan_table4,
    table4_rows,
    datasets=("politicians",),
    models=(*paper.MODELS, WITH),
)
