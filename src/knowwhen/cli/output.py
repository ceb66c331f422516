"""Printing for people and for programs: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

errors = Console(stderr=True, highlight=False)


def show(values: Mapping[str, object], as_json: bool) -> None:
    """Names and values, one a line; numbers with thousands separators."""
    if as_json:
        print(json.dumps(values, ensure_ascii=False))
        return
    width = max(len(name) for name in values)
    for name, value in values.items():
        text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
        print(f"{name.replace('_', ' '):{width}}  {text}")


def download_progress() -> Progress:
    """A bar per file with bytes and time left, on stderr."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=errors
    )
