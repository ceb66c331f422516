"""Lists of classes by Q number: what is dropped by default, and what a user names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from knowwhen.errors import BadRequest

_LINE = re.compile(r"Q([1-9]\d{0,15})(?:\s+(.*))?")


def dropped_by_default() -> dict[int, str]:
    """The classes of `dropped_classes.txt`, number and name."""
    text = files("knowwhen.wikidata").joinpath("dropped_classes.txt").read_text(encoding="utf-8")
    return _read_list(text, "dropped_classes.txt")


def read_classes(names: Sequence[str], option: str) -> dict[int, str]:
    """The classes of `Q523`, `Q523,Q318` or of files with one a line; the names of those that have none are empty."""
    classes: dict[int, str] = {}
    for name in (part for text in names for part in text.split(",")):
        match = _LINE.fullmatch(name.strip())
        if match:
            classes[int(match[1])] = match[2] or ""
        elif Path(name).is_file():
            classes |= _read_list(_read_text(Path(name)), name)
        else:
            raise BadRequest(
                f"{option} is {name!r}; expected a Q number such as Q13442814, or a file with one per line"
            )
    return classes


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"cannot read {path}: {error}; expected one Q number per line") from error


def _read_list(text: str, name: str) -> dict[int, str]:
    classes = {}
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        match = _LINE.fullmatch(content)
        if match:
            classes[int(match[1])] = match[2] or ""
        elif content:
            raise BadRequest(f"{name}:{number}: {content!r} is not a Q number; expected one, and optionally a name")
    return classes
