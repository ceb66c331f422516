"""A file layer that counts what is done to files, and at the n-th operation fails or ends the process."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHANGING = ("open", "write", "fsync", "replace", "rename", "unlink", "rmdir", "mkdir", "ftruncate")
FILLING = ("open", "write", "fsync", "mkdir")  # what a full disk refuses


class Layer:
    """In place of `os.write` and its kin. Modes from the operation `at` on:

    kill    the process is killed; a write is cut in half first
    power   the same, and what was not flushed to disk is lost
    full    nothing more fits on the disk
    frozen  the disk is read-only
    count   nothing happens
    """

    def __init__(self, at: int = 0, mode: str = "count") -> None:
        self.at, self.mode, self.count = at, mode, 0
        self._originals: dict[str, Callable[..., Any]] = {}
        self._unflushed: dict[int, Path] = {}  # files by handle

    def install(self) -> None:
        for name in CHANGING:
            self._originals[name] = getattr(os, name)
            setattr(os, name, self._wrapped(name, self._originals[name]))

    def remove(self) -> None:
        for name, original in self._originals.items():
            setattr(os, name, original)

    def _wrapped(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if name == "open" and not arguments[1] & (os.O_WRONLY | os.O_RDWR):
                return original(*arguments, **options)
            self.count += 1
            if self.mode != "count" and self.count >= self.at:
                self._strike(name, original, arguments)
            result = original(*arguments, **options)
            self._watch(name, arguments, result)
            return result

        return call

    def _strike(self, name: str, original: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        if self.mode == "frozen":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        if self.mode == "full":
            if name in FILLING:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return
        if name == "write":
            original(arguments[0], arguments[1][: len(arguments[1]) // 2])
        if self.mode == "power":
            for path in self._unflushed.values():
                if path.is_file():
                    os.truncate(path, path.stat().st_size // 2)
        os.kill(os.getpid(), signal.SIGKILL)

    def _watch(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        if name == "open":
            self._unflushed.pop(result, None)
        elif name == "write":
            self._unflushed[arguments[0]] = Path(f"/proc/self/fd/{arguments[0]}").readlink()
        elif name == "fsync":
            path = Path(f"/proc/self/fd/{arguments[0]}").readlink()
            self._unflushed = {handle: other for handle, other in self._unflushed.items() if other != path}
