"""Filtered ranking against its limit, the product that makes the scores.

    python -m benchmarks.evaluation [--data DIR] [--rank 156]
    python -m benchmarks.evaluation --entities 432715 --rank 100 --queries 5000    objects only, generated facts

Ranks all queries of valid and test in both directions with a random model, and makes the same scores alone, in the same
shapes, process and turns: the machine's speed drifts. Prints one JSON object; `share` is product / evaluation.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

import knowwhen as kw
from knowwhen.chunks import even_slices
from knowwhen.evaluation import Protocol, ask, rank_objects
from knowwhen.evaluation.ranking import Room, ScoreTiles
from knowwhen.facts.table import Facts
from knowwhen.models import Sizes, Specification, build
from knowwhen.models.scores import Product
from knowwhen.reproduction import generated


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(data: kw.Dataset, model_name: str, rank: int, protocol: Protocol, repetitions: int) -> dict[str, object]:
    sizes = Sizes.of(data)
    model = build(Specification(model_name, sizes, {"rank": rank})).initialise(torch.Generator().manual_seed(0))
    facts, known = Facts.concatenate(data.valid, data.test), data.known
    count = len(ask(facts, sizes, protocol))
    candidates = model.decomposition.entity_rows().detach()
    room = Room.of(model)
    rows = [rows.stop - rows.start for rows in even_slices(count, room.batch)]
    query = torch.randn(max(rows), candidates.shape[1])
    scores = torch.empty(max(rows), len(candidates))
    wide = {b: scores[:b] for b in set(rows)}

    def product() -> None:
        for b in rows:
            torch.mm(query[:b], candidates.mT, out=wide[b])

    def tiled_product() -> None:
        for b in rows:
            ScoreTiles.made(Product(query[:b], candidates), room, model.name)

    def evaluate() -> None:
        rank_objects(model, ask(facts, sizes, protocol), known, protocol)

    times = [(seconds(product), seconds(tiled_product), seconds(evaluate)) for _ in range(repetitions + 1)][1:]
    # The faster of two layouts is the limit; a busy neighbour only adds, so the least of each is compared as well.
    least = [min(column) for column in zip(*times, strict=True)]
    whole, tiled, total = (statistics.median(column) for column in zip(*times, strict=True))
    return {
        "data": data.name,
        "model": f"{model_name} rank {rank}",
        "protocol": protocol.describe(count),
        "seconds": round(total, 3),
        "product_seconds": round(min(whole, tiled), 3),
        "share": round(min(whole, tiled) / total, 3),
        "least_seconds": round(least[2], 3),
        "share_of_least": round(min(least[:2]) / least[2], 3),
        "queries_per_second": round(count / total),
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=Path("../shared/data/icews14"))
    parser.add_argument("--model", default="tntcomplex")
    parser.add_argument("--rank", type=int, default=156)
    parser.add_argument("--filter", default="time")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--entities", type=int, help="generated facts over that many entities instead")
    parser.add_argument("--queries", type=int, default=5000, help="of generated facts, objects only")
    options = parser.parse_args()
    if options.entities:
        data = generated.dataset(options.entities, 20 * options.queries, held=options.queries // 2)
    else:
        data = kw.load(options.data)
    protocol = Protocol(filter=options.filter, directions="objects" if options.entities else "both")
    print(json.dumps(measure(data, options.model, options.rank, protocol, options.repetitions)))


if __name__ == "__main__":
    main()
