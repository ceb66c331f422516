"""The sampled softmax beside the full one: MRR after the same epochs, and time, over the number of negatives."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from knowwhen.reproduction import paper
from knowwhen.reproduction.experiments import Experiment, Setting
from knowwhen.reproduction.results import Result, those
from knowwhen.reproduction.table import Request, Row, Table, marked, spread
from knowwhen.tuning.space import Point

FULL, DEFAULT = "full", "k1024"  # rows; 1,024 is what is drawn below 50,000 entities
NEGATIVES = {f"k{number}": number for number in (256, 512, 1024, 2048, 4096, 8192)}
EPOCHS = {"icews14": 10, "icews05-15": 4, "yago15k": 6, "politicians": 3}  # both softmaxes see the same
POLITICIANS = "politicians"


def plan_sampling(request: Request) -> list[Experiment]:
    """TNTComplEx with the full softmax and with samples of several sizes."""
    return [
        Experiment("sampling", row, data, {**_point(row), **request.length(EPOCHS[data])}, command, seed, recipe=recipe)
        for data in request.datasets
        for recipe in [data if data == POLITICIANS else f"lacroix2020-tntcomplex-{data}"]
        for row in request.models
        for seed in range(request.seeds)
        for command in [request.command("sampling", data, row, seed)]
    ]


def _point(row: str) -> Point:
    if row == FULL:
        return {Setting.SAMPLING: "none"}
    return {Setting.SAMPLING: "uniform", Setting.NEGATIVES: NEGATIVES[row]}


def sampling_rows(results: Sequence[Result]) -> list[Row]:
    """Each number of negatives beside the full softmax, where that was run."""
    beside = ("beside full", "minutes", "of full")
    rows: list[Row] = [("dataset", "negatives", "epochs", "seeds", "test MRR", *beside)]
    for data in SAMPLING.datasets:
        full = those(results, data=data, row=FULL)
        for row in SAMPLING.models:
            seeds = those(results, data=data, row=row)
            if seeds:
                found, minutes = [r.test["mrr"] for r in seeds], statistics.mean(r.minutes for r in seeds)
                cells = _beside(seeds, full) if row != FULL else ("", "")
                shown = (f"{NEGATIVES[row]:,}" if row != FULL else "all", str(seeds[0].epochs), str(len(seeds)))
                rows.append((marked(data, seeds), *shown, spread(found), cells[0], f"{minutes:.1f}", cells[1]))
    return rows


def _beside(seeds: Sequence[Result], full: Sequence[Result]) -> tuple[str, str]:
    """The mean difference in MRR, and the share of the time, over the seeds that both have."""
    pairs = [(one, other) for one in seeds for other in full if one.seed == other.seed]
    if not pairs:
        return "", ""
    difference = statistics.mean(one.test["mrr"] - other.test["mrr"] for one, other in pairs)
    return f"{difference:+.4f}", f"{statistics.mean(one.minutes / other.minutes for one, other in pairs):.2f}"


SAMPLING = Table(
    "sampling",
    "The sampled softmax: TNTComplEx at the base rank, after as many epochs as with the full softmax",
    plan_sampling,
    sampling_rows,
    datasets=(*paper.DATASETS, POLITICIANS),
    models=(FULL, *NEGATIVES),
    if_asked=(POLITICIANS, *(name for name in NEGATIVES if name != DEFAULT)),
)
