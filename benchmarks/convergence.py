"""How long training takes to a test MRR, evaluation not counted.

    python -m benchmarks.convergence --data ../shared/data/icews14 --until 0.557 --set objective.sampling=uniform

Trains a recipe, by default the paper's TNTComplEx on ICEWS14, evaluates test every few epochs and stops where it is
reached. Prints one JSON object: seconds of training, and the MRR at each evaluation. Nothing is chosen by it.
"""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from pathlib import Path

import torch

import knowwhen as kw
from knowwhen.evaluation import evaluate
from knowwhen.models import TemporalModel
from knowwhen.models.memory import keep_pages
from knowwhen.training.config import Config, read_config
from knowwhen.training.loop import Learner, Record, State, TrainingFacts, fit
from knowwhen.training.objective import Objective
from knowwhen.training.stages import new_model


class Clock:
    """Adds up the seconds of steps; a watcher of training."""

    def __init__(self) -> None:
        self.seconds, self.examples = 0.0, 0

    def after_step(self, state: State, steps: int, examples: int, seconds: float) -> None:
        self.seconds += seconds
        self.examples += examples

    def after_epoch(self, state: State, is_best: bool) -> None:
        """Nothing is saved."""


class Reached(Exception):
    """The MRR that was wanted."""


def measure(data: kw.Dataset, config: Config, until: float) -> dict[str, object]:
    keep_pages()
    model = new_model(config, data)
    learner = Learner(model.initialise(torch.Generator().manual_seed(config.training.seed)), config)
    facts = TrainingFacts(data.train, model.sizes)
    clock, curve = Clock(), list[dict[str, float]]()

    def test(now: TemporalModel) -> Record:
        mrr = evaluate(now, data, "test").mrr
        curve.append({"seconds": round(clock.seconds, 1), "test_mrr": round(mrr, 4)})
        if mrr >= until:
            raise Reached
        return {"mrr": mrr}

    with suppress(Reached):
        fit(learner, facts, Objective.of(config, sampler=facts.sampler(config)), State(), clock, test)
    return {
        "data": data.name,
        "until": until,
        "reached": curve[-1]["test_mrr"] >= until,
        "seconds": curve[-1]["seconds"],
        "epochs": round(clock.examples / len(facts)),
        "examples_per_second": round(clock.examples / clock.seconds),
        "curve": curve,
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/icews14"))
    parser.add_argument("--recipe", default="lacroix2020-tntcomplex-icews14")
    parser.add_argument("--until", type=float, default=0.557)
    parser.add_argument("--set", action="append", default=[], dest="overrides", help="section.key=value, repeatable")
    options = parser.parse_args()
    config = read_config(options.recipe, ["validation.every=2", *options.overrides])
    print(json.dumps(measure(kw.load(options.data), config, options.until)))


if __name__ == "__main__":
    main()
