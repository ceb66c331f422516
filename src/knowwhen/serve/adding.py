"""Facts that come in one by one, as a dataset that a model can add."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from knowwhen.errors import BadFacts
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.formats.named import NamedDataset, ReadOptions, check_names_and_times
from knowwhen.facts.formats.problems import Problems
from knowwhen.serve.requests import NewFact

PROBLEMS_SHOWN = 20


def new_facts(dataset: Dataset, facts: Sequence[NewFact]) -> Dataset:
    """Facts as a dataset of their own; a name that is a label here stands for its key, others are new."""
    entities, predicates = dataset.entities, dataset.predicates
    rows = pl.DataFrame(
        {
            "subject": [entities.key_of(fact.subject) for fact in facts],
            "predicate": [predicates.key_of(fact.predicate) for fact in facts],
            "object": [entities.key_of(fact.object) for fact in facts],
            "begin": [fact.begin or None for fact in facts],
            "end": [fact.end or None for fact in facts],
            "line": range(1, len(facts) + 1),
        },
        schema_overrides={"begin": pl.String, "end": pl.String, "line": pl.Int64},
    )
    problems = Problems(skip=True)
    named = check_names_and_times(rows, "facts", problems, clock=dataset.timeline.granularity.has_clock)
    if problems.found:
        bad, shown = len(problems.found), problems.found[:PROBLEMS_SHOWN]
        raise BadFacts(f"nothing was added: {bad} of {len(facts)} facts {'is' if bad == 1 else 'are'} bad", shown)
    options = ReadOptions(granularity=dataset.timeline.granularity, fractions=(0.0, 0.0))
    return Dataset.of(NamedDataset({"": named}, "added"), options)
