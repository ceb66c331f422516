"""A model inside another program: opening it, one question at a time, many at once, from several threads, and memory.

    python -m benchmarks.embedding                   trains the recipe of `leaders` first, in half a minute
    python -m benchmarks.embedding --run runs/demo   a run that is there already

Prints one JSON object. Questions are those of the test facts of the run, one after the other; memory is that of the
process, before and after.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

import knowwhen as kw

Question = tuple[str, str, str, str | None]


def seconds(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def resident_bytes() -> int:
    """The memory of this process; 0 where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS")), 0)


def questions_of(model: kw.TrainedModel) -> list[Question]:
    facts = model.dataset.named(model.dataset.test)
    return [(s, p, "?", b or e) for s, p, b, e in facts.select("subject", "predicate", "begin", "end").iter_rows()]


def one_by_one(ask: Callable[..., object], rows: Sequence[Sequence[Any]]) -> dict[str, float]:
    """Milliseconds for one: the median and the slowest of a hundred by the clock, and the mean of processor time."""
    busy = time.process_time()
    taken = sorted(1e3 * seconds(lambda row=row: ask(*row)) for row in rows)
    busy = 1e3 * (time.process_time() - busy) / len(rows)
    found = {"median": statistics.median(taken), "p99": taken[int(0.99 * len(taken))], "processor": busy}
    return {name: round(value, 2) for name, value in found.items()}


def for_each(model: kw.TrainedModel, rows: Sequence[Question]) -> dict[str, float]:
    """Milliseconds for one question of a batch, by the clock and of processor time."""
    busy = time.process_time()
    taken = seconds(lambda: model.ask(rows))
    busy = time.process_time() - busy
    return {name: round(1e3 * value / len(rows), 2) for name, value in (("clock", taken), ("processor", busy))}


def with_threads(model: kw.TrainedModel, rows: Sequence[Question], threads: int) -> float:
    """Questions a second."""
    with ThreadPoolExecutor(threads) as pool:
        taken = seconds(lambda: list(pool.map(lambda row: model.ask(*row), rows)))
    return round(len(rows) / taken)


def measure(run: Path) -> dict[str, object]:
    before = resident_bytes()
    start = time.perf_counter()
    model = kw.open(run)
    opened, rows = time.perf_counter() - start, questions_of(model)
    dated = [row for row in rows if row[3]]
    facts = [(s, p, o) for s, p, o, *_ in model.dataset.named(model.dataset.test).iter_rows()][:100]
    first = seconds(lambda: model.ask(*dated[0]))
    found: dict[str, object] = {
        "entities": len(model.dataset.entities),
        "open_seconds": round(opened, 2),
        "first_question_milliseconds": round(1e3 * first, 1),
        "question_milliseconds": one_by_one(model.ask, dated),
        "undated_question_milliseconds": one_by_one(model.ask, [row[:3] for row in rows][:100]),
    }
    if model.times is not None:
        found["when_milliseconds"] = one_by_one(model.when, facts)
        found["holds_milliseconds"] = one_by_one(model.holds, [(*fact, 2012) for fact in facts])
    found["batch_milliseconds_a_question"] = for_each(model, dated)
    found["questions_a_second_by_threads"] = {n: with_threads(model, dated * 4, n) for n in (1, 2, 4)}
    new = [(f"newcomer {i}", "citizen of", "France", "2020") for i in range(100)]
    grown = kw.open(run)
    fresh = kw.TrainedModel(grown.model, grown.dataset, grown.config, calibration=grown.calibration, times=grown.times)
    found["add_100_facts_milliseconds"] = round(1e3 * seconds(lambda: fresh.add(new)))
    found["memory_megabytes"] = round((resident_bytes() - before) / 1e6)
    found["torch_threads"] = torch.get_num_threads()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, help="a finished run; by default one is trained")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = options.run or Path(folder) / "run"
        if options.run is None:
            kw.train("leaders", "leaders", run=run, progress=sys.stderr.isatty())
        print(json.dumps(measure(run)))


if __name__ == "__main__":
    main()
