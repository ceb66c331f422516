"""The paper's study of penalties: Table 3, both panels of Figure 1, and the grid of weights behind them.

Short runs choose the weight of each penalty on valid. A grid whose best weight is at an edge grows there, until it is
not; then a run to the end is made with the weight that was chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import TYPE_CHECKING

from knowwhen.plotting.strength import Panel, grid_figure, strength_figure
from knowwhen.reproduction import paper
from knowwhen.reproduction.experiments import Experiment, Setting
from knowwhen.reproduction.link_prediction import sampled_softmax
from knowwhen.reproduction.results import Result, chosen, comparable, those
from knowwhen.reproduction.table import Request, Row, Table, marked, number
from knowwhen.reproduction.widening import widened
from knowwhen.tuning.space import Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAIN, OTHERS = "icews05-15", ("icews14", "yago15k")  # the paper's dataset first
LONG = " to the end"  # what rows of long runs end in
EMBEDDING, SMOOTHNESS = Setting.EMBEDDING_WEIGHT, Setting.TIME_WEIGHT
# Weights of each penalty that are tried first; valid chooses.
FIRST: dict[str, dict[str, Sequence[float]]] = {
    "icews05-15": {
        "none": (0.0,),
        "delta2": (3e-4, 1e-3, 3e-3),
        "delta3": (1e-3, 3e-3, 1e-2),
        "delta4": (1e-3, 3e-3, 1e-2),
        "omega3": (1e-3, 3e-3, 1e-2),
        "lambda": (1e-2, 1e-1, 1.0, 10.0),
    },
    "icews14": {
        "none": (0.0,),
        "delta2": (1e-3, 1e-2, 3e-2),
        "delta3": (3e-3, 1e-2, 3e-2, 1e-1),
        "delta4": (1e-2, 3e-2, 1e-1, 3e-1),
        "omega3": (1e-2, 3e-2, 1e-1),
        "lambda": (1e-2, 1e-1, 1.0, 10.0),
    },
}
FIRST["yago15k"] = FIRST["icews14"]
UNDER_SMOOTHNESS = {"icews05-15": (1e-3, 3e-3, 1e-2), "icews14": (3e-2,), "yago15k": (3e-2,)}  # weights of Ω³ below Λ
# Many runs are compared with each other: they are shorter than the recipe, and sampled where that saves hours.
SHORT: dict[str, Point] = {
    "icews05-15": {**sampled_softmax("icews05-15"), Setting.EPOCHS: 6},
    "icews14": {Setting.EPOCHS: 10},
    "yago15k": {**sampled_softmax("yago15k"), Setting.EPOCHS: 10},
}
PATIENCE = 2  # validations of a long run, as some penalties overfit early


def plan_table3(request: Request) -> list[Experiment]:
    """Penalties of TNTComplEx without smoothness, then Ω³ with Λ_4; and a long run of each at the chosen weights."""
    return [
        e
        for data in request.datasets
        for penalty in paper.TABLE3
        for e in (*_short(request, "table3", data, penalty), _long(request, data, penalty))
    ]


def plan_figure1(request: Request) -> list[Experiment]:
    """Short runs alone: against the strength of Λ_3 and Λ_4 over several weights of Ω³, and against that of each Ω."""
    shared = [
        e for data, penalty in product(request.datasets, paper.TABLE3) for e in _short(request, "table3", data, penalty)
    ]
    return shared + [e for data in request.datasets for e in _short(request, "figure1", data, "omega3+lambda3")]


def _short(request: Request, table: str, data: str, penalty: str) -> Iterator[Experiment]:
    """The runs that choose the weight of a penalty, as far as they are known to be needed."""
    measured = _valid(_trials(request, data, penalty))
    for embedding, smoothness in _points(data, penalty, measured):
        yield _experiment(request, table, data, penalty, embedding, smoothness)


def _points(data: str, penalty: str, measured: Mapping[tuple[float, float], float]) -> list[tuple[float, float]]:
    """Weights of the embeddings and of smoothness that are tried, grown where the best is at an edge."""
    first = FIRST[data]
    if not is_smooth(penalty):
        along = {embedding: mrr for (embedding, _), mrr in measured.items()}
        return [(embedding, 0.0) for embedding in widened(first[penalty], along)]
    under = UNDER_SMOOTHNESS[data]
    # The hull over Ω³ decides: a weight of Λ counts as measured once it is with each weight of Ω³.
    hull = {}
    for smoothness in {smoothness for _, smoothness in measured}:
        found = [measured.get((embedding, smoothness)) for embedding in under]
        if None not in found:
            hull[smoothness] = max(mrr for mrr in found if mrr is not None)
    return list(product(under, widened(first["lambda"], hull)))


def is_smooth(penalty: str) -> bool:
    return "lambda" in penalty


def _experiment(
    request: Request, table: str, data: str, penalty: str, embedding: float, smoothness: float
) -> Experiment:
    """A short run of table 3, which figure 1 shares; `table` is the one to ask for."""
    point = {**_penalty(penalty, embedding, smoothness), **SHORT[data], **request.length()}
    tried = (EMBEDDING, SMOOTHNESS) if is_smooth(penalty) else (EMBEDDING,)
    recipe = f"lacroix2020-tntcomplex-{data}"
    return Experiment("table3", penalty, data, point, request.command(table, data), tried=tried, recipe=recipe)


def _penalty(penalty: str, embedding: float, smoothness: float) -> Point:
    name, _, power = penalty.partition("+lambda")
    smooth: Point = {Setting.TIME_P: int(power)} if power else {}
    return {Setting.EMBEDDING: name, EMBEDDING: embedding, SMOOTHNESS: smoothness, **smooth}


def _long(request: Request, data: str, penalty: str) -> Experiment:
    """A run of all epochs at the weights that the short ones choose; it waits until they have."""
    trials = _trials(request, data, penalty)
    needed = {e.choice for e in _short(request, "table3", data, penalty)}
    is_chosen = needed <= {trial.choice for trial in trials}
    best = chosen(trials).point if is_chosen else {EMBEDDING: FIRST[data].get(penalty, (0.0,))[0], SMOOTHNESS: 0.0}
    weights = _penalty(penalty, best[EMBEDDING], best[SMOOTHNESS])
    point = {**weights, **sampled_softmax(data), Setting.PATIENCE: PATIENCE, **request.length()}
    command, recipe = request.command("table3", data), f"lacroix2020-tntcomplex-{data}"
    return Experiment("table3", penalty + LONG, data, point, command, recipe=recipe, waits=not is_chosen)


def _trials(request: Request, data: str, penalty: str) -> list[Result]:
    """The short runs of a penalty that were made as they would be today."""
    length = {**SHORT[data], **request.length()}
    found = those(request.found, table="table3", data=data, row=penalty)
    return [r for r in found if all(r.point.get(name) == value for name, value in length.items())]


def _valid(trials: Sequence[Result]) -> dict[tuple[float, float], float]:
    """MRR on valid by the weights of embeddings and smoothness, of trials that can be compared."""
    here = comparable(trials) if trials else []
    return {(r.point[EMBEDDING], r.point[SMOOTHNESS]): r.valid_mrr for r in here}


def table3_rows(results: Sequence[Result]) -> list[Row]:
    """The penalties, each at the weight that valid chose in short runs, and trained to the end with it."""
    header = ("dataset", "penalty", "chosen on valid", "of", "epochs", "valid MRR", "test MRR")
    rows: list[Row] = [(*header, "to the end: epochs", "valid", "test", "paper (x10)")]
    for data, (penalty, printed) in product(TABLE3.datasets, paper.TABLE3.items()):
        trials, long = those(results, data=data, row=penalty), those(results, data=data, row=penalty + LONG)
        if trials:
            trials = comparable(trials)
            best, shown = chosen(trials), [*long, chosen(trials)]
            tried = ", ".join(dict.fromkeys(f"{_last(r):g}" for r in sorted(trials, key=_last)))
            scores = (str(best.epochs), number(best.valid_mrr), number(best.test["mrr"]))
            end = (str(long[0].epochs), number(long[0].valid_mrr), number(long[0].test["mrr"])) if long else ("",) * 3
            rows.append((data, marked(penalty, shown), best.choice, tried, *scores, *end, f"{printed:.2f}"))
    return rows


def _last(result: Result) -> float:
    return float(result.point[result.tried[-1]])


def order_note(results: Sequence[Result]) -> str:
    """Where the order of penalties by test MRR, as it is printed, is not the paper's; of datasets that have all."""
    notes = []
    for data in TABLE3.datasets:
        ends = {penalty: those(results, data=data, row=penalty + LONG) for penalty in paper.TABLE3}
        short = {penalty: those(results, data=data, row=penalty) for penalty in paper.TABLE3}
        trials, runs = (ends, "trained to the end") if all(ends.values()) else (short, "in short runs")
        if all(trials.values()):
            ours = {penalty: round(chosen(found).test["mrr"], 4) for penalty, found in trials.items()}
            swapped = [
                f"{a} above {b} by {ours[a] - ours[b]:.4f} (paper: below by {paper.TABLE3[b] - paper.TABLE3[a]:.2f})"
                for a, b in permutations(ours, 2)
                if ours[a] > ours[b] and paper.TABLE3[a] < paper.TABLE3[b]
            ]
            told = f"differs from the paper's: {'; '.join(swapped)}" if swapped else "is that of the paper"
            notes.append(f"On {data}, {runs}, the order of the penalties {told}.")
    return " ".join(notes)


