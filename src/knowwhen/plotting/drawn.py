"""The figure that all others are made on; imported where matplotlib is known to be there."""

from __future__ import annotations

from io import StringIO

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class Drawn(Figure):
    """A figure that measures its text, and that notebooks show although pyplot does not know of it."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(self)

    def _repr_svg_(self) -> str:
        text = StringIO()
        self.savefig(text, format="svg")
        return text.getvalue()
