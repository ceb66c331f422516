"""The softmax kernel against its limit, the three matrix products alone.

    python -m benchmarks.softmax --entities 7128 --dimension 312 --batch 1000 [--precision bf16]

Prints one JSON object. `share` is limit / kernel, both measured in this process, in turns: the machine's speed drifts.
"""

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping

import torch

from knowwhen.training.softmax import CHUNK_BYTES, TILE_BYTES, Precision, cross_entropy

Job = Callable[[], object]


def limit_jobs(b: int, E: int, d: int, dtype: torch.dtype) -> dict[str, Job]:
    """The three products of a step, in several layouts: scores as (b, E), as (E, b), and as (E, b) in tiles."""
    query, candidates = torch.randn(b, d).to(dtype), torch.randn(E, d).to(dtype)
    wide = torch.zeros(b, E, dtype=dtype)
    tall = wide.view(E, b)  # the same memory: only its speed matters
    grad_query, grad_candidates = torch.zeros_like(query), torch.zeros_like(candidates)
    width = max(1, TILE_BYTES // (b * dtype.itemsize))
    spans = [slice(k, k + width) for k in range(0, E, width)]

    def as_wide() -> None:
        torch.mm(query, candidates.mT, out=wide)
        torch.mm(wide, candidates, out=grad_query)
        torch.mm(wide.mT, query, out=grad_candidates)

    def as_tall() -> None:
        torch.mm(candidates, query.mT, out=tall)
        torch.mm(tall.mT, candidates, out=grad_query)
        torch.mm(tall, query, out=grad_candidates)

    def as_tiles() -> None:
        for span in spans:
            torch.mm(candidates[span], query.mT, out=tall[span])
        grad_query.zero_()
        for span in spans:
            grad_query.addmm_(tall[span].mT, candidates[span])
            torch.mm(tall[span], query, out=grad_candidates[span])

    return {"wide": as_wide, "tall": as_tall, "tiles": as_tiles}


def seconds_in_turns(
    jobs: Mapping[str, Job], repeat: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds of each job, `repeat` times, one after the other; a first round warms up and is not counted."""
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for i in range(repeat + 1):
        for name, job in jobs.items():
            start = clock()
            job()
            if i:
                taken[name].append(clock() - start)
    return taken


def limit_seconds(b: int, E: int, d: int, dtype: torch.dtype, repeat: int = 5) -> float:
    """Median seconds of the three products alone, in the fastest layout: no step can take less."""
    return min(map(statistics.median, seconds_in_turns(limit_jobs(b, E, d, dtype), repeat).values()))


def peak_bytes() -> int:
    """The process's peak resident memory (the unit of ru_maxrss differs between Linux and macOS)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def measure(b: int, E: int, d: int, precision: Precision, chunk_bytes: int, repeat: int) -> dict[str, float | str]:
    torch.manual_seed(0)
    query = (0.3 * torch.randn(b, d)).requires_grad_()
    candidates = (0.3 * torch.randn(E, d)).requires_grad_()
    targets = torch.randint(E, (b,))

    def kernel() -> None:
        query.grad = candidates.grad = None
        cross_entropy(query, candidates, targets, precision=precision, chunk_bytes=chunk_bytes).backward()  # type: ignore[no-untyped-call]

    optimizer = torch.optim.Adagrad([candidates], lr=0.1, fused=True)
    for _ in range(2):
        kernel()
        optimizer.step()
    peak = peak_bytes()  # of a training step; before the limit's own matrices are there

    limits = limit_jobs(b, E, d, torch.bfloat16 if precision == "bf16" else torch.float32)
    taken = seconds_in_turns({"kernel": kernel, **limits}, repeat)
    ours = taken.pop("kernel")
    kernel_median, limit_median = statistics.median(ours), min(map(statistics.median, taken.values()))
    kernel_min, limit_min = min(ours), min(map(min, taken.values()))
    return {
        "entities": E, "dimension": d, "batch": b, "precision": precision, "chunk_bytes": chunk_bytes,
        "threads": torch.get_num_threads(), "repeat": repeat,
        "kernel_ms": round(1e3 * kernel_median, 2), "kernel_min_ms": round(1e3 * kernel_min, 2),
        "limit_ms": round(1e3 * limit_median, 2), "limit_min_ms": round(1e3 * limit_min, 2),
        "share": round(limit_median / kernel_median, 3), "share_of_min": round(limit_min / kernel_min, 3),
        "peak_mb": peak >> 20,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=7128)
    parser.add_argument("--dimension", type=int, default=312, help="of the real vectors: twice the rank")
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--chunk-bytes", type=int, default=CHUNK_BYTES, help="memory for one piece of the scores")
    parser.add_argument("--repeat", type=int, default=15)
    a = parser.parse_args()
    print(json.dumps(measure(a.batch, a.entities, a.dimension, a.precision, a.chunk_bytes, a.repeat)))


if __name__ == "__main__":
    main()
