"""What added facts are worth: MRR before adding, after adding and after training on them.

    python -m benchmarks.adding [--data icews14] [--epochs 3] [--rank 118] [--threads 1]

Two experiments, each printed as one JSON object. `later`: the last tenth of the training facts by date is held back, a
model is trained on the rest, the tenth is added, and a model is trained on all; all are asked for the test facts.
`entities`: all facts of a twentieth of the entities are held back, half of them is added, the rest is asked for, with
rows for the new entities by different caution (inf: rows of zeros).
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np

import knowwhen as kw
from knowwhen.evaluation import evaluate
from knowwhen.evaluation.evaluate import seen_entities
from knowwhen.facts.table import Facts
from knowwhen.models.growing import CAUTION, place_unseen
from knowwhen.trained import TrainedModel


def trained_on(data: kw.Dataset, arguments: argparse.Namespace) -> TrainedModel:
    """The recipe of both experiments, on some training facts."""
    settings = {
        "model.name": "unioncomplex",
        "model.rank": arguments.rank,
        "model.evidence": ["pair_history", "context"],
        "regularizer.embedding_weight": 0.1,
        "regularizer.time_weight": 0.03,
        "training.epochs": arguments.epochs,
        "training.averaging": 45,
        "training.seed": arguments.seed,
        "training.threads": arguments.threads,
        "validation.every": 0,
    }
    return kw.train(data, overrides=settings)


def as_source(data: kw.Dataset, facts: Facts) -> kw.Dataset:
    """Facts as a dataset of their own, as a file of them would be read."""
    return replace(data, train=facts, valid=Facts.empty(), test=Facts.empty())


def later_facts(data: kw.Dataset, arguments: argparse.Namespace) -> dict[str, object]:
    order = np.argsort(data.train.begin, kind="stable")
    cut = round(0.9 * len(order))
    early, late = data.train[np.sort(order[:cut])], data.train[np.sort(order[cut:])]
    before = trained_on(replace(data, train=early), arguments)
    after = before.add(as_source(data, late))
    again = trained_on(data, arguments)
    return {
        "experiment": "later",
        "held_back": len(late),
        "before": before.evaluate("test").mrr,
        "after_adding": after.evaluate("test", with_added=True).mrr,
        "after_training_on_all": again.evaluate("test").mrr,
    }


def new_entities(data: kw.Dataset, arguments: argparse.Namespace) -> dict[str, object]:
    draw = np.random.default_rng(arguments.seed)
    chosen = np.zeros(len(data.entities), np.bool_)
    chosen[draw.choice(len(data.entities), len(data.entities) // 20, replace=False)] = True
    held = chosen[data.train.subject] | chosen[data.train.object]
    about = data.train[held]
    half = draw.random(len(about)) < 0.5
    known = replace(data, train=data.train[~held], valid=Facts.empty(), test=about[~half])
    model = trained_on(known, arguments)
    found: dict[str, object] = {"experiment": "entities", "added": int(half.sum()), "asked": int((~half).sum())}
    found["before"] = model.evaluate("test").mrr
    after = model.add(as_source(data, about[half]))
    for caution in (0.0, CAUTION, 10.0, math.inf):
        place_unseen(after.model, after.dataset.added, seen_entities(known), caution)
        found[f"caution_{caution:g}"] = evaluate(after.model, after.dataset, "test").mrr
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="icews14")
    parser.add_argument("--rank", type=int, default=118)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    data = kw.load(arguments.data if not Path(arguments.data).exists() else Path(arguments.data))
    settings = {"data": data.name, "rank": arguments.rank, "epochs": arguments.epochs, "seed": arguments.seed}
    for experiment in (new_entities, later_facts):
        print(json.dumps({**experiment(data, arguments), **settings}), flush=True)


if __name__ == "__main__":
    main()
