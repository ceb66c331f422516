"""What has to be trained for each table: experiments by name, each one run folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from knowwhen.errors import BadRequest
from knowwhen.evaluation import PairCounts
from knowwhen.reproduction import paper

# Weights that are tried for each penalty; the best on valid is reported. Λ_4 goes on top of the best Ω³.
PENALTY_WEIGHTS = {
    "none": (0.0,),
    "delta2": (1e-3, 1e-2, 3e-2),
    "delta3": (1e-2, 3e-2, 1e-1),
    "delta4": (3e-2, 1e-1, 3e-1),
    "omega3": (1e-2, 3e-2, 1e-1),
}
SMOOTHNESS_WEIGHTS = (0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
WIKIDATA_WEIGHTS = (3e-3, 3e-2)
HISTORY_DATASETS = ("icews14", "icews05-15")  # those with a recipe
BASELINE = PairCounts.name  # a row of table 2 that is not the paper's, and has no training
BASELINE_WINDOWS = {"icews05-15": 120}  # eleven years by day: all of a subject's facts are many


@dataclass(frozen=True)
class Experiment:
    """One training run: where it belongs, on what, and with which settings."""

    table: str
    row: str  # of that table; experiments of one row are seeds of it, or choices of which valid takes the best
    data: str
    seed: int
    recipe: str
    overrides: Mapping[str, object] = field(default_factory=dict)
    choice: str = ""  # what is tried, where valid decides
    directions: str = "both"

    @property
    def name(self) -> str:
        """The run's folder."""
        parts = [self.table, self.data, self.row, self.choice, f"seed{self.seed}"]
        return "-".join(part.replace(" ", "_") for part in parts if part)

    @property
    def settings(self) -> dict[str, object]:
        return {**self.overrides, "training.seed": self.seed}


def table2(
    datasets: Iterable[str], models: Iterable[str], seeds: int, large: bool, epochs: int | None
) -> list[Experiment]:
    """The paper's main table: three models, three datasets, at the base ranks or ten times them; and the baseline."""
    suffix = "-x10" if large else ""
    return [
        Experiment("table2", model + suffix, data, seed, f"lacroix2020-{model}-{data}{suffix}", _length(epochs))
        if model != BASELINE
        else Experiment("table2", BASELINE, data, seed, "", {"window": BASELINE_WINDOWS.get(data)})
        for data in datasets
        for model in models
        for seed in range(seeds)
    ]


def table3(data: str, epochs: int | None) -> list[Experiment]:
    """Penalties of TNTComplEx without smoothness, then Ω³ with Λ_4; each weight is a choice for valid."""
    recipe = f"lacroix2020-tntcomplex-{data}"
    length = _length(epochs)
    found = []
    for penalty, weights in PENALTY_WEIGHTS.items():
        for weight in weights:
            settings = {"regularizer.embedding": penalty, "regularizer.embedding_weight": weight}
            settings |= {"regularizer.time_weight": 0.0, **length}
            found.append(Experiment("table3", penalty, data, 0, recipe, settings, f"w{weight:g}"))
    for weight in SMOOTHNESS_WEIGHTS[1:]:
        found.append(_smooth("table3", "omega3+lambda4", data, recipe, 4, weight, length))
    return found


def figure1(data: str, epochs: int | None) -> list[Experiment]:
    """MRR against the strength of Λ_3 and Λ_4, the left of the paper's figure."""
    recipe = f"lacroix2020-tntcomplex-{data}"
    length = _length(epochs)
    return [
        _smooth("figure1", f"lambda{p}", data, recipe, p, weight, length)
        for p in (3, 4)
        for weight in SMOOTHNESS_WEIGHTS
    ]


def history(datasets: Iterable[str], seeds: int, epochs: int | None) -> list[Experiment]:
    """Ours: UnionComplEx with evidence, at no more parameters than the paper's TNTComplEx at base rank."""
    return [
        Experiment("history", "unioncomplex with evidence", data, seed, f"history-{data}", _length(epochs))
        for data in datasets
        for seed in range(seeds)
    ]


def figure2() -> list[Experiment]:
    """Scores along time, as in the paper's second figure, on the bundled dataset."""
    return [Experiment("figure2", "tntcomplex", "leaders", 0, "leaders")]


def wikidata(epochs: int | None) -> list[Experiment]:
    """Intervals: three models on Wikidata12k, the temporal ones with and without the time loss; objects only."""
    length = _length(epochs)
    found = []
    for model in paper.MODELS:
        for time_weight in (0.0, 1.0) if model != "complex" else (0.0,):
            row = model + (" with time loss" if time_weight else "")
            for weight in WIKIDATA_WEIGHTS:
                settings = {"model.name": model, "objective.time_weight": time_weight, **length}
                settings |= {"regularizer.embedding_weight": weight, "regularizer.time_weight": 1.0}
                found.append(
                    Experiment(
                        "wikidata", row, "wikidata12k", 0, "wikidata12k", settings, f"w{weight:g}", directions="objects"
                    )
                )
    return found


def _smooth(
    table: str, row: str, data: str, recipe: str, p: int, weight: float, length: Mapping[str, object]
) -> Experiment:
    settings = {"regularizer.time_p": p, "regularizer.time_weight": weight, **length}
    return Experiment(table, row, data, 0, recipe, settings, f"t{weight:g}")


def _length(epochs: int | None) -> dict[str, object]:
    return {} if epochs is None else {"training.epochs": epochs}


def check_names(kind: str, wanted: Iterable[str], known: Iterable[str]) -> None:
    for name in wanted:
        if name not in known:
            raise BadRequest(f"the tables have no {kind} {name!r}; they have {', '.join(known)}")
