"""Two hosts, as network namespaces: what a step sends, and what happens when the cable is cut."""

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

import knowwhen as kw
from benchmarks.hosts import can_make_hosts, two_hosts
from knowwhen.distributed.collectives import wait_for_all
from knowwhen.distributed.shard import current
from knowwhen.errors import LostOthers
from knowwhen.facts.table import Facts
from knowwhen.models import Sizes, build
from knowwhen.training.config import read_config
from knowwhen.training.loop import Learner, TrainingFacts
from knowwhen.training.objective import Objective
from tests.distributed.working import in_processes
from tests.waiting import until

pytestmark = pytest.mark.skipif(not can_make_hosts(), reason="needs the right to make network namespaces")
RANK, BATCH, STEPS = 32, 500, 5


@pytest.fixture
def hosts():
    with two_hosts() as made:
        yield made


def bytes_per_step(hosts, entities: int) -> float:
    host = hosts[current().rank]
    settings = {"model.rank": RANK, "training.batch_size": BATCH, "objective.sampling": "uniform"}
    config, sizes = read_config(None, settings), Sizes(entities, 5, 9, undated_row=False)
    model = build(config.specification(sizes)).initialise(torch.Generator().manual_seed(0))
    random = np.random.default_rng(0)
    s, o = random.integers(0, entities, (2, STEPS * BATCH))
    p, t = random.integers(0, 5, STEPS * BATCH), random.integers(0, 9, STEPS * BATCH)
    training, learner = TrainingFacts(Facts(s, p, o, t, t), sizes), Learner(model, config)
    objective = Objective.of(config, None, training.sampler(config))
    order, times = training.epoch(0, 0)
    wait_for_all()
    before = host.sent()
    for step in range(STEPS):
        torch.manual_seed(step)  # the same candidates in all processes
        learner.step(objective, training.batch(order[step * BATCH : (step + 1) * BATCH], times))
    wait_for_all()
    return (host.sent() - before) / STEPS


def test_a_step_sends_what_the_formula_says_whatever_the_number_of_entities(hosts):
    n, d = 2, 2 * RANK
    formula = 4 * (n - 1) / n * (4 * BATCH * d + 6 * BATCH)  # docs/scaling.md
    few, many = (in_processes(2, bytes_per_step, hosts, entities, hosts=hosts) for entities in (10_000, 100_000))
    assert [*few, *many] == pytest.approx([formula] * 4, rel=0.2)
    assert many == pytest.approx(few, rel=0.05)


def train(run: Path, data: str | None, epochs: int):
    settings = {"model.rank": 4, "training.epochs": epochs, "training.batch_size": 500, "validation.every": 0}
    kw.train(data, run=run, resume=data is None, overrides=settings)


def test_a_host_that_vanishes_ends_in_an_error_and_the_run_goes_on(hosts, tmp_path):
    run, found = tmp_path / "run", []

    def run_both(seconds):
        found[:] = in_processes(2, train, run, "leaders", 400, hosts=hosts, fails=True, seconds=seconds)

    for seconds in (3, 30):  # on a busy machine they may lose each other before they have begun
        shutil.rmtree(run, ignore_errors=True)
        both = threading.Thread(target=run_both, args=(seconds,))
        both.start()
        until(lambda both=both: (run / "metrics.jsonl").exists() or not both.is_alive())
        if (run / "metrics.jsonl").exists():
            break
    hosts[1].cut()
    both.join()
    assert [type(error) for error in found] == [LostOthers] * 2
    assert all("the other processes do not respond" in str(error) for error in found)
    done = len(kw.open(run).records)
    assert 0 < done < 400
    in_processes(2, train, run, None, done + 2)  # elsewhere
    assert len(kw.open(run).records) == done + 2
