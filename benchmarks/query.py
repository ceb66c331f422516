"""Questions against their limit: reading the table of entities once from memory.

    python -m benchmarks.query                       at the sizes of ICEWS14
    python -m benchmarks.query --entities 432715 --rank 100 --predicates 407 --timestamps 1726    the paper's Wikidata

Prints one JSON object. A question (s, p, ?, t) has to look at every entity, so the time of one is compared with that of
a sum over the table in this process, in turns; many questions share the reading, so that `batch_share` may exceed 1.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import polars as pl
import torch

from knowwhen.facts.dataset import Dataset
from knowwhen.facts.dates import Granularity
from knowwhen.facts.table import Facts
from knowwhen.facts.timeline import Timeline
from knowwhen.facts.vocabulary import Vocabulary
from knowwhen.models import Sizes, Specification, TemporalModel, build
from knowwhen.query import answer, read_question


def random_world(sizes: Sizes, rank: int, facts: int) -> tuple[TemporalModel, Dataset]:
    """A model with random rows, and as many random facts to be told as known."""
    spec = Specification("tntcomplex", sizes, {"rank": rank})
    model = build(spec).initialise(torch.Generator().manual_seed(0))
    rng = np.random.default_rng(0)
    begin = rng.integers(0, sizes.timestamps, facts)
    columns = [rng.integers(0, size, facts) for size in (sizes.entities, sizes.predicates, sizes.entities)]
    names = [pl.Series([f"{n:07}" for n in range(size)]) for size in (sizes.entities, sizes.predicates)]
    vocabularies = Vocabulary("entity", names[0]), Vocabulary("predicate", names[1])
    timeline = Timeline(Granularity.DAY, np.arange(sizes.timestamps))
    return model, Dataset("random", *vocabularies, timeline, Facts(*columns, begin, begin))


def seconds(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def measure(model: TemporalModel, dataset: Dataset, repeat: int, batch: int) -> dict[str, object]:
    rng, sizes = np.random.default_rng(1), model.sizes
    facts = dataset.train[rng.integers(0, len(dataset.train), repeat + batch)]
    labels = dataset.timeline.labels()
    rows = [(f"{s:07}", f"{p:07}", "?", labels[t]) for s, p, _, t, _ in facts.rows().tolist()]
    questions = [read_question(dataset, *row) for row in rows]
    answer(model, dataset, questions[:1])  # builds the indexes
    table = model.decomposition.entity_rows().detach()
    taken: dict[str, list[float]] = {"question": [], "reading": []}
    for row in rows[:repeat]:
        taken["question"].append(seconds(lambda row=row: answer(model, dataset, [read_question(dataset, *row)])))
        taken["reading"].append(seconds(table.sum))
    together = statistics.median(seconds(lambda: answer(model, dataset, questions[repeat:])) for _ in range(3))
    median, reading = (statistics.median(taken[name]) for name in ("question", "reading"))
    return {
        "entities": sizes.entities,
        "dimension": table.shape[1],
        "question_milliseconds": round(1e3 * median, 2),
        "question_milliseconds_p99": round(1e3 * float(np.quantile(taken["question"], 0.99)), 2),
        "reading_milliseconds": round(1e3 * reading, 2),
        "share": round(reading / median, 3),
        "batch": batch,
        "batch_questions_per_second": round(batch / together, 1),
        "batch_share": round(batch * reading / together, 3),
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=7128)
    parser.add_argument("--predicates", type=int, default=230)
    parser.add_argument("--timestamps", type=int, default=365)
    parser.add_argument("--rank", type=int, default=156)
    parser.add_argument("--facts", type=int, default=90_000)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=200)
    options = parser.parse_args()
    sizes = Sizes(options.entities, options.predicates, options.timestamps)
    print(json.dumps(measure(*random_world(sizes, options.rank, options.facts), options.repeat, options.batch)))


if __name__ == "__main__":
    main()
