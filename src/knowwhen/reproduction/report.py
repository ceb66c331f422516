"""Results beside the paper's, as text and as the page docs/results.md, which is made and never edited."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations, product
from typing import Any

from knowwhen.models.budget import de_simple_parameter_count, paper_parameter_count, paper_rank
from knowwhen.reproduction import paper
from knowwhen.reproduction.experiments import (
    BASELINE,
    HISTORY_DATASETS,
    SMOOTHED_WEIGHT,
)
from knowwhen.reproduction.results import Result, chosen

Row = Sequence[str]
TIME_COLUMNS = (
    *("events: MRR", "mean error"),
    *("intervals: aeIOU@1", "gaeIOU@1", "TAC@1"),
    *("AP over time", "AUC-PR (paper)"),
)
NO_FIGURES: Mapping[str, str] = {}
PAPER_ABLATION = "paper (ICEWS05-15, x10)"


def params_rows() -> list[Row]:
    """Table 1 and the ranks that follow from it, for each dataset and model."""
    rows: list[Row] = [("dataset", "model", "rank", "paper's rank", "Table 1 parameters", "DE-SimplE, d = 100")]
    for data, sizes in paper.SIZES.items():
        budget = round(de_simple_parameter_count(*sizes[:2]))
        for model in paper.MODELS:
            rank = paper_rank(model, *sizes)
            count = paper_parameter_count(model, rank, *sizes)
            rows.append((data, model, str(rank), str(paper.RANKS[data][model]), f"{count:,}", f"{budget:,}"))
    return rows


def table2_rows(results: Sequence[Result]) -> list[Row]:
    """Ours beside the paper's, seeds of one row as mean ± standard deviation; then the baseline, which is only ours."""
    header = ("dataset", "model", "rank", "seeds", "test MRR", "paper", "difference", "Hits@1", "Hits@3", "Hits@10")
    rows: list[Row] = [header]
    known = {(data, model + ("-x10" if large else "")): row.mrr for (data, model, large), row in paper.TABLE2.items()}
    for data, name in [*known, *((data, BASELINE) for data in paper.DATASETS)]:
        printed = known.get((data, name))
        seeds = [r for r in results if (r.table, r.data, r.row) == ("table2", data, name)]
        if seeds:
            mrr = statistics.mean(r.test["mrr"] for r in seeds)
            hits = [f"{statistics.mean(r.test[f'hits@{k}'] for r in seeds):.3f}" for k in (1, 3, 10)]
            shown = _spread([r.test["mrr"] for r in seeds])
            beside = ("", "") if printed is None else (f"{printed:.2f}", f"{mrr - printed:+.3f}")
            rows.append((data, name, str(seeds[0].rank or ""), str(len(seeds)), shown, *beside, *hits))
    return rows


def table3_rows(results: Sequence[Result]) -> list[Row]:
    """The penalties, each at the weight that valid chose."""
    rows: list[Row] = [
        ("dataset", "penalty", "chosen on valid", "of", "epochs", "valid MRR", "test MRR", PAPER_ABLATION)
    ]
    for data, (penalty, printed) in product(paper.DATASETS, paper.TABLE3.items()):
        tried = [r for r in results if (r.table, r.data, r.row) == ("table3", data, penalty)]
        if tried:
            best = chosen(tried)
            weights = ", ".join(f"{weight:g}" for weight in sorted(_weight(r) for r in tried))
            scores = (f"{best.valid_mrr:.4f}", f"{best.test['mrr']:.4f}", f"{printed:.2f}")
            rows.append((data, penalty, f"{_weight(best):g}", weights, str(best.epochs), *scores))
    return rows


def ranking_note(rows: Sequence[Row]) -> str:
    """Where the order of penalties by test MRR, of table3_rows, is not the paper's, of datasets that have all."""
    header, *body = rows
    penalty, ours, theirs = (header.index(name) for name in ("penalty", "test MRR", PAPER_ABLATION))
    notes = []
    for data in dict.fromkeys(row[0] for row in body):
        here = [row for row in body if row[0] == data]
        swapped = [
            f"{a[penalty]} above {b[penalty]} by {float(a[ours]) - float(b[ours]):.4f} (paper: below by "
            f"{float(b[theirs]) - float(a[theirs]):.2f})"
            for a, b in permutations(here, 2)
            if float(a[ours]) > float(b[ours]) and float(a[theirs]) < float(b[theirs])
        ]
        told = f"is not the paper's: {'; '.join(swapped)}" if swapped else "is the paper's"
        notes += [f"On {data} the order of the penalties {told}."] if len(here) == len(paper.TABLE3) else []
    return " ".join(notes)


