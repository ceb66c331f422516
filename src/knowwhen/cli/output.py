"""Printing for people and for programs: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Annotated, Protocol

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from knowwhen.console import errors, say
from knowwhen.text import visible, visible_lines

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def _hush(quiet: bool) -> bool:
    errors.quiet = quiet
    return quiet


Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", callback=_hush, help="Print no progress and no notes; errors are still printed."),
]


class Noted(Protocol):
    """What has notes for people: a dataset."""

    @property
    def notes(self) -> list[str]: ...


def complain(text: str) -> None:
    """An error on stderr that does not end the work; --quiet leaves it."""
    print(visible_lines(text), file=sys.stderr)


def say_notes(dataset: Noted) -> None:
    """What nobody should overlook about data, on stderr."""
    for note in dataset.notes:
        say(f"note: {note}")


def show(values: Mapping[str, object], as_json: bool) -> None:
    """Names and values, one a line for people or one JSON object."""
    if as_json:
        print(json.dumps(values, ensure_ascii=False))
        return
    shown = {visible(name): text for name, value in values.items() if (text := as_text(value))}
    width = max((len(name) for name in shown), default=0)
    for name, text in shown.items():
        print(f"{name.replace('_', ' '):{width}}  {text}")


def as_text(value: object) -> str:
    """A value for people: thousands apart, four places, nothing for what is not known."""
    if isinstance(value, bool) or value is None:
        return "yes" if value else ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if isinstance(value, float) else visible(str(value))


def download_progress() -> Progress:
    """A bar per file with bytes and time left, on stderr."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return Progress(*columns, console=errors, disable=errors.quiet)
