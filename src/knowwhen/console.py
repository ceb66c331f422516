"""Whoever watches: notices and progress on stderr, which is never data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from knowwhen.errors import BadRequest
from knowwhen.text import visible_lines

Progress = Callable[[int, int], None]
"""Called with the number done and the total."""

errors = Console(stderr=True, highlight=False, markup=False, emoji=False)  # --quiet sets its `quiet`


def say(text: str) -> None:
    """A notice on stderr, whatever names are in it."""
    errors.print(visible_lines(text), soft_wrap=True)


def shows_bars() -> bool:
    """Whether a bar that moves has somewhere to be drawn: a terminal or a notebook, and nobody asked for quiet."""
    return (errors.is_terminal or errors.is_jupyter) and not errors.quiet


def count_bars(shown: bool = True) -> Bars:
    """A bar with what is done, what there is and time left; gone when done."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Bars(*columns, console=errors, transient=True, disable=not (shown and shows_bars()))


@contextmanager
def counted(progress: bool | Progress | None, what: str) -> Iterator[Progress | None]:
    """Who is told how far some work is: a bar on stderr (True), the function that was given, or nobody."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with count_bars() as bars:
            task = bars.add_task(what, total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)
    elif callable(progress):
        yield progress
    else:
        raise BadRequest(f"progress is {progress!r}; expected True, False or a function that takes done and total")
