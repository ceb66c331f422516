"""SHA256SUMS: the SHA-256 of every file of a folder, written when it is whole and checked when it is opened.

The format is that of `sha256sum`, so that `sha256sum -c SHA256SUMS` checks a folder too. Of a folder inside that has
sums of its own, only these are listed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from knowwhen.errors import DamagedFile
from knowwhen.files import PART, remove, write_whole

FILE = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  ([^\0\n]{1,200})")


def seal(folder: Path, but: Collection[str] = ()) -> None:
    """Writes the sums of all files in a folder, `but` of those that change later: it is whole from now on."""
    lines = [f"{file_sum(folder / name)}  {name}\n" for name in sorted(_names(folder, folder, but))]
    write_whole(folder / FILE, "".join(lines).encode())


def unseal(folder: Path) -> None:
    """Notes that a folder is about to change."""
    remove(folder / FILE)


def verify(folder: Path, remedy: str) -> frozenset[str] | None:
    """The names of the files in a folder, all of which are as they were written; None where it has no sums.

    The remedy ends the error for a file that is another or missing.
    """
    path = folder / FILE
    if not path.exists():
        return None
    sums = _read(path, remedy)
    for name, expected in sums.items():
        if not (folder / name).exists():
            raise DamagedFile(f"{folder / name} is missing; {remedy}")
        if file_sum(folder / name) != expected:
            raise DamagedFile(f"{folder / name} is damaged: its SHA-256 does not match {FILE}; {remedy}")
    return frozenset(sums)


def file_sum(path: Path) -> str:
    """The SHA-256 of a file."""
    if not path.is_file():  # a pipe would have us wait for ever
        raise DamagedFile(f"{path} is not a regular file")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DamagedFile(f"cannot read {path}: {error.strerror or error}") from error


def _read(path: Path, remedy: str) -> dict[str, str]:
    if not path.is_file():
        raise DamagedFile(f"{path} is not a regular file; {remedy}")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DamagedFile(f"cannot read {path}: {error}; {remedy}") from error
    found = [_LINE.fullmatch(line) for line in lines]
    if not lines or not all(found):
        raise DamagedFile(f"{path} is damaged: expected a SHA-256 and a name on each line; {remedy}")
    sums = {match[2]: match[1] for match in found if match}
    outside = [name for name in sums if Path(name).is_absolute() or ".." in Path(name).parts]
    if outside or len(sums) < len(lines):
        raise DamagedFile(f"{path} is damaged: it lists {(outside or ['a name twice'])[0]!r}; {remedy}")
    return sums


def _names(folder: Path, top: Path, but: Collection[str]) -> Iterator[str]:
    for entry in folder.iterdir():
        name = entry.relative_to(top).as_posix()
        if name in but or name == FILE or entry.name.startswith(".") or entry.name.endswith(PART):
            continue
        if entry.is_dir():
            sealed = (entry / FILE).is_file()
            yield from [f"{name}/{FILE}"] if sealed else _names(entry, top, but)
        else:
            yield name
