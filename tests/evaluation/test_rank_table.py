"""Ranks as a table, from which anyone can compute the metrics again."""

import numpy as np
import polars as pl
import pytest

import knowwhen as kw
from knowwhen.evaluation import Protocol

PROTOCOLS = [Protocol(), Protocol("static", times="all"), Protocol("raw", "pessimistic", "objects", times=3, seed=5)]


@pytest.fixture(scope="module")
def trained():
    return kw.train("leaders", rank=2, epochs=1, overrides={"dating.passes": 0})


def recomputed(ranks: pl.DataFrame, ties: float = 0.5) -> dict[str, float]:
    """Metrics from the columns of a table alone."""
    rank, weight = 1 + ranks["better"] + ties * ranks["equal"], ranks["weight"]
    means = {"mrr": 1 / rank, **{f"hits@{k}": rank <= k for k in (1, 3, 10)}, "mean_rank": rank}
    return {name: (values * weight).sum() / weight.sum() for name, values in means.items()}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_metric_can_be_computed_from_the_table(trained, protocol):
    ranks, metrics = (one("test", protocol=protocol, sample=60) for one in (trained.ranks, trained.evaluate))
    found = metrics.to_dict()
    assert recomputed(ranks, 1.0)["mrr"] == pytest.approx(found["mrr_pessimistic"])
    ties = {"half": 0.5, "pessimistic": 1.0}[protocol.ties]
    assert (ranks["rank"] == 1 + ranks["better"] + ties * ranks["equal"]).all()
    for name, value in recomputed(ranks, ties).items():
        assert value == pytest.approx(found[name])
    assert round(ranks["weight"].sum()) == found["count"]
    dated = pl.col("begin").is_not_null() | pl.col("end").is_not_null()
    groups = {
        "direction": {"objects": pl.col("asked") == "object", "subjects": pl.col("asked") == "subject"},
        "entities": {"seen": ~pl.col("unseen"), "unseen": pl.col("unseen")},
        "time": {"temporal": dated, "non_temporal": ~dated},
        "support": {name: pl.col("support") == name for name in ("same_time", "other_time", "none")},
        "predicate": {name: pl.col("predicate") == name for name in ranks["predicate"].unique()},
    }
    for kind, of in groups.items():
        here = {
            name: recomputed(ranks.filter(rows), ties)["mrr"]
            for name, rows in of.items()
            if name in found["groups"][kind]
        }
        assert here == pytest.approx({name: group["mrr"] for name, group in found["groups"][kind].items()})


def test_a_question_is_asked_inside_the_span_of_its_fact(trained):
    ranks = trained.ranks("test", protocol=Protocol(times="all"), sample=40)
    dated = ranks.filter(pl.col("begin").is_not_null() & pl.col("end").is_not_null())
    assert dated.select((pl.col("begin") <= pl.col("time")) & (pl.col("time") <= pl.col("end"))).to_series().all()
    weights = ranks.group_by("fact", "asked").agg(pl.col("weight").sum())
    assert weights["weight"].to_numpy() == pytest.approx(np.ones(80))
    own = kw.train("leaders", rank=2, epochs=1, overrides={"dating.passes": 0, "model.undated": "own"})
    static = own.ranks("test").filter(pl.col("begin").is_null() & pl.col("end").is_null())
    assert len(static) and static["time"].is_null().all()
