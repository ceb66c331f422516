"""Evidence: what single facts say about an answer, one term a file. Importing this package registers them."""

from knowwhen.models.evidence import (
    context,
    object_profile,
    pair_history,
    path_history,
    predicate_history,
    repeat_history,
)
from knowwhen.models.evidence.base import EvidenceTerm, Reason

__all__ = [
    "EvidenceTerm",
    "Reason",
    "context",
    "object_profile",
    "pair_history",
    "path_history",
    "predicate_history",
    "repeat_history",
]
