"""Being one of several processes: joining the others, doing things once for all, and how an error ends them all."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import NoReturn, TypeVar

import torch
import torch.distributed as dist

from knowwhen.distributed.collectives import from_first, told
from knowwhen.distributed.shard import Shard, current, is_first, splitting
from knowwhen.distributed.started import LAUNCHED, LOST, world_size
from knowwhen.errors import BadRequest, Interrupted, LostOthers

Result = TypeVar("Result")
TIMEOUT = "KNOWWHEN_TIMEOUT"  # seconds after which a process that does not answer is given up
SECONDS = 300
A_DAY = 24 * 3600
STORE_SECONDS = 5  # for a last question to the others
ERROR = "knowwhen/error"


class Spoken(Exception):
    """Another process has told of an error that ends this one too."""


def timeout() -> timedelta:
    """How long a process waits for the others."""
    seconds = os.environ.get(TIMEOUT) or SECONDS
    try:
        return timedelta(seconds=float(seconds))
    except (ValueError, OverflowError):
        raise BadRequest(f"{TIMEOUT} is {seconds!r}; expected a number of seconds") from None


@contextmanager
def joined() -> Iterator[Shard | None]:
    """Inside, this process is one of those that were started together, and models are split; None: it is alone.

    Where another process tells of the error that ends all, this one ends in silence, or, where someone else has joined
    them and would take that for a loss, in `Spoken`.
    """
    if world_size() == 1:
        yield None
        return
    is_ours = not dist.is_initialized()
    if is_ours:
        backend = "gloo"
        if torch.cuda.is_available():
            backend = "cpu:gloo,cuda:nccl"
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        told(dist.init_process_group, backend, timeout=timeout())
    shard = Shard(dist.get_rank(), dist.get_world_size())
    try:
        with splitting(shard):
            yield shard
    except Exception as error:
        if _speaks(error, shard):
            raise
        if is_ours:
            leave(LOST)
        raise Spoken from error
    if is_ours:
        with suppress(RuntimeError):
            dist.destroy_process_group()


def leave(code: int) -> NoReturn:
    """Ends this process at once: the others may be waiting for it, and it for them."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def first_then_all(first: Callable[[], Result], others: Callable[[], Result]) -> Result:
    """What the first process makes, and then the others, which find what it has written."""
    if is_first():
        try:
            found = first()
        except BaseException:
            _pass_on("failed")
            raise
        _pass_on("done")
        return found
    _wait_for_first()
    return others()


def once(act: Callable[[], object]) -> None:
    """Done by the first process, while the others wait."""
    first_then_all(act, lambda: None)


def of_first(number: int) -> int:
    """The number of the first process, for all."""
    return number if current() is None else int(from_first(torch.tensor([number])))


_turns = 0


def _pass_on(outcome: str) -> None:
    global _turns
    if current() is not None:
        _turns += 1
        told(dist.distributed_c10d._get_default_store().set, f"knowwhen/turn/{_turns}", outcome)


def _wait_for_first() -> None:
    """However long it takes: a collective would time out."""
    global _turns
    _turns += 1
    store, turn = dist.distributed_c10d._get_default_store(), f"knowwhen/turn/{_turns}"
    told(store.wait, [turn], timedelta(seconds=A_DAY))
    if told(store.get, turn) != b"done":
        raise Spoken


def _speaks(error: Exception, shard: Shard) -> bool:
    """Whether this process tells of an error: the first of all that has one. The others only lose it."""
    if isinstance(error, Spoken):
        return False
    if isinstance(error, Interrupted):  # as all are
        return shard.rank == 0
    if isinstance(error, LostOthers) and os.environ.get(LAUNCHED):
        return False
    answer: list[int] = []

    def ask() -> None:
        with suppress(RuntimeError):
            answer.append(int(dist.distributed_c10d._get_default_store().add(ERROR, 1)))

    # The store may be out of reach, and has no time-out for that: then whoever notices speaks.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(STORE_SECONDS)
    return answer in ([], [1])
