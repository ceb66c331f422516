"""Progress of work that is counted."""

from __future__ import annotations

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from knowwhen.cli.output import errors


def count_progress(shown: bool = True) -> Progress:
    """A bar with what is done, what there is and time left, on a terminal's stderr; gone when done."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not (shown and errors.is_terminal),
    )
