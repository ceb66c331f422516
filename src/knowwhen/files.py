"""The one way to write: files and folders that appear under their name once all of them is on disk, or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from knowwhen.errors import BadRequest, DiskError

INTACT = "what was saved before is intact (--resume)"


@contextmanager
def writing(path: Path, remedy: str = INTACT) -> Iterator[None]:
    """Turns what the disk says into one line, which ends with what to do."""
    try:
        yield
    except OSError as error:
        raise DiskError(f"cannot write to {path}: {error.strerror or error}; {remedy}") from error


def write_whole(path: Path, data: bytes | memoryview, keep: Path | None = None) -> None:
    """Writes a file that is there whole or not at all, also after a power cut; `keep` takes the old one."""
    part = part_of(path)
    try:
        part.write_bytes(data)
        put_in_place(part, path, keep)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def part_of(path: Path) -> Path:
    """Where a file grows until it is whole."""
    return path.with_name(path.name + ".part")


def put_in_place(part: Path, path: Path, keep: Path | None = None) -> None:
    """Gives a file that is whole its name; `keep` takes the one that had it."""
    _flush(part)
    if keep is not None and path.exists():
        path.replace(keep)
    part.replace(path)
    _flush(path.parent)


def check_new(folder: Path) -> None:
    """An error unless a folder is yet to be made, or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadRequest(f"{folder} exists and is not an empty folder; choose another")


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """An empty folder aside, which takes its name when the body is through; if the body fails, nothing is left."""
    check_new(path)
    aside = path.with_name(f".{path.name}.part")
    aside.mkdir(parents=True, exist_ok=True)
    with _only_writer(aside, path):
        try:
            _clear(aside)  # what a killed process left
            yield aside
            for entry in (*aside.rglob("*"), aside):
                _flush(entry)
            aside.replace(path)  # also in place of an empty folder
            _flush(path.parent)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise


@contextmanager
def _only_writer(aside: Path, path: Path) -> Iterator[None]:
    """Holds a lock on a folder, which goes with the process."""
    lock = os.open(aside, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadRequest(f"another process is writing {path}; wait for it or choose another folder") from None
        yield
    finally:
        os.close(lock)


def _clear(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _flush(path: Path) -> None:
    """Has the system write a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