def _weight(r: Result) -> float:
    return float(r.choice.lstrip("wt"))


def history_rows(results: Sequence[Result]) -> list[Row]:
    """Models with evidence beside those without, by what training says about the pair of a test fact."""
    groups = ("same_time", "other_time", "none")
    header = ("dataset", "model", "parameters", "seeds", "test MRR", "Hits@1", "Hits@10", *groups)
    rows: list[Row] = [header]
    for data in HISTORY_DATASETS:
        here = [r for r in results if r.data == data and r.table in ("history", "table2") and r.test.get("support")]
        for name in dict.fromkeys(r.row for r in here):
            seeds = [r for r in here if r.row == name]
            scores = [_spread([r.test[key] for r in seeds]) for key in ("mrr", "hits@1", "hits@10")]
            support = [[r.test["support"][g]["mrr"] for r in seeds if g in r.test["support"]] for g in groups]
            shown = [f"{statistics.mean(found):.3f}" if found else "" for found in support]
            rows.append((data, name, f"{seeds[0].parameters:,}", str(len(seeds)), *scores, *shown))
    return rows


def _spread(values: Sequence[float]) -> str:
    """The mean, and the standard deviation where there are several."""
    return f"{statistics.mean(values):.4f}" + (f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else "")


def stddev_rows(results: Sequence[Result]) -> list[Row]:
    """Spread of TNTComplEx over seeds."""
    rows: list[Row] = [("dataset", "seeds", "mean test MRR", "standard deviation", "paper's")]
    for data, printed in paper.STDDEV.items():
        found = [r.test["mrr"] for r in results if (r.table, r.data, r.row) == ("table2", data, "tntcomplex")]
        if len(found) > 1:
            spread = statistics.stdev(found)
            rows.append((data, str(len(found)), f"{statistics.mean(found):.4f}", f"{spread:.4f}", f"{printed:.4f}"))
    return rows


def figure1_rows(results: Sequence[Result]) -> list[Row]:
    """MRR against the strength of the smoothness penalty."""
    rows: list[Row] = [("dataset", "penalty", "weight", "valid MRR", "test MRR")]
    for data in paper.DATASETS:
        for name, points in strengths(results, data).items():
            rows += [(data, name, f"{w:g}", f"{r.valid_mrr:.4f}", f"{r.test['mrr']:.4f}") for w, r in points]
    return rows


def strengths(results: Sequence[Result], data: str) -> dict[str, list[tuple[float, Result]]]:
    """Runs by the weight of Λ_3 and Λ_4, each from the run without any; from those of table 3."""
    here = [r for r in results if (r.table, r.data) == ("table3", data)]
    without = [(0.0, r) for r in here if r.row == "omega3" and _weight(r) == SMOOTHED_WEIGHT]
    found = {}
    for name in ("lambda3", "lambda4"):
        smooth = sorted(((_weight(r), r) for r in here if r.row == f"omega3+{name}"), key=lambda point: point[0])
        if smooth:
            found[name] = without + smooth
    return found


def figure2_rows(results: Sequence[Result]) -> list[Row]:
    """The model behind the figure of scores along time."""
    rows: list[Row] = [("data", "model", "rank", "valid MRR", "test MRR")]
    for r in (r for r in results if r.table == "figure2"):
        rows.append((r.data, r.row, str(r.rank), f"{r.valid_mrr:.4f}", f"{r.test['mrr']:.4f}"))
    return rows


