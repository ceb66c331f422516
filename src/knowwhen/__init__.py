"""knowwhen completes temporal knowledge bases: facts with times in, answers to questions about them out."""

from typing import TYPE_CHECKING, Any

from knowwhen.errors import KnowwhenError
from knowwhen.facts.catalog import load
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.table import OPEN, Facts
from knowwhen.facts.timeline import Timeline
from knowwhen.facts.vocabulary import Vocabulary

__version__ = "0.2.0"

if TYPE_CHECKING:
    from knowwhen.comparing import compare
    from knowwhen.models import Decomposition, register
    from knowwhen.plotting.plot import plot
    from knowwhen.trained import TrainedModel, open, train
    from knowwhen.tuning.tune import tune

# Imported from these on first use: loading data and `--help` stay quick.
_NEED_TORCH = {
    "Decomposition": "knowwhen.models",
    "TrainedModel": "knowwhen.trained",
    "compare": "knowwhen.comparing",
    "open": "knowwhen.trained",
    "plot": "knowwhen.plotting",
    "register": "knowwhen.models",
    "train": "knowwhen.trained",
    "tune": "knowwhen.tuning.tune",
}


def __getattr__(name: str) -> Any:
    if name in _NEED_TORCH:
        from importlib import import_module

        return getattr(import_module(_NEED_TORCH[name]), name)
    raise AttributeError(f"module 'knowwhen' has no attribute {name!r}")


__all__ = [
    "Dataset",
    "Decomposition",
    "Facts",
    "KnownFacts",
    "KnowwhenError",
    "OPEN",
    "Timeline",
    "TrainedModel",
    "Vocabulary",
    "__version__",
    "compare",
    "load",
    "open",
    "plot",
    "register",
    "train",
    "tune",
]
