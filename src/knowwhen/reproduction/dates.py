"""Begins and ends as answers: the time head beside the greedy decoder, trivial answers and published ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from knowwhen.reproduction.experiments import Experiment, Setting
from knowwhen.reproduction.results import Result, those
from knowwhen.reproduction.table import Request, Row, Table, marked, number, spread
from knowwhen.tuning.space import Point

SAMPLED: Point = {Setting.SAMPLING: "uniform", Setting.NEGATIVES: 1024}
RUNS: dict[str, tuple[str, Point]] = {  # recipe, and what is changed: short runs, as links are not what is measured
    "leaders": ("leaders", {}),
    "wikidata12k": ("wikidata12k", {Setting.EPOCHS: 8}),
    "politicians": ("politicians", {Setting.EPOCHS: 2}),
    "icews14": ("lacroix2020-tntcomplex-icews14", {**SAMPLED, Setting.EPOCHS: 10, Setting.PASSES: 4}),
}
FACTS = 4_000  # of test, the same for every row and seed
OTHERS = {"greedy": "greedy", "median_span": "median span", "nearest_known": "nearest known"}
PUBLISHED = {"wikidata12k": [("TIMEPLEX, as published", {"closed": {"aeIOU@1": 0.2636}})]}
FITS = ("aeIOU@1", "gaeIOU@1", "TAC@1")

Scores = Mapping[str, Any]
CELLS: dict[str, Callable[[Scores], Any]] = {
    "events: MRR": lambda s: s["events"]["mrr"],
    "mean error": lambda s: s["events"]["mean_absolute_error"],
    **{f"intervals: {f}" if i == 0 else f: (lambda s, f=f: s["intervals"][f]) for i, f in enumerate(FITS)},  # type: ignore[misc]
    **{f"closed: {f}": (lambda s, f=f: s["closed"][f]) for f in FITS},  # type: ignore[misc]
    "in 80 % range: begin": lambda s: s["begins"]["coverage"],
    "end": lambda s: s["ends"]["coverage"],
}
"""Under these columns, what is read of a scorer's numbers; empty where it has none."""


def plan_times(request: Request) -> list[Experiment]:
    """One run for each dataset and seed."""
    return [
        Experiment(
            "times",
            "time head",
            data,
            {**point, **request.length()},
            request.command("times", data, seed=seed),
            seed,
            recipe=recipe,
            asks_times=True,
            times_sample=FACTS,
        )
        for data in request.datasets
        for recipe, point in [RUNS[data]]
        for seed in range(request.seeds)
    ]


def times_rows(results: Sequence[Result]) -> list[Row]:
    """Of each dataset the time head over its seeds, then what it is compared with."""
    rows: list[Row] = [("data", "answers", "seeds", *CELLS, "holds: ECE", "test MRR")]
    for data in TIMES.datasets:
        runs = those(results, data=data)
        if not runs:
            continue
        times = [one for run in runs if (one := run.test["times"])]
        holds = [one["holds"]["ece"] for one in times if one["holds"]]
        links = [run.test["mrr"] for run in runs]
        own = _cells([one["model"] for one in times])
        rows.append(
            (data, marked("**time head**", runs), str(len(runs)), *own, spread(holds) if holds else "", spread(links))
        )
        for key, name in OTHERS.items():
            rows.append((data, name, str(len(runs)), *_cells([one["baselines"].get(key, {}) for one in times]), "", ""))
        for name, scores in PUBLISHED.get(data, ()):
            rows.append((data, name, "", *_cells([scores]), "", ""))
    return rows


def _cells(seeds: Sequence[Scores]) -> list[str]:
    """Under CELLS, mean and spread over seeds."""
    found = []
    for read in CELLS.values():
        values = [value for scores in seeds if (value := _read(read, scores)) is not None]
        found.append("" if not values else spread(values) if len(values) > 1 else number(values[0]))
    return found


def _read(read: Callable[[Scores], Any], scores: Scores) -> float | None:
    try:
        return float(read(scores))
    except (KeyError, TypeError):  # no facts of that kind, or no such number
        return None


TIMES = Table(
    "times",
    f"Dates: when facts begin and end; first answers, on at most {FACTS:,} test facts",
    plan_times,
    times_rows,
    datasets=tuple(RUNS),
)
