"""Values that draw themselves, although pictures are made above: the layer that joins them says how."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar


class Drawable:
    """Gives `.plot()` to a value; `knowwhen.trained`, which joins all layers, puts `knowwhen.plot` in place."""

    plotter: ClassVar[Callable[[Any, str | Path | None], Any]]

    def plot(self, out: str | Path | None = None) -> Any:
        """The matplotlib figure of this value, also written to a file (.svg, .png, .pdf) with `out`."""
        return type(self).plotter(self, out)
