"""Entity rows over several processes: the same losses, gradients and scores as with one."""

import numpy as np
import pytest
import torch

from knowwhen.distributed.shard import Shard, splitting
from knowwhen.errors import BadRequest
from knowwhen.models import MODELS
from knowwhen.models.build import check_splits
from tests.distributed.working import SIZES, in_processes, losses, model_of

EVIDENCE = {
    "model.name": "unioncomplex",
    "model.evidence": ("pair_history", "path_history", "predicate_history", "context"),
}
SAMPLED = {"objective.sampling": "uniform", "objective.negatives": 3}


def splits(name: str) -> bool:
    try:
        check_splits(MODELS[name], SIZES, MODELS[name].Options())
    except BadRequest:
        return False
    return True


KINDS = {
    "full": {"model.name": "tntcomplex", "objective.time_weight": 0.5, "training.averaging": 4},
    "sampled": {"model.name": "tntcomplex", "training.averaging": 4, **SAMPLED},
    "two tables": {"model.name": "cp"},
    "two tables, sampled": {"model.name": "cp", **SAMPLED},
    "a distance": {"model.name": "transe"},
    "moduli": {"model.name": "rotate"},
    "a distance, sampled": {"model.name": "transe", **SAMPLED},
    "evidence": {**EVIDENCE, "evidence.dropout": 0.25},
    "evidence, sampled": {**EVIDENCE, **SAMPLED},
    "each fact's negatives": {"model.name": "complex", "objective.sampling": "each", "objective.negatives": 5},
    "margin": {
        "model.name": "transe",
        "objective.loss": "margin",
        "objective.sampling": "each",
        "objective.negatives": 5,
    },
    "binary": {"model.name": "complex", "objective.loss": "binary"},
    "adam": {"model.name": "complex", "training.optimizer": "adam", "training.learning_rate": 0.01},
    "a core": {"model.name": "tucker"},
}
REFUSED = [name for name in MODELS if not splits(name)]
KINDS |= {name: {"model.name": name} for name in MODELS if name not in REFUSED}
SINGLE = ("full", "sampled", "two tables", "evidence")  # also as they are trained, in 32 bits


def all_losses(kinds):
    exact = {kind: losses(KINDS[kind], steps=3 if kind in MODELS else 8) for kind in kinds}
    return exact, {kind: losses(KINDS[kind], exact=False)[0] for kind in kinds if kind in SINGLE}


@pytest.fixture(scope="module")
def alone():
    return all_losses(KINDS)


@pytest.mark.parametrize(("count", "kinds"), [(2, list(KINDS)), (4, ["full", "evidence"])])
def test_steps_on_several_processes_are_those_on_one(alone, count, kinds):
    found = in_processes(count, all_losses, kinds)
    for kind in kinds:
        expected, parameters = alone[0][kind]
        for rank, (history, split) in enumerate(exact[kind] for exact, _ in found):
            assert history == pytest.approx(expected, rel=1e-8), kind
            for name, rows in split.items():
                whole = parameters[name]
                own = whole[rank::count] if len(rows) < len(whole) else whole
                np.testing.assert_allclose(rows, own, rtol=1e-5, atol=1e-7, err_msg=f"{kind}, {name}")
            assert any(len(rows) < len(parameters[name]) for name, rows in split.items()), kind
    for _, single in found:
        assert single == {kind: pytest.approx(alone[1][kind], rel=1e-5) for kind in kinds if kind in SINGLE}


def scores():
    """What anyone who knows nothing of processes reads from a model with all kinds of evidence."""
    _, model = model_of(KINDS["evidence"])
    model = model.double().eval()
    s, p, o, t = (torch.tensor(ids) for ids in ([0, 7, 30], [1, 3, 6], [5, 0, 29], [0, 8, 3]))
    with torch.no_grad():
        objects = model.objects(s, p, t)
        some = torch.tensor([29, 2, 2, 0])
        values = {
            "objects": objects.whole(),
            "block": objects.at(slice(3, 20)),
            "chosen": objects.at(torch.tensor([30, 1, 4])),
            "cells": objects.cells(torch.tensor([2, 0, 1, 1]), some),
            "facts": model.score(s, p, o, t),
            "times": model.times(s, p, o).whole(),
            "predicates": model.predicates(s, o, t).whole(),
        }
    return {name: x.numpy() for name, x in values.items()}, model.parameter_count()


def test_scores_read_the_same_from_any_process():
    expected, count = scores()
    for found, total in in_processes(2, scores):
        assert total == count
        for name, x in expected.items():
            np.testing.assert_allclose(found[name], x, rtol=1e-9, err_msg=name)


def test_rows_are_dealt_out_and_found_again():
    ids = torch.arange(11)
    shards = [Shard(rank, 3) for rank in range(3)]
    assert [shard.count(11) for shard in shards] == [4, 4, 3]
    for shard in shards:
        own = ids[shard.own(ids)]
        assert own.tolist() == list(range(shard.rank, 11, 3))
        assert shard.ids(shard.places(own)).tolist() == own.tolist()
        assert shard.here(ids)[own].tolist() == list(range(len(own)))
        assert (shard.here(ids) >= 0).sum() == len(own)
    parts = [shard.part(10) for shard in shards]
    assert [i for part in parts for i in range(10)[part]] == list(range(10))


def test_fewer_entities_than_processes_are_refused():
    with splitting(Shard(0, 40)), pytest.raises(BadRequest, match="40 processes cannot share 31 entities"):
        model_of(KINDS["full"])


def test_most_models_can_be_split():
    assert {"tntcomplex", "unioncomplex", "cp", "rotate", "tucker"} <= KINDS.keys()
    assert {"desimple", "rgcn"} <= set(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_whose_columns_cannot_be_shared_is_refused(name):
    with splitting(Shard(0, 2)), pytest.raises(BadRequest, match=f"{name} cannot be split over processes"):
        model_of({"model.name": name})
