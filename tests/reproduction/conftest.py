"""Results as if they had been run, and a folder to plant them in."""

from dataclasses import replace

import pytest

from knowwhen.reproduction.numbers import NUMBERS, numbers_of
from knowwhen.reproduction.results import Result, write_result
from knowwhen.training.config import read_config
from knowwhen.tuning.space import point_of

TEST = {"mrr": 0.55, "hits@1": 0.4, "hits@3": 0.6, "hits@10": 0.7, "count": 10, "protocol": {}}
SUPPORT = {"same_time": {"mrr": 0.9, "count": 5}, "none": {"mrr": 0.1, "count": 5}}


def settings_of(recipe, overrides=()):
    return {"recipe": recipe, **point_of(read_config(recipe, overrides))}


@pytest.fixture
def result():
    """A result of table 2, with some values changed; `mrr` is that on test."""
    base = Result(
        table="table2",
        row="tntcomplex",
        data="icews14",
        seed=0,
        point={},
        tried=(),
        command="knowwhen reproduce table2 --dataset icews14 --model tntcomplex",
        valid_mrr=0.56,
        test={**TEST, "support": SUPPORT, "t_mrr": 0.5, "nt_mrr": None, "times": None},
        rank=156,
        parameters=2_624_856,
        epochs=50,
        minutes=12.5,
        processor_minutes=10.0,
        settings=settings_of("lacroix2020-tntcomplex-icews14"),
        commit="abc1234",
        machine="2 cores, 24 GB",
        numbers={area: NUMBERS[area] for area in ("training", "validation", "evaluation")},
    )

    def make(mrr=0.55, times=None, **changes):
        return replace(base, test={**base.test, "mrr": mrr, "times": times}, **changes)

    return make


@pytest.fixture
def of_plan(result):
    """The result that an experiment would give."""

    def make(experiment, **changes):
        entry = {k: getattr(experiment, k) for k in ("table", "row", "data", "seed", "point", "tried", "command")}
        settings = settings_of(experiment.recipe, experiment.overrides) if experiment.recipe else {}
        numbers = numbers_of(settings)
        return result(**{**entry, "settings": settings, "numbers": numbers, **changes})

    return make


@pytest.fixture
def plant():
    """Stores results."""

    def write(store, *results):
        for one in results:
            write_result(one, store)

    return write


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Nothing is written into the checkout."""
    monkeypatch.chdir(tmp_path)
