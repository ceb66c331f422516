"""Where the data of experiments comes from: by name as everywhere, or generated where the real thing is too large."""

from __future__ import annotations

from collections.abc import Callable

from knowwhen.facts.catalog import find, load
from knowwhen.facts.dataset import Dataset
from knowwhen.reproduction.generated import ENTITIES, FACTS, dataset

GENERATED: dict[str, Callable[[], Dataset]] = {"generated": lambda: dataset(ENTITIES, FACTS)}


def check_at_hand(data: str) -> None:
    """An error where a dataset is neither on this machine nor generated."""
    if data not in GENERATED:
        find(data)


def load_data(data: str) -> Dataset:
    return GENERATED[data]() if data in GENERATED else load(data)
