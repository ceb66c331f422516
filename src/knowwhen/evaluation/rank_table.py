"""Ranks as a table: a row for each question, from which every metric can be computed again."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from knowwhen.evaluation.ranking import Ranks
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.table import Bools


def rank_table(ranks: Ranks, dataset: Dataset, support: Mapping[str, Bools]) -> pl.DataFrame:
    """One row for each fact, direction and asked timestamp, objects first; `rank` is that of the protocol's ties."""
    questions = ranks.questions
    dates = pl.Series([*dataset.timeline.labels(), None], dtype=pl.String)  # the undated row is the last
    groups = pl.coalesce(*(pl.when(pl.lit(pl.Series(rows))).then(pl.lit(name)) for name, rows in support.items()))
    return dataset.named(questions.facts[questions.fact]).select(
        pl.Series("fact", questions.fact + 1),
        *("subject", "predicate", "object", "begin", "end"),
        pl.when(pl.lit(pl.Series(questions.asks_subject)))
        .then(pl.lit("subject"))
        .otherwise(pl.lit("object"))
        .alias("asked"),
        dates.gather(questions.t.clip(max=len(dates) - 1)).alias("time"),
        pl.Series("weight", questions.weight),
        pl.Series("rank", ranks.rank()),
        pl.Series("better", ranks.better),
        pl.Series("equal", ranks.equal),
        groups.alias("support"),
        pl.Series("unseen", ranks.unseen),
    )
