"""A training step of two processes with a thread each against one process with two; what they hold and send.

    python -m benchmarks.distributed                                    all entities as candidates
    python -m benchmarks.distributed --sampling uniform --negatives 2048
    python -m benchmarks.distributed --entities 100000 --torch          also torch's own vocabulary-parallel loss

Prints one JSON object. All processes live side by side and work in turns, because the machine's speed drifts; `ratio`
is the time of a step of two processes over that of one. Where network namespaces can be made (root), the two are on
two hosts, and `sent` is what leaves one of them in a step, beside the formula of docs/scaling.md.
`--torch` compares the loss alone, with its gradients, on both processes: ours, and DTensor with `loss_parallel`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from multiprocessing.connection import Connection

import torch

from benchmarks.hosts import Host, can_make_hosts, two_hosts
from benchmarks.softmax import peak_bytes
from benchmarks.training import steps_of
from knowwhen.distributed import collectives
from knowwhen.distributed.processes import joined
from knowwhen.distributed.shard import current
from knowwhen.models import build
from knowwhen.reproduction.generated import generate, sizes_of
from knowwhen.training import softmax
from knowwhen.training.config import Config, read_config

PORT = 29_517


def work(end: Connection, rank: int, size: int, threads: int, host: Host | None, given: argparse.Namespace) -> None:
    """A process: does a job for each name it is sent, and answers with seconds and bytes."""
    address = "127.0.0.1" if host is None else "10.231.17.1"
    values = {"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": address, "MASTER_PORT": PORT}
    os.environ.update({name: str(value) for name, value in values.items()})
    if host is not None:
        host.enter()
    torch.set_num_threads(threads)
    with joined():
        config = config_of(given)
        facts = generate(given.entities, given.facts)
        model = build(config.specification(sizes_of(given.entities)))
        jobs: dict[str, Callable[[], object]] = {"step": steps_of(model, facts, config)}
        if given.torch and size > 1:
            jobs |= losses(given)
        rows = sum(table.weight.nbytes for table in model.split_tables()) or model.decomposition.entity_rows().nbytes
        end.send({"rows": rows})
        while (name := end.recv()) != "end":
            before, start = host.sent() if host and size > 1 else 0, time.perf_counter()
            torch.manual_seed(0)
            jobs[name]()
            seconds = time.perf_counter() - start
            end.send({"seconds": seconds, "sent": (host.sent() if host and size > 1 else 0) - before})
        end.send({"peak": peak_bytes()})


def losses(given: argparse.Namespace) -> dict[str, Callable[[], object]]:
    """The loss of a batch over columns that are split, with its gradients: by our kernel, and by torch's own parts."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard
    from torch.distributed.tensor.parallel import loss_parallel

    shard = current()
    assert shard is not None
    b, d = given.batch, 2 * given.rank
    query = torch.randn(b, d, requires_grad=True)
    table = torch.randn(given.entities // shard.size, d, requires_grad=True)
    targets = torch.randint(len(table) * shard.size, (b,))
    collectives.from_first(targets)
    mesh = init_device_mesh("cpu", (shard.size,))

    def ours() -> None:
        query.grad = table.grad = None
        softmax.cross_entropy(collectives.used(query), table, shard.here(targets), split=True).backward()

    def torchs() -> None:
        query.grad = table.grad = None
        scores = DTensor.from_local(collectives.used(query) @ table.mT, mesh, [Shard(1)], run_check=False)
        with loss_parallel():
            torch.nn.functional.cross_entropy(scores, targets).backward()

    return {"ours": ours, "torch": torchs}


def config_of(given: argparse.Namespace) -> Config:
    return read_config(
        None,
        {
            "model.rank": given.rank,
            "training.batch_size": given.batch,
            "objective.sampling": given.sampling,
            "objective.negatives": given.negatives,
        },
    )


def measure(given: argparse.Namespace, hosts: list[Host] | list[None]) -> dict[str, object]:
    forks = multiprocessing.get_context("spawn")
    alone, *both = pairs = [forks.Pipe() for _ in range(3)]
    plans = [(0, 1, 2, None), (0, 2, 1, hosts[0]), (1, 2, 1, hosts[1])]
    for (_, theirs), plan in zip(pairs, plans, strict=True):
        forks.Process(target=work, args=(theirs, *plan, given), daemon=True).start()
    ends = [alone[0], *(ours for ours, _ in both)]
    rows = [end.recv()["rows"] for end in ends]

    def turn(of: list[Connection], job: str) -> dict[str, float]:
        for end in of:
            end.send(job)
        found = [end.recv() for end in of]
        return {"seconds": max(one["seconds"] for one in found), "sent": max(one["sent"] for one in found)}

    names = {"one": (ends[:1], "step"), "two": (ends[1:], "step")}
    if given.torch:
        names |= {"ours": (ends[1:], "ours"), "torch": (ends[1:], "torch")}
    for of, job in names.values():
        turn(of, job)  # to warm up
    rounds = [{name: turn(*plan) for name, plan in names.items()} for _ in range(given.repeat)]
    seconds = {name: statistics.median(one[name]["seconds"] for one in rounds) for name in names}
    for end in ends:
        end.send("end")
    b, d = given.batch, 2 * given.rank
    found: dict[str, object] = {
        "entities": given.entities,
        "rank": given.rank,
        "batch": b,
        "sampling": given.sampling,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "ratio": round(statistics.median(one["two"]["seconds"] / one["one"]["seconds"] for one in rounds), 3),
        "entity_bytes": {"one": rows[0], "each_of_two": rows[1:]},
        "peak_bytes": [end.recv()["peak"] for end in ends],
        "sent_by_formula": round(4 / 2 * (4 * b * d + 6 * b)),
    }
    if hosts[0] is not None:
        found["sent"] = round(statistics.median(one["two"]["sent"] for one in rounds))
    if given.torch:
        found["torch_over_ours"] = round(
            statistics.median(one["torch"]["seconds"] / one["ours"]["seconds"] for one in rounds), 3
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=432_715)
    parser.add_argument("--facts", type=int, default=200_000)
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--sampling", default="none")
    parser.add_argument("--negatives", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--torch", action="store_true")
    given = parser.parse_args()
    with two_hosts() if can_make_hosts() else nullcontext([None, None]) as hosts:
        print(json.dumps(measure(given, hosts)))


if __name__ == "__main__":
    main()
