"""What a recipe's evidence costs: a training step and an evaluation with it, beside the same without.

    python -m benchmarks.evidence --data ../shared/data/wikidata12k --recipe evidence-wikidata12k

Prints one JSON object. `step` and `evaluation` are the time without evidence over the time with all of it, measured in
this process, in turns; the model with evidence has a correction, too, where the recipe learns one. Its values are the
initial ones, which cost what others do. `questions_ms` are the milliseconds of a question of valid with all evidence,
by how many facts the subject has in train: "10" are those with at least 10 and less than 100. With one thread it is the
processor's time that is measured, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import knowwhen as kw
from benchmarks.softmax import seconds_in_turns
from benchmarks.training import batches
from knowwhen.evaluation import Protocol, ask, evaluate
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


def complete(model: TemporalModel, dataset: Dataset, config: Config) -> TemporalModel:
    """The model with a correction, where the recipe learns one."""
    if config.correction.held_out and model.terms:
        model = model.corrected().recall(Background.of(dataset))
        assert model.correction is not None
        model.correction.initialise(torch.Generator().manual_seed(0))
    return model


def questions_by_facts(model: TemporalModel, dataset: Dataset, most: int = 100) -> dict[str, Callable[[], Any]]:
    """At most so many questions of valid, of each order of magnitude of the subject's facts, with their number."""
    questions = ask(dataset.valid, model.sizes, Protocol())
    entities = np.concatenate([dataset.train.subject, dataset.train.object])
    digits = np.char.str_len(np.bincount(entities, minlength=model.sizes.entities)[questions.s].astype(str))
    jobs = {}
    for size in np.unique(digits).tolist():
        rows = np.random.default_rng(0).permutation(np.flatnonzero(digits == size))[:most]
        ids = [torch.from_numpy(column[rows]) for column in (questions.s, questions.p, questions.t)]
        jobs[f"{10 ** (size - 1)}"] = asking(model, *ids)
    return jobs


def asking(model: TemporalModel, *ids: torch.Tensor) -> Callable[[], int]:
    """Asks question by question; returns how many there are."""

    @torch.no_grad()
    def run() -> int:
        for s, p, t in zip(*(column.split(1) for column in ids), strict=True):  # type: ignore[no-untyped-call]
            model.objects(s, p, t)
        return len(ids[0])

    return run


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
    clock = time.process_time if options.threads == 1 else time.perf_counter
    steps = {name: step_of(model, dataset, config) for name, (model, config) in pairs.items()}
    whole = {name: complete(model, dataset, config) for name, (model, config) in pairs.items()}
    evaluations = {
        name: partial(evaluate, model, dataset, "valid", sample=options.sample) for name, model in whole.items()
    }
    for name, both, rounds in (("step", steps, options.rounds), ("evaluation", evaluations, options.rounds // 2 + 1)):
        taken = seconds_in_turns(both, rounds, clock)
        seconds = {which: statistics.median(times) for which, times in taken.items()}
        found[name] = round(seconds["without"] / seconds["with"], 3)
        found[f"{name}_seconds"] = {which: round(value, 4) for which, value in seconds.items()}
    asked = questions_by_facts(whole["with"], dataset)
    found["questions_ms"] = {
        facts: round(statistics.median(times) / asked[facts]() * 1000, 2)
        for facts, times in seconds_in_turns(asked, 3, clock).items()
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
