"""A whole training step against its limit, the three matrix products alone at the same shapes.

    python -m benchmarks.training --data ../shared/data/icews14 --rank 156 [--precision bf16] [--model tntcomplex]
    python -m benchmarks.training --evidence pair_history [--window 120]    also steps with it, in the same turns
    python -m benchmarks.training --entities 432715 --rank 100        facts of the size of the paper's Wikidata
    python -m benchmarks.training --entities 432715 --rank 100 --sampling uniform [--negatives 2048]

Prints one JSON object; `share` is limit / step, `with_evidence` is step / step with evidence, all measured in this
process, in turns: the machine's speed drifts. With sampling the limit is that of the products at the number of
candidates of a step.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import knowwhen as kw
from benchmarks.softmax import limit_jobs, peak_bytes, seconds_in_turns
from knowwhen.facts.table import Facts, Ints
from knowwhen.models import Background, Sizes, TemporalModel, build
from knowwhen.models.memory import keep_pages
from knowwhen.reproduction.generated import generate, sizes_of
from knowwhen.training.config import Config, read_config
from knowwhen.training.loop import Learner, TrainingFacts
from knowwhen.training.objective import Batch, Objective


def batches(facts: TrainingFacts, size: int) -> Iterator[Batch]:
    epoch = 0
    while True:
        order, times = facts.epoch(0, epoch)
        for start in range(0, len(facts) - size + 1, size):
            yield facts.batch(order[start : start + size], times)
        epoch += 1


def steps_of(model: TemporalModel, facts: Facts, config: Config) -> Callable[[], object]:
    """A training step, on other facts with every call."""
    learner = Learner(model.initialise(torch.Generator().manual_seed(0)), config)
    training = TrainingFacts(facts, model.sizes)
    objective = Objective.of(config, sampler=training.sampler(config))
    stream = batches(training, config.training.batch_size)
    return lambda: learner.step(objective, next(stream))


def candidates_of(facts: Facts, sizes: Sizes, config: Config) -> int:
    """How many candidates a step has."""
    training = TrainingFacts(facts, sizes)
    sampler = training.sampler(config)
    if sampler is None:
        return sizes.entities
    return len(sampler.draw(next(batches(training, config.training.batch_size)).o).columns)


def measure(
    facts: Facts, sizes: Sizes, config: Config, repeat: int, positions: Ints | None = None
) -> dict[str, object]:
    """With positions on the time axis, steps with evidence as well."""
    keep_pages()  # as training does
    spec = config.specification(sizes)
    model = build(replace(spec, evidence={}))
    step = steps_of(model, facts, config)
    b, (E, d) = config.training.batch_size, model.decomposition.entity_rows().shape
    step()  # before the limit's buffers: peak memory is that of training
    step()
    peak = peak_bytes()
    dtype = torch.bfloat16 if config.training.precision == "bf16" else torch.float32
    candidates = candidates_of(facts, sizes, config)
    jobs = {"step": step, **limit_jobs(b, candidates, d, dtype)}
    if positions is not None:
        background = Background(facts, positions, np.zeros((len(positions), 3), np.int64))
        jobs["evident"] = steps_of(build(spec).recall(background), facts, config)
    taken = seconds_in_turns(jobs, repeat)
    steps, with_evidence = taken.pop("step"), taken.pop("evident", None)
    summaries = {"median": statistics.median, "min": min}
    ours = {name: summary(steps) for name, summary in summaries.items()}
    limit = {name: min(map(summary, taken.values())) for name, summary in summaries.items()}  # of the fastest layout
    return {
        "entities": E,
        "candidates": candidates,
        "dimension": d,
        "batch": b,
        "model": config.model.name,
        "precision": config.training.precision,
        "step_milliseconds": round(1e3 * ours["median"], 1),
        "examples_per_second": round(b / ours["median"]),
        "limit_examples_per_second": round(b / limit["median"]),
        "share": round(limit["median"] / ours["median"], 3),
        "share_of_fastest": round(limit["min"] / ours["min"], 3),
        **({"with_evidence": round(ours["median"] / statistics.median(with_evidence), 3)} if with_evidence else {}),
        "peak_gigabytes": round(peak / 1e9, 2),
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/icews14"))
    parser.add_argument("--entities", type=int, help="generated facts over that many entities instead")
    parser.add_argument("--rank", type=int, default=156)
    parser.add_argument("--model", default="tntcomplex")
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--sampling", choices=("none", "uniform", "auto"), default="none")
    parser.add_argument("--negatives", type=int, default=0, help="entities drawn for a step; 0: by their number")
    parser.add_argument("--evidence", nargs="*", default=[], help="also measure steps with these terms: pair_history …")
    parser.add_argument("--dropout", type=float, default=0.0, help="share of the facts without evidence, as in recipes")
    parser.add_argument("--window", type=int, default=0, help="of the history, in units of the time axis; 0: all")
    options = parser.parse_args()
    config = read_config(
        None,
        {
            "model.name": options.model,
            "model.rank": options.rank,
            "training.precision": options.precision,
            "objective.sampling": options.sampling,
            "objective.negatives": options.negatives,
            "training.batch_size": options.batch,
            "evidence.pair_history.window": options.window,
            "evidence.dropout": options.dropout,
            "model.evidence": options.evidence,
        },
    )
    positions = None
    if options.entities:
        facts, sizes = generate(options.entities, 50_000), sizes_of(options.entities)
    else:
        dataset = kw.load(options.data)
        sizes = Sizes.of(dataset)
        facts = dataset.train
        positions = dataset.timeline.positions if options.evidence else None
    print(json.dumps(measure(facts, sizes, config, options.repeat, positions)))


if __name__ == "__main__":
    main()
