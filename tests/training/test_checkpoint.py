"""All state of training as tensors and JSON: a run that goes on is one that never stopped, bit for bit."""

import json
from collections import defaultdict
from functools import cache

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from knowwhen.errors import DamagedFile
from knowwhen.facts.table import Facts
from knowwhen.models import Background, Sizes, build
from knowwhen.training import checkpoint
from knowwhen.training.config import read_config
from knowwhen.training.loop import Learner, TrainingFacts, seeded
from knowwhen.training.objective import Objective

SIZES = Sizes(9, 2, 4)
MODELS = ("tntcomplex", "tucker", "rgcn")  # without more, with batch normalisation and dropout, with a graph


@cache
def facts():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, n, 40) for n in (9, 2, 9)]
    time = rng.integers(0, 4, 40)
    return Facts(*columns, time, time)


def learner(name, seed=0, **training):
    config = read_config(
        None, {"model.name": name, "model.rank": 3, **{f"training.{k}": v for k, v in training.items()}}
    )
    calendar = np.stack([np.arange(4)] * 3, axis=1)
    model = build(config.specification(SIZES)).recall(Background(facts(), np.arange(4), calendar))
    model.initialise(torch.Generator().manual_seed(seed))
    return Learner(model.train(), config)


def go_on(learner, first, last):
    data, objective = TrainingFacts(facts(), SIZES), Objective.of(learner.config)
    order, times = data.epoch(0, 0)
    for step in range(first, last):
        with seeded(learner.model.device, 0, 0, step):
            learner.step(objective, data.batch(order[step * 9 : step * 9 + 9], times))
    return learner


def written(learner):
    """As a file holds it."""
    tensors, values = checkpoint.gather(learner)
    return save(tensors), json.dumps(values)


def restored(learner, data, values):
    checkpoint.restore(learner, load(data), json.loads(values))
    return learner


@pytest.mark.parametrize("averaging", [0, 5])
@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
@pytest.mark.parametrize("name", MODELS)
def test_going_on_is_never_having_stopped(name, optimizer, averaging):
    def new(seed):
        return learner(name, seed, optimizer=optimizer, learning_rate=0.05, averaging=averaging)

    straight = written(go_on(new(0), 0, 6))
    stopped = written(go_on(new(0), 0, 3))
    assert stopped[0] != straight[0]
    resumed = restored(new(1), *stopped)
    assert written(resumed) == stopped, "what is read back is what was written"
    assert written(go_on(resumed, 3, 6)) == straight


@pytest.mark.parametrize("name", MODELS)
def test_all_that_changes_in_a_step_is_gathered(name):
    before, _ = checkpoint.gather(learner(name, averaging=3))
    after, values = checkpoint.gather(go_on(learner(name, averaging=3), 0, 1))
    groups = defaultdict(set)
    for key, tensor in after.items():
        if key not in before or not torch.equal(before[key], tensor):
            groups[key.split(".")[0]].add(key)
    parameters = [key for key, _ in learner(name).model.named_parameters()]
    assert {f"model.{key}" for key in parameters} <= groups["model"]
    assert {f"average.{key}" for key in parameters} == groups["average"]
    assert {f"optimizer.{i}.sum" for i in range(len(parameters))} <= groups["optimizer"]
    if name == "tucker":
        assert {f"model.decomposition.norm{i}.running_{x}" for i in (0, 1) for x in ("mean", "var")} <= groups["model"]
    assert values["groups"][0]["lr"] == 0.1


def test_averages_are_not_of_a_stranger():
    data, values = written(go_on(learner("tucker"), 0, 2))
    with pytest.raises(DamagedFile, match="the weights do not match this version of tucker; train again"):
        restored(learner("tucker", averaging=3), data, values)


def changes():
    def cut(tensors, key):
        del tensors[key]

    def add(tensors, key):
        tensors[key + "_more"] = torch.zeros(2)

    def reshape(tensors, key):
        tensors[key] = tensors[key][:-1].clone()

    def whole_numbers(tensors, key):
        tensors[key] = tensors[key].to(torch.int32)

    def half(tensors, key):
        tensors[key] = tensors[key].half()

    return [cut, add, reshape, whole_numbers, half]


@pytest.mark.parametrize("change", changes(), ids=lambda change: change.__name__)
@pytest.mark.parametrize("key", ["u.weight", "norm0.running_var"])
def test_other_tensors_are_refused_and_nothing_is_changed(change, key):
    """Of parameters and of buffers, in the weights of a model and in a checkpoint."""
    tucker = learner("tucker")
    before = written(tucker)
    tensors, values = checkpoint.gather(go_on(learner("tucker", seed=1), 0, 2))
    change(tensors, f"model.decomposition.{key}")
    with pytest.raises(DamagedFile, match="the weights do not match this version of tucker; train again"):
        checkpoint.restore(tucker, tensors, values)
    weights = {name.removeprefix("model."): x for name, x in tensors.items() if name.startswith("model.")}
    with pytest.raises(DamagedFile, match="the weights do not match this version of tucker; train again"):
        checkpoint.weights(tucker.model, weights)
    assert written(tucker) == before


def test_the_state_of_another_optimizer_is_refused():
    data, values = written(go_on(learner("tntcomplex", optimizer="adam"), 0, 2))
    tensors, values = load(data), json.loads(values)
    values["groups"][0]["params"] = [0]
    with pytest.raises(DamagedFile, match="do not match this version of tntcomplex"):
        checkpoint.restore(learner("tntcomplex", optimizer="adam"), tensors, values)