def wikidata_rows(results: Sequence[Result]) -> list[Row]:
    """Wikidata12k: ranking by T-MRR and NT-MRR, and time questions, these beside the trivial answers to them."""
    ranking = ("valid MRR", "test MRR", "T-MRR", "NT-MRR")
    rows: list[Row] = [("model", "chosen on valid", "epochs", *ranking, *TIME_COLUMNS)]
    timed: Result | None = None
    for name in dict.fromkeys(r.row for r in results if r.table == "wikidata"):
        best = chosen([r for r in results if (r.table, r.row) == ("wikidata", name)])
        timed = best if best.times else timed
        scores = [_number(value) for value in (best.valid_mrr, best.test["mrr"], best.t_mrr, best.nt_mrr)]
        rows.append((name, best.choice, str(best.epochs), *scores, *_time_cells(best.times and best.times["model"])))
    if timed and timed.times:
        for name, answers in timed.times["baselines"].items():
            rows.append((f"({name.replace('_', ' ')})", *[""] * (2 + len(ranking)), *_time_cells(answers)))
    return rows


def _time_cells(scores: Mapping[str, Any] | None) -> list[str]:
    """Of TIME_COLUMNS."""
    if scores is None:
        return [""] * len(TIME_COLUMNS)
    events, intervals = scores["events"], scores["intervals"]
    found = [events and events[key] for key in ("mrr", "mean_absolute_error")]
    found += [intervals and intervals[key] for key in ("aeIOU@1", "gaeIOU@1", "TAC@1")]
    return [_number(value) for value in (*found, scores["average_precision"], scores["auc_pr_paper"])]


TABLES: dict[str, tuple[str, Callable[[Sequence[Result]], list[Row]]]] = {
    "table2": ("Table 2: link prediction, filtered test MRR", table2_rows),
    "history": (
        "History as evidence: test MRR, also by what train says about the pair; without, settings are the same",
        history_rows,
    ),
    "stddev": ("Standard deviations over seeds", stddev_rows),
    "table3": ("Table 3: penalties of TNTComplEx at base rank, in short runs", table3_rows),
    "figure1": ("Figure 1, left: strength of the smoothness penalty, in short runs", figure1_rows),
    "figure2": ("Figure 2: the model whose scores along time are drawn", figure2_rows),
    "wikidata": ("Intervals: Wikidata12k, objects only, in short runs", wikidata_rows),
}


def results_page(results: Sequence[Result], figures: Mapping[str, str] = NO_FIGURES) -> str:
    """docs/results.md: every table that has results, figures by table beside them, and how each result was made."""
    parts = ["# Results\n\n<!-- made by `knowwhen reproduce`; never edited by hand -->\n"]
    parts += ["\nFiltered at the query's time, ties half, both directions unless said; weights are chosen on valid.\n"]
    parts += [f"\n## Parameters and ranks (Table 1)\n\n{markdown(params_rows())}"]
    for table, (title, rows) in TABLES.items():
        found = rows(results)
        if len(found) > 1:
            parts.append(f"\n## {title}\n\n{markdown(found)}")
            parts += [f"\n![{title}]({figures[table]})\n"] if table in figures else []
            parts += [f"\n{note}\n"] if table == "table3" and (note := ranking_note(found)) else []
    parts.append(f"\n## How each was made\n\n{markdown(_runs_rows(results))}" if results else "")
    return "".join(parts)


def markdown(rows: Sequence[Row]) -> str:
    assert all(len(row) == len(rows[0]) for row in rows)
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


def _runs_rows(results: Sequence[Result]) -> list[Row]:
    made = ("epochs", "minutes", "machine", "commit", "command")
    rows: list[Row] = [("table", "data", "row", "seed", "valid MRR", "test MRR", *made)]
    for r in results:
        machine = f"{r.cores} cores, {r.gigabytes} GB"
        what = (r.table, r.data, f"{r.row} {r.choice}".strip(), str(r.seed))
        scores = (f"{r.valid_mrr:.4f}", f"{r.test['mrr']:.4f}")
        rows.append((*what, *scores, str(r.epochs), f"{r.minutes:g}", machine, r.commit, _command(r)))
    return rows


def _command(r: Result) -> str:
    table = "figure1" if r.row == "omega3+lambda3" else r.table  # the others of the figure are table 3's
    model = f" --model {r.row.removesuffix('-x10')}" if r.table in ("table2", "history") else ""
    large = " --large" if r.row.endswith("-x10") else ""
    data = f" --dataset {r.data}" if r.table in ("table2", "history", "table3") else ""
    seeds = f" --seeds {r.seed + 1}" if r.seed else ""
    return f"`knowwhen reproduce {table}{data}{model}{seeds}{large}`"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
