"""Results as frames of other libraries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import polars as pl

from knowwhen.errors import BadRequest


class Tabular(ABC):
    """A result that is a table: `to_polars` makes it, the others turn it into what someone else works with."""

    @abstractmethod
    def to_polars(self) -> pl.DataFrame:
        """One row for each part of the result."""

    def to_pandas(self) -> Any:
        """The table of `to_polars` as a pandas frame."""
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError as error:
            raise BadRequest("to_pandas needs pandas: pip install pandas; to_polars works without it") from error
        return pandas.DataFrame(self.to_polars().to_dict(as_series=False))
