"""Every exception of knowwhen.

KnowwhenError
├── BadInput            a file or value that cannot be read as facts
│   ├── BadDate         a text that is not a date
│   └── BadFacts        rows of a table that are not facts, each with file, line and column
├── NotFound            something asked for by name
│   ├── UnknownName     an entity or predicate that the vocabulary does not hold
│   ├── UnknownDataset  neither a known name, a folder nor a file
│   ├── UnknownModel    a model that is not registered, or whose code may not be run
│   └── TimeOutside     a time that the timeline does not cover
├── BadRequest          a request that contradicts itself or the data
├── NonFiniteScores     a model whose scores are not numbers: its training diverged
├── RunError            a run folder that cannot be used as asked
│   ├── DamagedFile     a file of a run that cannot be read back
│   └── DiskError       the disk is full, or the folder cannot be written
├── Diverged            a loss that is no longer a number
├── Interrupted         the user stopped a run, and its state is saved
├── MissingExtra        an optional package that is not installed
├── WorkerDied          a process of ours that something else ended
│   └── LostOthers      one of several processes, to which the others answer no more
└── DownloadFailed      the network, the server or the checksum said no

Each carries the HTTP status under which a web page reports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import ClassVar


class KnowwhenError(Exception):
    """Base of all errors that a user can cause and mend; its text is one line."""

    status: ClassVar[int] = 500


class BadInput(KnowwhenError):
    status = 422


class BadDate(BadInput):
    pass


class BadFacts(BadInput):
    """Rows that are not facts; `problems` holds one line for each that was looked at."""

    def __init__(self, message: str, problems: Sequence[str]) -> None:
        super().__init__("\n  ".join([message, *problems]))
        self.problems = tuple(problems)


class NotFound(KnowwhenError):
    status = 404


class UnknownName(NotFound):
    """A name that is not there; `suggestions` are those that may have been meant."""

    def __init__(self, message: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.suggestions = tuple(suggestions)


class UnknownDataset(NotFound):
    pass


class UnknownModel(NotFound):
    pass


class TimeOutside(NotFound):
    pass


class BadRequest(KnowwhenError):
    status = 400


class RunError(KnowwhenError):
    status = 409


class DamagedFile(RunError):
    pass


class DiskError(RunError):
    status = 507


class Diverged(KnowwhenError):
    pass


class Interrupted(KnowwhenError):
    pass


class NonFiniteScores(KnowwhenError):
    status = 500


class MissingExtra(KnowwhenError):
    """A feature needs packages that are not there; `extra` is the name under which pip installs them."""

    status = 501

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs packages that are not installed: pip install 'knowwhen[{extra}]'")


class WorkerDied(KnowwhenError):
    pass


class LostOthers(WorkerDied):
    pass


class DownloadFailed(KnowwhenError):
    status = 502


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """'; did you mean 'x'?' for the closest of the names, or nothing when none is close."""
    lowered = {n.casefold(): n for n in names}
    close = get_close_matches(name.casefold(), lowered, n=1)
    return f"; did you mean {lowered[close[0]]!r}?" if close else ""
