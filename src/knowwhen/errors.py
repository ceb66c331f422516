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

    `column` is the wrong part of a question or fact (subject, predicate, object or time), and `row` its place in a
    batch, from 1, or its line in a file; both are None where they do not apply. Some errors have more attributes, which
    `to_dict` lists.
    """

    status: ClassVar[int] = 500
    row: int | None = None
    column: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Class, message and attributes as JSON types: what `--json` prints."""
        place = {name: value for name in ("row", "column") if (value := getattr(self, name)) is not None}
        return {"error": type(self).__name__, "message": str(self), **place, **self.details()}

    def details(self) -> dict[str, Any]:
        """The attributes of this error by name."""
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles any subclass, whatever its own constructor takes."""
        return _again, (type(self), self.args, vars(self))


def _again(kind: type[KnowwhenError], args: tuple[Any, ...], attributes: dict[str, Any]) -> KnowwhenError:
    error = kind.__new__(kind, *args)
    vars(error).update(attributes)
    return error


class BadInput(KnowwhenError):
    """A file or value that cannot be read as facts."""

    status = 422


class BadDate(BadInput):
    """A text that is not a date."""


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
    """An unknown `name`, with `suggestions` of similar names."""

    status = 404

    def __init__(self, message: str, suggestions: Sequence[str] = (), *, name: str = "") -> None:
        super().__init__(message)
        self.name, self.suggestions = name, tuple(suggestions)

    def details(self) -> dict[str, Any]:
        return {"name": self.name, "suggestions": list(self.suggestions)}


class UnknownName(NotFound):
    """An unknown `name` of a `kind` (entity or predicate), with `suggestions` of similar names."""

    def __init__(self, message: str, suggestions: Sequence[str] = (), *, kind: str = "", name: str = "") -> None:
        super().__init__(message, suggestions, name=name)
        self.kind = kind

    def details(self) -> dict[str, Any]:
        return {"kind": self.kind, **super().details()}


class UnknownDataset(NotFound):
    """An unknown dataset, folder or file."""


class UnknownModel(NotFound):
    """An unknown model, or one whose code may not be run."""


class TimeOutside(NotFound):
    """A date before the first one in the data; `name` is that date."""


class BadRequest(KnowwhenError):
    """A request that contradicts itself or the data."""

    status = 400


class RunError(KnowwhenError):
    """A run folder that cannot be used this way."""

    status = 409


class DamagedFile(RunError):
    """A file of a run that cannot be read back."""


class DiskError(RunError):
    """The disk is full, or the folder is not writable."""

    status = 507


class Diverged(KnowwhenError):
    """A loss that is not a number."""


class Interrupted(KnowwhenError):
    """A run stopped by the user, after saving its state."""


class NonFiniteScores(KnowwhenError):
    """A model whose scores are not numbers, because training diverged."""

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
    """A worker process that was killed."""


class LostOthers(WorkerDied):
    """One of several processes that lost contact with the others."""


class DownloadFailed(KnowwhenError):
    """A network, server or checksum error."""

    status = 502


def closest(name: str, names: Iterable[str]) -> list[str]:
    """The name that was probably meant, if one is close."""
    lowered = {n.casefold(): n for n in names}
    return [lowered[found] for found in get_close_matches(name.casefold(), lowered, n=1)]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """'; did you mean 'x'?' for the closest of the names, or nothing when none is close."""
    return "".join(f"; did you mean {found!r}?" for found in closest(name, names))
