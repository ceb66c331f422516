"""Facts that come after training: a dataset with new names, new times and the facts that brought them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from knowwhen.errors import BadRequest, did_you_mean
from knowwhen.facts.dataset import Dataset, row_keys
from knowwhen.facts.recorded import Recorded
from knowwhen.facts.table import OPEN, Facts, Ints
from knowwhen.facts.timeline import Timeline
from knowwhen.facts.vocabulary import Vocabulary


def extended(dataset: Dataset, new: Dataset) -> tuple[Dataset, Ints]:
    """The dataset with the facts of another as `added`, and for each timestamp of its axis the one it had before.

    Ids of entities stay, new ones come behind. A new time takes the place of the last one before it on the old axis,
    or of the first. Predicates must be known: only training can tell what a new one means. A fact that is in train or
    was added before is left out, so that adding a file twice is adding it once.
    """
    unknown = [key for key in new.predicates.keys if key not in dataset.predicates]
    if unknown:
        hint = did_you_mean(unknown[0], dataset.predicates.keys.to_list())
        raise BadRequest(f"no predicate {unknown[0]!r} in {dataset.name}{hint}; train again to use a new predicate")
    entities = _joined(dataset.entities, new.entities)
    positions = np.union1d(dataset.timeline.positions, new.timeline.positions)
    timeline = Timeline(dataset.timeline.granularity, positions)
    facts, ids = new.all_facts, _places(new.timeline.positions, positions)
    added = Facts(
        entities.encode(new.entities.decode(facts.subject)),
        dataset.predicates.encode(new.predicates.decode(facts.predicate)),
        entities.encode(new.entities.decode(facts.object)),
        *(_moved(column, ids) for column in (facts.begin, facts.end)),
    )
    moved = _places(dataset.timeline.positions, positions)
    earlier = (_shifted(part, moved) for part in (dataset.train, dataset.valid, dataset.test, dataset.added))
    train, valid, test, before = earlier
    everything = added
    _, first = np.unique(row_keys(added), return_index=True)
    added = added[np.sort(first)]
    added = added[~np.isin(row_keys(added), row_keys(Facts.concatenate(train, before)))]
    recorded = dataset.recorded
    if new.recorded is not None:
        days = new.recorded.days_of(facts, new.timeline)
        noted = Recorded.of(everything, timeline, days)
        recorded = noted if recorded is None else recorded.joined(noted)
    grown = replace(
        dataset,
        recorded=recorded,
        entities=entities,
        timeline=timeline,
        train=train,
        valid=valid,
        test=test,
        added=Facts.concatenate(before, added),
    )
    return grown, np.maximum(np.searchsorted(dataset.timeline.positions, positions, side="right") - 1, 0)


def _joined(old: Vocabulary, new: Vocabulary) -> Vocabulary:
    """The old names as they are, then those that are new."""
    names = new.keys.to_frame("key").with_columns(label=pl.lit(None, pl.String) if new.labels is None else new.labels)
    fresh = names.filter(~pl.col("key").is_in(old.keys.implode()))
    if not len(fresh):
        return old  # with all that was indexed of it
    keys = pl.concat([old.keys.alias("key"), fresh["key"]])
    if old.labels is None and fresh["label"].null_count() == len(fresh):
        return Vocabulary(old.kind, keys)
    labels = pl.Series([None] * len(old), dtype=pl.String) if old.labels is None else old.labels
    return Vocabulary(old.kind, keys, pl.concat([labels.alias("label"), fresh["label"]]))


def _places(positions: Ints, among: Ints) -> Ints:
    return np.searchsorted(among, positions)


def _moved(column: Ints, places: Ints) -> Ints:
    """Timestamps by their new number; an open end stays open."""
    return np.append(places, OPEN)[column]  # OPEN = -1 takes the last


def _shifted(facts: Facts, places: Ints) -> Facts:
    return Facts(facts.subject, facts.predicate, facts.object, _moved(facts.begin, places), _moved(facts.end, places))
