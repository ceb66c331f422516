"""Loading: `python -m benchmarks.loading [--data DIR]` (icews05-15) and `--facts 7200000` (Wikidata's size, generated).

Prints the seconds to read, number and index a dataset, and their ratio to merely reading the same files with polars in
the same process (medians of interleaved repetitions), or the peak memory for the generated one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import knowwhen as kw


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(folder: Path, repetitions: int) -> dict[str, object]:
    files = [folder / f"{split}.txt" for split in ("train", "valid", "test")]

    def read() -> None:
        for file in files:
            pl.read_csv(file, separator="\t", has_header=False, quote_char=None, infer_schema=False)

    def load() -> None:
        first = np.zeros(1, np.int64)
        kw.load(folder).known.objects(first, first, first)

    times = [(seconds(read), seconds(load)) for _ in range(repetitions + 1)][1:]  # the first warms the file cache
    reading, loading = (statistics.median(column) for column in zip(*times, strict=True))
    facts = len(kw.load(folder).all_facts)
    return {
        "data": folder.name,
        "facts": facts,
        "read_seconds": round(reading, 3),
        "load_and_index_seconds": round(loading, 3),
        "ratio": round(loading / reading, 2),
    }


def generate(facts: int, entities: int, path: Path) -> None:
    """A table of random facts, a tenth with spans of years, as in the paper's Wikidata."""
    rng = np.random.default_rng(0)
    begin = rng.integers(1, 2020, facts)
    end = begin + rng.integers(0, 50, facts)
    dated = rng.random(facts) < 0.1
    pl.DataFrame(
        {
            "subject": pl.Series(rng.integers(0, entities, facts)).cast(pl.String),
            "predicate": pl.Series(rng.integers(0, 407, facts)).cast(pl.String),
            "object": pl.Series(rng.integers(0, entities, facts)).cast(pl.String),
            "begin": pl.Series(np.where(dated, begin, 0)).cast(pl.String).replace("0", None),
            "end": pl.Series(np.where(dated, end, 0)).cast(pl.String).replace("0", None),
        }
    ).with_columns(pl.format("Q{}", name).alias(name) for name in ("subject", "object")).write_csv(path, separator="\t")


def measure_large(facts: int, entities: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.tsv"
        # In a process of its own, so that the memory it takes does not count as ours.
        maker = multiprocessing.get_context("spawn").Process(target=generate, args=(facts, entities, path))
        maker.start()
        maker.join()
        start = time.perf_counter()
        dataset = kw.load(path)
        loading = time.perf_counter() - start
        size = path.stat().st_size
        peak_of_loading = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    first = np.zeros(1, np.int64)
    indexing = seconds(lambda: dataset.known.objects(first, first, first))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "facts": facts,
        "file_megabytes": round(size / 1e6),
        "load_seconds": round(loading, 1),
        "peak_gigabytes": round(peak_of_loading / 1e9, 2),
        "index_seconds": round(indexing, 1),
        "peak_gigabytes_with_index": round(peak / 1e9, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/icews05-15"))
    parser.add_argument("--facts", type=int, help="generate that many facts instead")
    parser.add_argument("--entities", type=int, default=430_000)
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    if options.facts:
        print(json.dumps(measure_large(options.facts, options.entities)))
    else:
        print(json.dumps(compare(options.data, options.repetitions)))


if __name__ == "__main__":
    main()