Curves = dict[str, list[tuple[float, Result]]]


def smoothness_curves(results: Sequence[Result]) -> Curves:
    """Of one dataset: for each strength of Λ_3 and Λ_4 the best run over the weights of Ω³, each from the best without.

    The paper plots the hull of such a grid.
    """
    alone, found = those(results, row="omega3"), {}
    for p in (3, 4):
        runs: dict[float, list[Result]] = {}
        for r in those(results, row=f"omega3+lambda{p}"):
            runs.setdefault(r.point[SMOOTHNESS], []).append(r)
        if runs:
            hull = {weight: chosen(trials) for weight, trials in runs.items()} | ({0.0: chosen(alone)} if alone else {})
            found[f"Λ{p}"] = sorted(hull.items(), key=lambda pair: pair[0])
    return found


def embedding_curves(results: Sequence[Result]) -> Curves:
    """Of one dataset: runs by the strength of each penalty on embeddings, without smoothness, from that without any."""
    none, found = those(results, row="none"), {}
    for penalty in paper.TABLE3:
        trials = those(results, row=penalty)
        if trials and penalty != "none" and not is_smooth(penalty):
            runs = [(r.point[EMBEDDING], r) for r in (*none, *comparable(trials))]
            name = penalty.replace("delta", "Δ").replace("omega", "Ω")
            found[name] = sorted(runs, key=lambda pair: pair[0])
    return found


