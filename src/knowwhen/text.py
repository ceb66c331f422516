"""Text for people: what others wrote shown without its effects, and tables of aligned columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Terminal commands, line ends that would forge rows, changes of direction, and halves of characters.
_EFFECTS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """A name or any other text of others in one line, with escapes such as \\x1b for what a terminal would act on."""
    return _EFFECTS.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def visible_lines(text: str) -> str:
    """The same for a text of ours, which may have several lines."""
    return "\n".join(visible(line) for line in text.split("\n"))


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of aligned columns, names to the left and numbers to the right."""
    rows = [[visible(cell) for cell in row] for row in rows]
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


def brief(value: object, about: str) -> str:
    """The repr of a value in one line: '<Answers (France, has president, ?): 10>'."""
    return f"<{type(value).__name__} {visible(about)}>"


def plural(count: object, noun: str) -> str:
    """'1 row', '2,000 rows', '3 entities'."""
    assert isinstance(count, int)
    many = noun.removesuffix("y") + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"
