"""What a recipe's evidence costs: a training step and an evaluation with it, beside the same without.

    python -m benchmarks.evidence --data ../shared/data/wikidata12k --recipe evidence-wikidata12k

Prints one JSON object. `step` and `evaluation` are the time without evidence over the time with all of it, measured in
this process, in turns; the model with evidence has a correction, too, where the recipe learns one. Its values are the
initial ones, which cost what others do.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import knowwhen as kw
from benchmarks.softmax import seconds_in_turns
from benchmarks.training import batches
from knowwhen.evaluation import evaluate
from knowwhen.facts.dataset import Dataset
from knowwhen.models import Background, TemporalModel
from knowwhen.training.config import Config, read_config
from knowwhen.training.loop import Learner, Leaving, TrainingFacts
from knowwhen.training.objective import Objective
from knowwhen.training.stages import new_model


def step_of(model: TemporalModel, dataset: Dataset, config: Config) -> Callable[[], Any]:
    """A training step, on other facts with every call."""
    learner, train = Learner(model, config), dataset.train
    itself = config.evidence.leave_out == "itself"
    leaving = Leaving(train, model.sizes, np.arange(len(train)), others=itself) if model.terms else None
    facts = TrainingFacts(train, model.sizes, leaving=leaving)
    objective = Objective.of(config, sampler=facts.sampler(config))
    stream = batches(facts, config.training.batch_size)
    return lambda: learner.step(objective, next(stream))


def evaluation_of(model: TemporalModel, dataset: Dataset, config: Config, sample: int) -> Callable[[], Any]:
    if config.correction.held_out and model.terms:
        model = model.corrected().recall(Background.of(dataset))
        assert model.correction is not None
        model.correction.initialise(torch.Generator().manual_seed(0))
    return lambda: evaluate(model, dataset, "valid", sample=sample)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="../shared/data/wikidata12k")
    parser.add_argument("--recipe", default="evidence-wikidata12k")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sample", type=int, default=1000, help="facts of valid")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    dataset = kw.load(options.data)
    configs = [
        read_config(options.recipe),
        read_config(options.recipe, {"model.evidence": [], "correction.held_out": 0}),
    ]
    models = [new_model(config, dataset).initialise(torch.Generator().manual_seed(0)) for config in configs]
    found: dict[str, Any] = {"data": dataset.name, "recipe": options.recipe, "threads": options.threads}
    pairs = dict(zip(("with", "without"), zip(models, configs, strict=True), strict=True))
    jobs = {
        "step": {name: step_of(model, dataset, config) for name, (model, config) in pairs.items()},
        "evaluation": {
            name: evaluation_of(model, dataset, config, options.sample) for name, (model, config) in pairs.items()
        },
    }
    for name, both in jobs.items():
        taken = seconds_in_turns(both, options.rounds if name == "step" else 3)
        seconds = {which: statistics.median(times) for which, times in taken.items()}
        found[name] = round(seconds["without"] / seconds["with"], 3)
        found[f"{name}_seconds"] = {which: round(value, 4) for which, value in seconds.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