def figure1_rows(results: Sequence[Result]) -> list[Row]:
    """MRR against the strength of the penalties."""
    rows: list[Row] = [("dataset", "panel", "penalty", "weight", "of Ω³", "valid MRR", "test MRR")]
    for data in FIGURE1.datasets:
        here = those(results, data=data)
        for panel, curves in (("left", smoothness_curves(here)), ("right", embedding_curves(here))):
            for name, curve in curves.items():
                for weight, r in curve:
                    under = f"{r.point[EMBEDDING]:g}" if panel == "left" else ""
                    shown = (marked(name, [r]), f"{weight:g}", under, number(r.valid_mrr), number(r.test["mrr"]))
                    rows.append((data, panel, *shown))
    return rows


def figure1(results: Sequence[Result]) -> Figure | None:
    """MRR on valid against the strength of smoothness, and against that of the penalties on embeddings."""
    sides = (
        (smoothness_curves(results), "weight of the smoothness penalty"),
        (embedding_curves(results), "weight of the penalty on embeddings"),
    )
    panels = [
        Panel({name: [(w, r.valid_mrr) for w, r in curve] for name, curve in curves.items()}, label)
        for curves, label in sides
        if curves
    ]
    return strength_figure(panels, f"TNTComplEx on {results[0].data}, MRR on valid") if panels else None


def plan_grid(request: Request) -> list[Experiment]:
    """The short runs of Ω³ alone and with Λ_4."""
    return [e for e in plan_figure1(request) if e.row in GRID_ROWS]


GRID_ROWS = ("omega3", "omega3+lambda4")


def grid_cells(results: Sequence[Result]) -> dict[tuple[float, float], Result]:
    """The runs of one dataset by the weights of Ω³ and Λ_4."""
    found = [r for r in results if r.row in GRID_ROWS]
    return {(r.point[EMBEDDING], r.point[SMOOTHNESS]): r for r in found}


def grid_rows(results: Sequence[Result]) -> list[Row]:
    """MRR on valid and test for each pair of weights."""
    rows: list[Row] = [("dataset", "weight of Ω³", "weight of Λ4", "valid MRR", "test MRR")]
    for data in GRID.datasets:
        for (embedding, smoothness), r in sorted(grid_cells(those(results, data=data)).items()):
            scores = (number(r.valid_mrr), number(r.test["mrr"]))
            rows.append((marked(data, [r]), f"{embedding:g}", f"{smoothness:g}", *scores))
    return rows


def grid_drawn(results: Sequence[Result]) -> Figure | None:
    """MRR on valid as colours over both weights."""
    cells = {weights: r.valid_mrr for weights, r in grid_cells(results).items()}
    return grid_figure(cells, ("weight of Ω³", "weight of Λ4"), f"{results[0].data}, MRR on valid") if cells else None


TABLE3 = Table(
    "table3",
    "Table 3: penalties of TNTComplEx at the base rank, with weights chosen in short runs",
    plan_table3,
    table3_rows,
    datasets=(MAIN, *OTHERS),
    if_asked=OTHERS,
    note=order_note,
)
FIGURE1 = Table(
    "figure1",
    "Figure 1: validation MRR by the weight of smoothness (left) and of each Ω (right), in short runs",
    plan_figure1,
    figure1_rows,
    datasets=(MAIN, *OTHERS),
    if_asked=OTHERS,
    shows=("table3",),
    figure=figure1,
)
GRID = Table(
    "grid",
    "The grid of weights: Ω³ and Λ4, in short runs",
    plan_grid,
    grid_rows,
    datasets=(MAIN, *OTHERS),
    if_asked=OTHERS,
    shows=("table3",),
    figure=grid_drawn,
)
