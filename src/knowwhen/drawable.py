"""Values that draw themselves: figures are made in a layer above, which registers one function for each kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from knowwhen.errors import BadRequest

FIGURES: dict[type, Callable[[Any, str | Path | None], Any]] = {}
"""The function that draws a kind of value, and writes it to a file; `knowwhen.plotting` fills it."""


class Drawable:
    """Gives `.plot()` to a value."""

    def plot(self, out: str | Path | None = None) -> Any:
        """Draw this value as a matplotlib figure; `out` also writes it to a .svg, .png or .pdf file."""
        return draw(self, out)


def draw(value: Any, out: str | Path | None = None) -> Any:
    """The figure of a value; with `out` also written to that file."""
    make = next((FIGURES[kind] for kind in type(value).__mro__ if kind in FIGURES), None)
    if make is None:
        raise BadRequest(f"cannot draw a {type(value).__name__}; expected answers, a timeline or a calibration report")
    return make(value, out)
