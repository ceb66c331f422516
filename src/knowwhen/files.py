"""The one way to write: files and folders that appear under their name once all of them is on disk, or not at all.

Everything goes through a few calls of `os`: open, write, fsync, replace, unlink, mkdir, rmdir. The tests in
`tests/faults` let each of them fail, or end the process there.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from knowwhen.errors import BadRequest, DiskError, KnowwhenError

INTACT = "earlier checkpoints are intact; continue with --resume"
UNCHANGED = "nothing was written"
BLOCK = 16 << 20  # bytes handed to the system at once
PART = ".part"
BINARY = getattr(os, "O_BINARY", 0)  # Windows would mend line ends


@contextmanager
def writing(path: Path, remedy: str = INTACT) -> Iterator[None]:
    """Turns what the disk says into one line, which ends with what to do."""
    try:
        yield
    except OSError as error:
        raise DiskError(f"cannot write to {path}: {error.strerror or error}; {remedy}") from error


def write_whole(path: Path, data: bytes | memoryview, keep: Path | None = None) -> None:
    """Writes a file that is there whole or not at all, also after a power cut; `keep` takes the old one."""
    path = path.resolve() if path.is_symlink() else path
    part = part_of(path)
    try:
        _write(part, data, os.O_TRUNC)
        put_in_place(part, path, keep)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def append_line(path: Path, line: str) -> None:
    """Adds a line to a file, in one write; a line that a kill cut short is ended first."""
    torn = path.is_file() and path.stat().st_size and not path.read_bytes().endswith(b"\n")
    _write(path, (("\n" if torn else "") + line + "\n").encode(), os.O_APPEND)


def part_of(path: Path) -> Path:
    """Where a file grows until it is whole."""
    return path.with_name(path.name + PART)


def put_in_place(part: Path, path: Path, keep: Path | None = None) -> None:
    """Gives a file that is whole its name; `keep` takes the one that had it."""
    _flush_file(part)
    if keep is not None and path.exists():
        path.replace(keep)
    part.replace(path)
    _flush_folder(path.parent)


def check_target(path: Path) -> None:
    """An error before the work, where a file cannot be written after it."""
    if path.is_dir():
        raise BadRequest(f"{path} is a folder; expected a file to write")
    if not path.parent.is_dir():
        raise BadRequest(f"cannot write {path}: the folder {path.parent} does not exist")
    with writing(path, "choose another place"):
        part = part_of(path)
        _write(part, b"", os.O_TRUNC)
        part.unlink()


def check_new(folder: Path) -> None:
    """An error unless a folder is yet to be made, or empty; what killed processes left beside it is swept up."""
    sweep_folders(folder.parent)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadRequest(f"{folder} exists and is not an empty folder; choose another name")


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """An empty folder aside, which takes its name when the body is through; if the body fails, nothing is left."""
    check_new(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}{PART}")
    busy = BadRequest(f"another process is writing {path}; wait for it or choose another folder")
    with locked(_lock_of(aside), busy, passing=True):
        check_new(path)
        try:
            remove(aside)
            aside.mkdir()
            yield aside
            _flush_all(aside)
            if path.exists():
                path.rmdir()  # it is empty
            aside.replace(path)
            _flush_folder(path.parent)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise


def sweep_folders(parent: Path) -> None:
    """Removes what killed processes left of the folders they were writing; the locks tell which are still at it."""
    for lock in parent.glob(f".*{PART}.lock"):
        busy = BadRequest("another process is writing it")
        with suppress(BadRequest, OSError), locked(lock, busy, passing=True):
            remove(lock.with_suffix(""))


def sweep_parts(folder: Path) -> None:
    """Removes files that a killed process had not finished; the caller has the folder to itself."""
    for part in folder.glob(f"*{PART}"):
        remove(part)


def remove(path: Path) -> None:
    """Removes a file or a folder with all there is in it, or nothing where there is none."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, busy: KnowwhenError, passing: bool = False) -> Iterator[None]:
    """Holds the lock of a file, which goes with the process; `busy` is raised where another has it.

    A `passing` lock is a file that is removed afterwards.
    """
    handle = _acquire(path, busy)
    try:
        yield
    finally:
        if passing and sys.platform != "win32":  # before it is released: whoever waits sees that it is gone
            _forget(path)
        os.close(handle)
        if passing and sys.platform == "win32":  # which removes no file that is open
            _forget(path)


@contextmanager
def in_turn(path: Path) -> Iterator[None]:
    """Holds the lock of a file after whoever has it; for work that takes a moment."""
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(locked(path, _Taken(), passing=True))
                break
            except _Taken:
                time.sleep(0.02)
        yield


class _Taken(KnowwhenError):
    pass


def _acquire(path: Path, busy: KnowwhenError) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not _try_lock(handle):
            os.close(handle)
            raise busy
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)  # the one before us has removed it meanwhile


def _forget(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def _lock_of(aside: Path) -> Path:
    return aside.with_name(aside.name + ".lock")


def _write(path: Path, data: bytes | memoryview, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | mode | BINARY, 0o666)
    try:
        left = memoryview(data)
        while len(left):
            left = left[os.write(handle, left[:BLOCK]) :]
    finally:
        os.close(handle)


def _flush_all(folder: Path) -> None:
    for entry in folder.rglob("*"):
        if entry.is_dir():
            _flush_folder(entry)
        else:
            _flush_file(entry)
    _flush_folder(folder)


def _flush_file(path: Path) -> None:
    handle = os.open(path, os.O_RDWR | BINARY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_folder(path: Path) -> None:
    """Has the system write the names in a folder to disk; Windows does so by itself, and cannot be asked."""
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
