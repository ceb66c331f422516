"""How this process was started, as torchrun and our own launcher tell it in variables; nothing here needs torch."""

from __future__ import annotations

import os

LAUNCHED = "KNOWWHEN_LAUNCHED"  # set for processes of `--workers`, whose parent tells who was killed
GO_ON = "KNOWWHEN_GO_ON"  # set for processes that take the place of others that were killed
LOST = 75  # the exit code of a process that has lost the others, and has nothing to say


def world_size() -> int:
    """How many processes were started together; 1 where this one is alone."""
    return int(os.environ.get("WORLD_SIZE") or 1) if "RANK" in os.environ else 1


def local_size() -> int:
    """How many of them are on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE") or 1) if world_size() > 1 else 1


def named() -> str:
    """'process 1 of 4: ', or nothing where there is one."""
    return f"process {os.environ['RANK']} of {world_size()}: " if world_size() > 1 else ""


def goes_on() -> bool:
    """Whether a launcher has started this process in place of one that was killed: then the run is resumed."""
    return bool(os.environ.get(GO_ON)) or int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0) > 0


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
