"""Results as if they had been run, and a folder to plant them in."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from knowwhen.reproduction.results import FILE, Result

TEST = {"mrr": 0.55, "hits@1": 0.4, "hits@3": 0.6, "hits@10": 0.7, "count": 10, "protocol": {}}
SUPPORT = {"same_time": {"mrr": 0.9, "count": 5}, "none": {"mrr": 0.1, "count": 5}}


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
        settings={"recipe": "r"},
        commit="abc1234",
        machine="2 cores, 24 GB",
        folder=Path("somewhere"),
    )

    def make(mrr=0.55, times=None, **changes):
        return replace(base, test={**base.test, "mrr": mrr, "times": times}, **changes)

    return make


@pytest.fixture
def of_plan(result):
    """The result that an experiment would give."""

    def make(experiment, **changes):
        entry = {k: getattr(experiment, k) for k in ("table", "row", "data", "seed", "point", "tried", "command")}
        return result(**{**entry, "folder": Path(experiment.name), **changes})

    return make


@pytest.fixture
def plant():
    """Writes results as runs leave them."""

    def write(runs, *results):
        for one in results:
            (runs / one.name).mkdir(parents=True)
            (runs / one.name / FILE).write_text(json.dumps(one.to_dict()))

    return write
