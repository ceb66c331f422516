"""Starting several processes on this machine, by torch's own launcher; several machines start torchrun themselves."""

from __future__ import annotations

import logging
import os
import signal
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from knowwhen.distributed.started import GO_ON, LAUNCHED, LOST, cores
from knowwhen.errors import WorkerDied

SAVING = 3600  # seconds that processes get to save and end after Ctrl-C


def start(workers: int, arguments: Sequence[str], restarts: int, say: Callable[[str], None]) -> int:
    """The exit code of `knowwhen` with these arguments in several processes.

    Where something kills one, all are started again, `restarts` times at most, and go on from the last checkpoint.
    """
    os.environ[LAUNCHED] = "1"
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores() // workers)))
    logging.disable(logging.CRITICAL)  # what the launcher has to say, we say
    before = signal.signal(signal.SIGINT, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    try:
        for left in reversed(range(restarts + 1)):
            try:
                elastic_launch(_config(workers), sys.executable)("-m", "knowwhen", *arguments)
                return 0
            except SignalException:  # they were told, and the first has said what it saved
                return 130
            except ChildFailedError as error:
                codes = {rank: failure.exitcode for rank, failure in error.failures.items()}
                spoken = [code for code in codes.values() if code > 0 and code != LOST]
                if spoken:
                    return int(spoken[0])
                say_or_raise(_reason(codes, workers), left, say)
                os.environ[GO_ON] = "1"
        raise AssertionError("the last failure is raised")
    finally:
        signal.signal(signal.SIGINT, before)
        logging.disable(logging.NOTSET)


def say_or_raise(reason: str, left: int, say: Callable[[str], None]) -> None:
    if not left:
        raise WorkerDied(f"{reason}; earlier checkpoints are intact, continue with --resume")
    say(f"{reason}; restarting all processes from the last checkpoint")


def _reason(codes: dict[int, int], workers: int) -> str:
    killed = {rank: -code for rank, code in codes.items() if code < 0 and -code != signal.SIGTERM}
    if not killed:
        rank = min(codes)
        return f"process {rank} of {workers} lost contact with the others"
    rank, number = min(killed.items())
    return f"process {rank} of {workers} was killed ({signal.Signals(number).name})"


def _config(workers: int) -> LaunchConfig:
    wanted: dict[str, Any] = {
        "min_nodes": 1,
        "max_nodes": 1,
        "nproc_per_node": workers,
        "run_id": uuid.uuid4().hex,
        "rdzv_backend": "c10d",
        "rdzv_endpoint": "localhost:0",
        "local_addr": "localhost",
        "max_restarts": 0,  # it would start again after any error, also the user's
        "signals_to_handle": "SIGTERM,SIGHUP",
        "shutdown_timeout": SAVING,
    }
    known = {field.name for field in fields(LaunchConfig)}
    return LaunchConfig(**{name: value for name, value in wanted.items() if name in known})
