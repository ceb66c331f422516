"""knowwhen completes temporal knowledge bases: facts with times in, answers to questions about them out."""

from knowwhen.errors import KnowwhenError
from knowwhen.facts.catalog import load
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.known import KnownFacts
from knowwhen.facts.table import OPEN, Facts
from knowwhen.facts.timeline import Timeline
from knowwhen.facts.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "Dataset",
    "Facts",
    "KnownFacts",
    "KnowwhenError",
    "OPEN",
    "Timeline",
    "Vocabulary",
    "__version__",
    "load",
]
