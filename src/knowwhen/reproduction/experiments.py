"""What has to be trained for each table: experiments by name, each one run folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from knowwhen.errors import BadRequest
from knowwhen.evaluation import PairCounts
from knowwhen.reproduction import paper

# Weights that are tried for each penalty; the best on valid is reported.
PENALTY_WEIGHTS = {
    "none": (0.0,),
    "delta2": (1e-3, 1e-2, 3e-2),
    "delta3": (3e-3, 1e-2, 3e-2, 1e-1),
    "delta4": (1e-2, 3e-2, 1e-1, 3e-1),
    "omega3": (1e-2, 3e-2, 1e-1),
}
SMOOTHED_WEIGHT = 3e-2  # of the Ω³ that Λ goes on top of
SMOOTHNESS_WEIGHTS = (1e-2, 1e-1, 1.0, 10.0)
WIKIDATA_CHOICES = ((50, 3e-2), (100, 3e-3), (100, 3e-2))  # rank and weight of Ω³

# Where many runs are compared with each other, they are shorter than the recipes.
PENALTY_EPOCHS = 10
WIKIDATA_EPOCHS = 15
WITHOUT_EVIDENCE_EPOCHS = 20  # evidence is learned in less
WEIGHED_DATASETS = ("icews14", "icews05-15")  # those whose recipe holds facts out
HISTORY_DATASETS = ("icews14", "icews05-15", "yago15k", "wikidata12k")  # those with a recipe
WITHOUT = "unioncomplex"
EVIDENCE = f"{WITHOUT}+evidence"
WEIGHED = f"{EVIDENCE}+weighing"
HISTORY_MODELS = (WEIGHED, EVIDENCE, WITHOUT)
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
    penalties = [_penalty(data, name, w, epochs) for name, weights in PENALTY_WEIGHTS.items() for w in weights]
    return penalties + [_smoothness(data, 4, weight, epochs) for weight in SMOOTHNESS_WEIGHTS]


def figure1(data: str, epochs: int | None) -> list[Experiment]:
    """MRR against the strength of Λ_3 and Λ_4, the left of the paper's figure; without any, it is Ω³ alone."""
    smooth = [_smoothness(data, p, weight, epochs) for weight in SMOOTHNESS_WEIGHTS for p in (4, 3)]
    return [_penalty(data, "omega3", SMOOTHED_WEIGHT, epochs), *smooth]


def _penalty(data: str, name: str, weight: float, epochs: int | None) -> Experiment:
    settings = {"regularizer.embedding": name, "regularizer.embedding_weight": weight, "regularizer.time_weight": 0.0}
    return _ablation(data, name, settings, f"w{weight:g}", epochs)


def _smoothness(data: str, p: int, weight: float, epochs: int | None) -> Experiment:
    settings = {"regularizer.embedding_weight": SMOOTHED_WEIGHT, "regularizer.time_p": p}
    return _ablation(data, f"omega3+lambda{p}", settings | {"regularizer.time_weight": weight}, f"t{weight:g}", epochs)


def _ablation(data: str, row: str, settings: Mapping[str, object], choice: str, epochs: int | None) -> Experiment:
    """A run of table 3, which figure 1 shares."""
    recipe = f"lacroix2020-tntcomplex-{data}"
    return Experiment("table3", row, data, 0, recipe, {**settings, **_length(epochs or PENALTY_EPOCHS)}, choice)


def history(datasets: Iterable[str], models: Iterable[str], seeds: int, epochs: int | None) -> list[Experiment]:
    """Ours: UnionComplEx with evidence, on the paper's data at no more parameters than TNTComplEx at base rank.

    Without weighing, or without evidence too, it has the same settings, which were chosen with them; without evidence
    it has more epochs. Recipes that hold nothing out have no weighing.
    """
    bare = {"evidence.held_out": 0.0}
    changes = {
        WEIGHED: _length(epochs),
        EVIDENCE: bare | _length(epochs),
        WITHOUT: bare | {"model.evidence": []} | _length(epochs or WITHOUT_EVIDENCE_EPOCHS),
    }
    found = [
        Experiment("history", row, data, seed, f"history-{data}", changes[row])
        for data in datasets
        for row in models
        if row != WEIGHED or data in WEIGHED_DATASETS
        for seed in range(seeds)
    ]
    if not found:
        raise BadRequest(f"weighing is part of the recipes for {' and '.join(WEIGHED_DATASETS)} only")
    return found


def figure2(epochs: int | None = None) -> list[Experiment]:
    """Scores along time, as in the paper's second figure, on the bundled dataset."""
    return [Experiment("figure2", "tntcomplex", "leaders", 0, "leaders", _length(epochs))]


def wikidata(epochs: int | None) -> list[Experiment]:
    """Intervals: three models on Wikidata12k, the temporal ones with and without the time loss; objects only."""
    length = _length(epochs or WIKIDATA_EPOCHS)
    found = []
    for model in paper.MODELS:
        for time_weight in (0.0, 1.0) if model != "complex" else (0.0,):
            row = model + (" with time loss" if time_weight else "")
            for rank, weight in WIKIDATA_CHOICES:
                settings = {"model.name": model, "model.rank": rank, "objective.time_weight": time_weight, **length}
                settings |= {"regularizer.embedding_weight": weight}
                choice = f"rank{rank} w{weight:g}"
                found.append(
                    Experiment("wikidata", row, "wikidata12k", 0, "wikidata12k", settings, choice, directions="objects")
                )
    return found


def _length(epochs: int | None) -> dict[str, object]:
    return {} if epochs is None else {"training.epochs": epochs}


def check_names(kind: str, wanted: Iterable[str], known: Iterable[str]) -> None:
    for name in wanted:
        if name not in known:
            raise BadRequest(f"the tables have no {kind} {name!r}; they have {', '.join(known)}")
