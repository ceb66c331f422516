"""Runs side by side: their metrics, and differences to the first with intervals, for all queries and by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import polars as pl

from knowwhen.drawable import Drawable
from knowwhen.evaluation.bootstrap import LEVEL, RESAMPLES, Difference, means, paired_differences
from knowwhen.evaluation.metrics import group_rows
from knowwhen.evaluation.protocol import Protocol
from knowwhen.evaluation.questions import Floats
from knowwhen.evaluation.ranking import Ranks
from knowwhen.evaluation.report import GROUP_NAMES
from knowwhen.facts.table import Bools
from knowwhen.tabular import Tabular
from knowwhen.text import brief, table

METRICS = ("mrr", "hits@1", "hits@3", "hits@10")
KINDS = ("support", "predicate")
SHOWN = 10  # predicates in a printed table


@dataclass(frozen=True)
class ComparedRun:
    """One of the compared runs."""

    name: str
    model: str
    parameters: int
    minutes: float | None  # of training; None where nobody noted them


@dataclass(frozen=True)
class ComparedGroup:
    """A group of queries: the metrics of each run, and the difference of each other run to the first."""

    count: int  # queries, a fact asked at several times once for each side
    facts: int
    values: tuple[Mapping[str, float], ...]  # by run
    differences: tuple[Mapping[str, Difference], ...]  # by run, from the second on

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Comparison(Drawable, Tabular):
    """Runs side by side, as `knowwhen.compare` returns them."""

    runs: tuple[ComparedRun, ...]
    all: ComparedGroup
    groups: Mapping[str, Mapping[str, ComparedGroup]] = field(repr=False)  # by support and predicate
    protocol: Protocol
    split: str
    resamples: int

    def __repr__(self) -> str:
        found = (f"{run.name} {one['mrr']:.4f}" for run, one in zip(self.runs, self.all.values, strict=True))
        return brief(self, f"on {self.split}, MRR: {', '.join(found)}")

    def to_polars(self) -> pl.DataFrame:
        """One row per run and group, with metrics, differences to the first run and their intervals."""
        rows: list[dict[str, Any]] = []
        for kind, name, group in self._groups():
            for i, run in enumerate(self.runs):
                row = {"kind": kind, "group": name, "run": run.name, "queries": group.count, "facts": group.facts}
                row |= group.values[i]
                for metric in METRICS:
                    found = group.differences[i - 1][metric] if i else Difference(0.0)
                    row |= {
                        f"{metric}_difference": found.value,
                        f"{metric}_low": found.low,
                        f"{metric}_high": found.high,
                    }
                rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "runs": [asdict(run) | dict(values) for run, values in zip(self.runs, self.all.values, strict=True)],
            "all": self.all.to_dict(),
            "groups": {
                kind: {name: group.to_dict() for name, group in groups.items()} for kind, groups in self.groups.items()
            },
            "split": self.split,
            "protocol": {**self.protocol.to_dict(), "text": self.protocol.describe(self.all.count)},
            "level": LEVEL,
            "resamples": self.resamples,
        }

    def _groups(self) -> list[tuple[str, str, ComparedGroup]]:
        found = [("all", "all", self.all)]
        return found + [(kind, name, one) for kind, groups in self.groups.items() for name, one in groups.items()]

    def shown(self, predicates: int = SHOWN) -> list[tuple[str, ComparedGroup]]:
        """All queries, groups by support and the most frequent predicates, as people call them."""
        rows = [("all", self.all)]
        for kind, groups in self.groups.items():
            some = sorted(groups.items(), key=lambda item: -item[1].count)[:predicates]
            rows += [
                (GROUP_NAMES.get(name, name), one) for name, one in (some if kind == "predicate" else groups.items())
            ]
        return rows

    def __str__(self) -> str:
        head = ("", "MRR", "Hits@1", "Hits@3", "Hits@10", "parameters", "minutes")
        rows: list[Sequence[str]] = [head]
        for run, values in zip(self.runs, self.all.values, strict=True):
            minutes = "" if run.minutes is None else f"{run.minutes:.1f}"
            rows.append((run.name, *(f"{values[metric]:.4f}" for metric in METRICS), f"{run.parameters:,}", minutes))
        lines = table(rows)
        for i, run in enumerate(self.runs[1:]):
            lines += ["", *table([(f"{run.name} against {self.runs[0].name}",), *self._differences(i)])]
        how = f"{100 * LEVEL:g} % intervals from {self.resamples:,} paired resamples of the facts"
        return "\n".join([*lines, "", f"{self.split}, {self.protocol.describe(self.all.count)}", how])

    def _differences(self, i: int) -> list[Sequence[str]]:
        """The differences of a run in MRR, one row a group."""
        rows: list[Sequence[str]] = [("  MRR", "first", "this", "difference", "interval", "queries")]
        for name, group in self.shown():
            found = group.differences[i]["mrr"]
            both = (f"{group.values[k]['mrr']:.4f}" for k in (0, i + 1))
            interval = "" if found.low is None else f"{found.low:+.4f} to {found.high:+.4f}"
            rows.append((f"  {name}", *both, f"{found.value:+.4f}", interval, f"{group.count:,}"))
        return rows


def compare_ranks(
    runs: Sequence[ComparedRun],
    ranks: Sequence[Ranks],
    supports: Sequence[Mapping[str, Bools]],
    predicates: Sequence[str],
    split: str,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """The comparison of runs by their ranks of the same facts, and the groups of their questions by support."""
    scores = [_scores(one) for one in ranks]
    rows = [group_rows(one, predicates, support) for one, support in zip(ranks, supports, strict=True)]

    def compared(masks: Sequence[Bools]) -> ComparedGroup:
        return _compared(ranks, scores, masks, resamples, seed)

    whole = compared([np.ones(len(one), np.bool_) for one in ranks])
    groups = {
        kind: {name: compared([one[kind][name] for one in rows]) for name in rows[0][kind] if rows[0][kind][name].any()}
        for kind in KINDS
    }
    return Comparison(tuple(runs), whole, groups, ranks[0].protocol, split, resamples)


def _scores(ranks: Ranks) -> Floats:  # (q, K)
    """Weight times metric of each query."""
    rank = ranks.rank()
    values = [1 / rank, *(rank <= k for k in (1, 3, 10))]
    return np.asarray(np.stack(values, axis=1) * ranks.questions.weight[:, None], np.float64)


def _compared(
    ranks: Sequence[Ranks], scores: Sequence[Floats], masks: Sequence[Bools], resamples: int, seed: int
) -> ComparedGroup:
    """The metrics of the queries that are in a group, and their differences."""
    n, K = len(ranks[0].facts), len(METRICS)
    sums, weights = np.zeros((n, len(ranks), K)), np.zeros((n, len(ranks)))
    for m, (one, score, mask) in enumerate(zip(ranks, scores, masks, strict=True)):
        fact = one.questions.fact[mask]
        weights[:, m] = np.bincount(fact, one.questions.weight[mask], minlength=n)
        for k in range(K):
            sums[:, m, k] = np.bincount(fact, score[mask, k], minlength=n)
    inside = weights.any(axis=1)
    sums, weights = sums[inside], weights[inside]
    values = [dict(zip(METRICS, map(float, row), strict=True)) for row in means(sums.sum(0), weights.sum(0))]
    found = paired_differences(sums, weights, resamples=resamples, seed=seed)
    differences = [dict(zip(METRICS, row, strict=True)) for row in found]
    return ComparedGroup(round(float(weights[:, 0].sum())), int(inside.sum()), tuple(values), tuple(differences))
