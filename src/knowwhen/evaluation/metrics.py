"""Ranks to numbers: mean reciprocal rank and its kin, for all queries and by group. Takes ranks, never models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from knowwhen.errors import BadRequest
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.questions import Floats
from knowwhen.evaluation.ranking import Ranks
from knowwhen.facts.table import Bools, Facts
from knowwhen.tabular import Tabular
from knowwhen.text import brief, plural


@dataclass(frozen=True)
class RankScores:
    """Means over some queries; a fact asked at several times counts once in each direction."""

    mrr: float
    hits_at_1: float
    hits_at_3: float
    hits_at_10: float
    mean_rank: float
    count: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "mrr": self.mrr,
            "hits@1": self.hits_at_1,
            "hits@3": self.hits_at_3,
            "hits@10": self.hits_at_10,
            "mean_rank": self.mean_rank,
            "count": self.count,
        }


@dataclass(frozen=True)
class Metrics(RankScores, Tabular):
    """The means over all queries and over groups of them, with the protocol. Groups of one kind partition the queries.

    Kinds: `direction` (objects, subjects), `entities` (seen, unseen in training), `kind` (event, interval, half_open,
    static), `time` (temporal, non_temporal: the paper's T-MRR and NT-MRR), `support` (same_time, other_time, none: what
    train has about the same pair), if asked for, and `predicate`. Empty groups are left out.
    """

    mrr_pessimistic: float  # if all ties are lost, and if all are won
    mrr_optimistic: float
    protocol: Protocol
    groups: Mapping[str, Mapping[str, RankScores]] = field(repr=False)

    def __repr__(self) -> str:
        hits = ", ".join(f"Hits@{k} {getattr(self, f'hits_at_{k}'):.4f}" for k in (1, 3, 10))
        return brief(self, f"MRR {self.mrr:.4f}, {hits}, {plural(self.count, 'query')}")

    @property
    def t_mrr(self) -> float | None:
        """The paper's T-MRR, over facts with any time information; None where there are none."""
        return self._mrr_of("temporal")

    @property
    def nt_mrr(self) -> float | None:
        """The paper's NT-MRR, over facts without any."""
        return self._mrr_of("non_temporal")

    def describe(self) -> str:
        """The protocol and the number of queries, in one line."""
        return self.protocol.describe(self.count)

    def to_polars(self) -> pl.DataFrame:
        """One row for all queries, then one for each group, under its `kind`."""
        groups = [(kind, name, one) for kind, some in self.groups.items() for name, one in some.items()]
        rows = [("all", "all", self), *groups]
        return pl.DataFrame([{"kind": kind, "group": name, **RankScores.to_dict(one)} for kind, name, one in rows])

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            **super().to_dict(),
            "mrr_pessimistic": self.mrr_pessimistic,
            "mrr_optimistic": self.mrr_optimistic,
            "protocol": {**self.protocol.to_dict(), "text": self.describe()},
            "groups": {
                kind: {name: group.to_dict() for name, group in groups.items()} for kind, groups in self.groups.items()
            },
        }

    def _mrr_of(self, time: str) -> float | None:
        group = self.groups["time"].get(time)
        return group.mrr if group else None


def summarise(
    ranks: Ranks, predicates: Sequence[str] | None = None, support: Mapping[str, Bools] | None = None
) -> Metrics:
    """The metrics of some ranks; `predicates` are the names of predicates, `support` the groups by support, if any."""
    if not len(ranks):
        raise BadRequest("no facts to evaluate")
    rank, weight = ranks.rank(), ranks.questions.weight
    return Metrics(
        **vars(_mean(rank, weight)),
        mrr_pessimistic=_mrr(ranks.rank("pessimistic"), weight),
        mrr_optimistic=_mrr(ranks.rank("optimistic"), weight),
        protocol=ranks.protocol,
        groups={
            kind: {name: _mean(rank[rows], weight[rows]) for name, rows in groups.items() if rows.any()}
            for kind, groups in group_rows(ranks, predicates, support).items()
        },
    )


def group_rows(
    ranks: Ranks, predicates: Sequence[str] | None = None, support: Mapping[str, Bools] | None = None
) -> dict[str, Mapping[str, Bools]]:
    """Which queries are in which group: those of one kind hold every query once."""
    fact, facts, asks_subject = ranks.questions.fact, ranks.facts, ranks.questions.asks_subject
    kinds = {name: rows[fact] for name, rows in kinds_of(facts).items()}
    predicate = facts.predicate[fact]
    return {
        "direction": {"objects": ~asks_subject, "subjects": asks_subject},
        "entities": {"seen": ~ranks.unseen, "unseen": ranks.unseen},
        "kind": kinds,
        "time": {"temporal": ~kinds["static"], "non_temporal": kinds["static"]},
        **({"support": support} if support else {}),
        "predicate": {predicates[p] if predicates else str(p): predicate == p for p in np.unique(predicate).tolist()},
    }


def kinds_of(facts: Facts) -> dict[str, Bools]:
    return {
        "event": facts.is_event,
        "interval": facts.is_interval,
        "half_open": facts.is_half_open,
        "static": facts.is_static,
    }


def _mean(rank: Floats, weight: Floats) -> RankScores:
    total = weight.sum()
    hits = {f"hits_at_{k}": float(weight @ (rank <= k) / total) for k in (1, 3, 10)}
    return RankScores(mrr=_mrr(rank, weight), **hits, mean_rank=float(weight @ rank / total), count=round(total))


def _mrr(rank: Floats, weight: Floats) -> float:
    return float(weight @ (1 / rank) / weight.sum())
