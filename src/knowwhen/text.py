"""Text for people: tables of aligned columns."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of aligned columns, names to the left and numbers to the right."""
    columns = max(len(row) for row in rows)
    # A row of one cell is a heading: it may be as wide as the table.
    widths = [max((len(row[i]) for row in rows if 1 < len(row) > i), default=0) for i in range(columns)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
