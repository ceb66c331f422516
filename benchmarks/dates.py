"""How long questions about dates take, beside a question for a name on the same model.

    python -m benchmarks.dates RUN            a run with a time head

Prints one JSON object: median milliseconds of `ask`, `when` and `holds`, asked in turns about facts of test, one by one
and, for each, in a list of 100; and how many times as long as `ask` each takes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch

import knowwhen as kw

TOGETHER = 100


def seconds(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def measure(model: kw.TrainedModel, repeat: int) -> dict[str, object]:
    data = model.dataset
    dated = data.test[~data.test.is_static]
    rows = [tuple(row.values()) for row in data.named(dated[: repeat + TOGETHER]).to_dicts()]
    # Whether it holds is asked of the object of the next fact: most are not known, and have to be judged.
    others = [row[2] for row in rows[1:] + rows[:1]]
    facts = [(s, p, o, begin or end, other) for (s, p, o, begin, end), other in zip(rows, others, strict=True)]
    jobs: dict[str, Callable[[list[tuple[str, ...]]], object]] = {
        "ask": lambda some: model.ask([(s, p, "?", t) for s, p, _, t, _ in some]),
        "when": lambda some: model.when([(s, p, o) for s, p, o, _, _ in some], infer_known=True),
        "holds": lambda some: model.holds([(s, p, other, t) for s, p, _, t, other in some]),
    }
    for job in jobs.values():
        job(facts[:1])  # builds the indexes
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for fact in facts[:repeat]:
        for name, job in jobs.items():
            taken[name].append(seconds(lambda job=job, fact=fact: job([fact])))
    alone = {name: 1e3 * statistics.median(values) for name, values in taken.items()}
    some = facts[-TOGETHER:]
    together = {
        name: 1e3 * min(seconds(lambda job=job: job(some)) for _ in range(3)) / len(some) for name, job in jobs.items()
    }
    return {
        "entities": len(data.entities),
        "timestamps": len(data.timeline),
        "milliseconds": {name: round(value, 2) for name, value in alone.items()},
        "times_ask": {name: round(value / alone["ask"], 2) for name, value in alone.items()},
        "milliseconds_together": {name: round(value, 2) for name, value in together.items()},
        "times_ask_together": {name: round(value / together["ask"], 2) for name, value in together.items()},
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--repeat", type=int, default=50)
    options = parser.parse_args()
    print(json.dumps(measure(kw.open(options.run), options.repeat)))


if __name__ == "__main__":
    main()
