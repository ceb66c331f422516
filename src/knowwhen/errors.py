"""Every exception of knowwhen.

    KnowwhenError
    ├── BadInput            a file or value that cannot be read as facts
    │   ├── BadDate         not a date
    │   └── BadFacts        rows of a table that are not facts, each with file, line and column
    ├── NotFound            an unknown name
    │   ├── UnknownName     of an entity or predicate
    │   ├── UnknownDataset  of a dataset, folder or file
    │   ├── UnknownModel    of a model, or of one whose code may not be run
    │   └── TimeOutside     a date before the first one in the data
    ├── BadRequest          a request that contradicts itself or the data
    ├── NonFiniteScores     a model whose scores are not numbers, because training diverged
    ├── RunError            a run folder that cannot be used this way
    │   ├── DamagedFile     a file of a run that cannot be read back
    │   └── DiskError       the disk is full, or the folder is not writable
    ├── Diverged            a loss that is not a number
    ├── Interrupted         a run stopped by the user, after saving its state
    ├── MissingExtra        an optional package that is not installed
    ├── WorkerDied          a worker process that was killed
    │   └── LostOthers      one of several processes that lost contact with the others
    └── DownloadFailed      a network, server or checksum error

The attribute `status` is the HTTP status with which the server reports the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, Protocol


class KnowwhenError(Exception):
    """Base of all errors that a user can cause and fix. The message is one line.

    Some errors have attributes with details, which `to_dict` lists.
    """

    status: ClassVar[int] = 500

    def to_dict(self) -> dict[str, Any]:
        """Class, message and attributes as JSON types: what `--json` prints."""
        return {"error": type(self).__name__, "message": str(self), **self.details()}

    def details(self) -> dict[str, Any]:
        """The attributes of this error by name."""
        return {}


class BadInput(KnowwhenError):
    status = 422


class BadDate(BadInput):
    pass


class BadRow(Protocol):
    """A row that is not a fact, and where it is."""

    def to_dict(self) -> dict[str, Any]: ...


class BadFacts(BadInput):
    """Rows that are not facts.

    `problems` has one entry per row, with file, line, column, found and expected.
    """

    def __init__(self, message: str, problems: Sequence[BadRow]) -> None:
        super().__init__("\n  ".join([message, *(str(problem) for problem in problems)]))
        self.problems = tuple(problems)

    def details(self) -> dict[str, Any]:
        return {"problems": [problem.to_dict() for problem in self.problems]}


class NotFound(KnowwhenError):
    status = 404


class UnknownName(NotFound):
    """An unknown `name` of a `kind` (entity or predicate), with `suggestions` of similar names."""

    def __init__(self, message: str, suggestions: Sequence[str] = (), *, kind: str = "", name: str = "") -> None:
        super().__init__(message)
        self.suggestions, self.kind, self.name = tuple(suggestions), kind, name

    def details(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "suggestions": list(self.suggestions)}


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
    """A feature needs packages that are not installed; pip installs them as `knowwhen[extra]`."""

    status = 501

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs packages that are not installed: pip install 'knowwhen[{extra}]'")
        self.extra = extra

    def details(self) -> dict[str, Any]:
        return {"extra": self.extra}


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
