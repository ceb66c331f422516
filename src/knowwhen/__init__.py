"""knowwhen completes temporal knowledge bases: facts with times go in, answers with probabilities come out."""

from typing import TYPE_CHECKING, Any

from knowwhen.errors import (
    BadDate,
    BadFacts,
    BadInput,
    BadRequest,
    DamagedFile,
    DiskError,
    Diverged,
    DownloadFailed,
    Interrupted,
    KnowwhenError,
    LostOthers,
    MissingExtra,
    NonFiniteScores,
    NotFound,
    RunError,
    TimeOutside,
    UnknownDataset,
    UnknownModel,
    UnknownName,
    WorkerDied,
)
from knowwhen.facts.catalog import load
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.index.known import KnownFacts
from knowwhen.facts.table import OPEN, Facts
from knowwhen.facts.timeline import Timeline
from knowwhen.facts.vocabulary import Vocabulary

__version__ = "0.2.0"

if TYPE_CHECKING:
    from knowwhen.comparing import compare
    from knowwhen.evaluation.evaluate import evaluate
    from knowwhen.evaluation.protocol import Protocol
    from knowwhen.models import Decomposition, register
    from knowwhen.plotting.plot import plot
    from knowwhen.trained import TrainedModel, open, train
    from knowwhen.tuning.tune import tune

# Imported from these on first use: loading data and `--help` stay quick.
_NEED_TORCH = {
    "Decomposition": "knowwhen.models",
    "Protocol": "knowwhen.evaluation",
    "TrainedModel": "knowwhen.trained",
    "compare": "knowwhen.comparing",
    "evaluate": "knowwhen.evaluation",
    "open": "knowwhen.trained",
    "plot": "knowwhen.plotting",
    "register": "knowwhen.models",
    "train": "knowwhen.trained",
    "tune": "knowwhen.tuning.tune",
}


if not TYPE_CHECKING:  # which would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name in _NEED_TORCH:
            from importlib import import_module

            return getattr(import_module(_NEED_TORCH[name]), name)
        raise AttributeError(f"module 'knowwhen' has no attribute {name!r}")


__all__ = [
    "BadDate",
    "BadFacts",
    "BadInput",
    "BadRequest",
    "DamagedFile",
    "Dataset",
    "Decomposition",
    "DiskError",
    "Diverged",
    "DownloadFailed",
    "Facts",
    "Interrupted",
    "KnownFacts",
    "KnowwhenError",
    "LostOthers",
    "MissingExtra",
    "NonFiniteScores",
    "NotFound",
    "OPEN",
    "Protocol",
    "RunError",
    "TimeOutside",
    "Timeline",
    "TrainedModel",
    "UnknownDataset",
    "UnknownModel",
    "UnknownName",
    "Vocabulary",
    "WorkerDied",
    "__version__",
    "compare",
    "evaluate",
    "load",
    "open",
    "plot",
    "register",
    "train",
    "tune",
]
