"""Commands on several processes: `--workers N`, or whatever torchrun starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import typer

from knowwhen.console import say
from knowwhen.distributed.started import world_size
from knowwhen.errors import BadRequest

Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Split the entities over this many processes; torchrun works too."),
]
EngineOption = Annotated[str, typer.Option("--engine", help="processes (on this machine) or ray.")]
Address = Annotated[
    str | None,
    typer.Option("--address", help="Address of the Ray cluster; by default RAY_ADDRESS, or a new local cluster."),
]


def parse_engine(engine: str, address: str | None) -> Literal["processes", "ray"]:
    if engine == "ray":
        return "ray"
    if engine != "processes":
        raise BadRequest(f"--engine is {engine!r}; expected processes or ray")
    if address is not None:
        raise BadRequest("--address needs --engine ray")
    return "processes"


@contextmanager
def together(workers: int | None, restarts: int = 0) -> Iterator[bool]:
    """Inside, this process is one of several, or the only one; gives whether it prints.

    With --workers it starts the others and never gets inside.
    """
    started = world_size()
    if started > 1 and workers not in (None, started):
        raise BadRequest(f"--workers is {workers}, but torchrun started {started} processes; leave --workers out")
    if started == 1 and workers is not None and workers > 1:
        from knowwhen.distributed.launching import start

        raise typer.Exit(start(workers, sys.argv[1:], restarts, say))
    if started == 1:
        yield True
        return
    from knowwhen.distributed.processes import joined
    from knowwhen.distributed.shard import is_first

    with joined():
        yield is_first()
