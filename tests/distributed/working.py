"""What several processes do in tests; they are forks of one that has imported everything."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch._dynamo  # the first optimizer imports it, in two seconds
from torch.distributed import TCPStore

from benchmarks.hosts import Host
from knowwhen.distributed.processes import joined
from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import Background, Sizes, build
from knowwhen.training.config import read_config
from knowwhen.training.loop import Learner, TrainingFacts, seeded
from knowwhen.training.objective import Objective
from tests.waiting import PATIENCE

SIZES = Sizes(31, 4, 9, undated_row=False)  # no number of processes divides 31
PORT = 29500  # of hosts, which have it to themselves
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__])


@dataclass(frozen=True)
class Ended:
    """A process that gave nothing."""

    code: int | None


def in_processes(
    count: int,
    function: Callable,
    *arguments: object,
    fails: bool = False,
    hosts: Sequence[Host] = (),
    seconds: int = 120,
) -> list:
    """What function(*arguments) gives in each of `count` processes that have joined each other.

    Where it `fails`, the error of a process, or how it ended. With `hosts`, each process is on one of them; `seconds`
    is how long they wait for each other.
    """
    ends = [FORKS.Pipe(duplex=False) for _ in range(count)]
    address = hosts[0].address if hosts else "127.0.0.1"
    # As with torchrun, the store outlives the processes; on other hosts, the first of them keeps it.
    store = None if hosts else TCPStore(address, 0, is_master=True, wait_for_workers=False)
    port = store.port if store else PORT
    work = (function, arguments, fails)
    processes = []
    for rank in range(count):
        variables = {"RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": address, "MASTER_PORT": port}
        variables = {**variables, "KNOWWHEN_TIMEOUT": seconds, "TORCHELASTIC_USE_AGENT_STORE": store is not None}
        variables = {name: str(value) for name, value in variables.items()}
        host = hosts[rank] if hosts else None
        processes.append(FORKS.Process(target=_one, args=(variables, host, ends[rank][1], *work)))
    for process, (_, theirs) in zip(processes, ends, strict=True):
        process.start()
        theirs.close()
    found: list = []
    try:
        for process, (ours, _) in zip(processes, ends, strict=True):
            assert ours.poll(PATIENCE), "a process hangs"
            try:
                found.append(ours.recv())
            except EOFError:
                process.join(PATIENCE)
                found.append(Ended(process.exitcode))
    finally:
        for process in processes:
            process.join(5)
            process.kill()
    if not fails:
        assert not [one for one in found if isinstance(one, BaseException | Ended)], found
    return found


def _one(variables, host, end, function, arguments, fails) -> None:
    os.environ.update(variables)
    torch.set_num_threads(1)
    if host is not None:
        host.enter()
    try:
        with joined():
            end.send(function(*arguments))
    except BaseException as error:
        if not fails:
            traceback.print_exc()
        end.send(error)


def facts(count: int = 200, seed: int = 0) -> Facts:
    """Facts of all kinds; low numbers are frequent, as in real data."""
    random = np.random.default_rng(seed)
    s, o = (np.minimum(random.geometric(0.15, count) - 1, SIZES.entities - 1) for _ in range(2))
    p, begin = random.integers(0, SIZES.predicates, count), random.integers(0, SIZES.timestamps, count)
    end = np.minimum(begin + random.integers(0, 3, count), SIZES.timestamps - 1)
    static = random.random(count) < 0.1
    begin, end = (np.where(static, OPEN, x) for x in (begin, end))
    return Facts(*(x.astype(np.int64) for x in (s, p, o, begin, end)))


def model_of(settings: dict):
    config = read_config(None, {"training.batch_size": 16, "model.rank": 4, **settings})
    model = build(config.specification(SIZES)).initialise(torch.Generator().manual_seed(0))
    positions = np.arange(SIZES.timestamps)
    return config, model.recall(Background(facts(), positions, np.zeros((SIZES.timestamps, 3))))


def losses(settings: dict, steps: int = 20, exact: bool = True) -> tuple[list[float], dict[str, np.ndarray]]:
    """The losses of the first steps, and all parameters after them: ours, where they are split.

    Exact ones are of 64 bits: the first steps of Adagrad take small gradients for large ones, differences too.
    """
    config, model = model_of(settings)
    model = model.double() if exact else model
    learner, training = Learner(model, config), TrainingFacts(facts(), SIZES)
    objective, found, size = Objective.of(config, None, training.sampler(config)), [], config.training.batch_size
    order, times = training.epoch(0, 0)
    for step in range(steps):
        batch = training.batch(order[step * size : (step + 1) * size], times)
        with seeded(model.device, 0, 0, step):
            found.append(learner.step(objective, batch)["loss"].item())
    return found, {name: x.detach().numpy() for name, x in model.named_parameters()}
