"""Results as sequences of what was found, and as frames of other libraries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

import polars as pl

from knowwhen.errors import BadRequest

Item = TypeVar("Item")


class Tabular(ABC):
    """A result that can be converted to a table: a polars or pandas frame, or dictionaries."""

    @abstractmethod
    def to_polars(self) -> pl.DataFrame:
        """One row per part of the result."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dictionary per row of the table."""
        return self.to_polars().to_dicts()

    def to_pandas(self) -> Any:
        """The table of `to_polars` as a pandas frame."""
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError as error:
            raise BadRequest("to_pandas needs pandas: pip install pandas; to_polars works without it") from error
        return pandas.DataFrame(self.to_polars().to_dict(as_series=False))


class Listed(Sequence[Item]):
    """A result that is a sequence, the best first."""

    @abstractmethod
    def listed(self) -> Sequence[Item]:
        """The items of the sequence."""

    def __len__(self) -> int:
        return len(self.listed())

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        return self.listed()[index]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.listed())
