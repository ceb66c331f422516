"""How a question is put to a trained model: what its parts and options may be, and whether it is one or many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal, TypedDict

from knowwhen.errors import BadRequest

Name = str | int
"""Of an entity or predicate: a label or a key, or "?" for what is asked for."""
Unknown = Literal["?", "_"]
Year = int | float | date
"""A time that is not a text, and so never "?"."""


class AskOptions(TypedDict, total=False):
    """The options of a question; docs/asking.md has their meaning."""

    top: int
    novel: bool
    candidates: Sequence[str] | None
    min_probability: float
    explain: bool


def is_one(subject: Any, predicate: Any, object: Any, options: Mapping[str, Any]) -> bool:
    """Whether a question is one, given by its parts; otherwise its first part is a source of many."""
    if predicate is None and object is None:
        return False
    for option in ("errors", "progress"):
        if option in options:
            raise BadRequest(f"{option} is for many questions, and this is one; leave it out")
    return True
