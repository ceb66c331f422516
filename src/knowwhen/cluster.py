"""A Ray cluster, for those who have one: it places work on machines, and starts it again where one is lost."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from knowwhen.errors import BadRequest, MissingExtra


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """The module `ray`, joined to the cluster at an address, to that of RAY_ADDRESS, or to a new one here."""
    try:
        import ray
    except ImportError:
        raise MissingExtra("--engine ray", "ray") from None
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise BadRequest(
            f"no Ray cluster at {address or 'this machine'}: {reason}; start one with: ray start --head"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()
