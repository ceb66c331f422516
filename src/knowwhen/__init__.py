"""knowwhen completes temporal knowledge bases: facts with times in, answers to questions about them out."""

from typing import TYPE_CHECKING, Any

from knowwhen.errors import KnowwhenError
from knowwhen.facts.catalog import load
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.known import KnownFacts
from knowwhen.facts.table import OPEN, Facts
from knowwhen.facts.timeline import Timeline
from knowwhen.facts.vocabulary import Vocabulary

__version__ = "0.1.0"

if TYPE_CHECKING:
    from knowwhen.trained import TrainedModel, open, train

_NEED_TORCH = ("TrainedModel", "open", "train")  # imported on first use: loading data and `--help` stay quick


def __getattr__(name: str) -> Any:
    if name in _NEED_TORCH:
        import knowwhen.trained

        return getattr(knowwhen.trained, name)
    raise AttributeError(f"module 'knowwhen' has no attribute {name!r}")


__all__ = [
    "Dataset",
    "Facts",
    "KnownFacts",
    "KnowwhenError",
    "OPEN",
    "Timeline",
    "TrainedModel",
    "Vocabulary",
    "__version__",
    "load",
    "open",
    "train",
]
