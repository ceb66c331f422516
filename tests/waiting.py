"""Waiting for what other threads and processes do: short where all goes well, and patient with a busy machine."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

PATIENCE = 240  # seconds; less than the limit of a test


def until(holds: Callable[[], object], process: subprocess.Popen | None = None) -> None:
    """Returns once something holds; an error where a process ends before, or where it takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert process is None or process.poll() is None or holds(), process.communicate()
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
