"""Processes that a Ray cluster places, by Ray Train: it starts them again, all together, where one is lost."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch.distributed as dist

from knowwhen.cluster import connected
from knowwhen.distributed.processes import Spoken, joined, timeout
from knowwhen.errors import BadRequest, KnowwhenError, LostOthers, WorkerDied

Act = Callable[..., Mapping[str, Any]]


@dataclass(frozen=True)
class Work:
    """What each process does, and how it tells of errors: Ray would take any of them for a lost machine."""

    act: Act
    arguments: Mapping[str, Any]

    def __call__(self) -> dict[str, Any]:
        try:
            with joined():
                return {"value": dict(self.act(**self.arguments))}
        except LostOthers:
            raise  # a process was lost: all start again
        except Spoken:
            return {}
        except KnowwhenError as error:
            return {"error": str(error)}
        finally:
            with suppress(RuntimeError, AssertionError, ValueError):
                dist.destroy_process_group()  # so that the others notice


def run_on_ray(act: Act, workers: int, restarts: int, address: str | None, **arguments: Any) -> dict[str, Any]:
    """What `act(**arguments)` gives in the first of several processes on a Ray cluster.

    A lost process ends all, and all start again, `restarts` times at most; `act` must go on where it was.
    """
    with connected(address) as ray, tempfile.TemporaryDirectory(prefix="knowwhen-ray-") as aside:
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchConfig, TorchTrainer

        there = int(ray.cluster_resources().get("CPU", 0))
        if workers > there:
            raise BadRequest(f"--workers is {workers}, but the Ray cluster has only {there} CPUs")
        notes = Notes(ray)
        trainer = TorchTrainer(
            _loop,
            train_loop_config={"work": Work(act, arguments), "notes": notes.actor},
            torch_config=TorchConfig(backend="gloo", timeout_s=round(timeout().total_seconds())),
            scaling_config=ScalingConfig(num_workers=workers, resources_per_worker={"CPU": 1}),
            run_config=RunConfig(storage_path=aside, failure_config=FailureConfig(max_failures=restarts)),
        )
        try:
            trainer.fit()
        except Exception as error:  # Ray's own
            reason = (str(error).splitlines() or [""])[0]
            raise WorkerDied(f"Ray gave up after {restarts} restarts: {reason}; continue with --resume") from error
        return notes.result()


def _loop(config: dict[str, Any]) -> None:
    """The life of a process: Ray Train has joined it to the others."""
    import ray

    found = config["work"]()
    if found:
        ray.get(config["notes"].note.remote(int(os.environ.get("RANK") or 0), found))


class Notes:
    """What processes leave for the one who started them."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self.actor = ray.remote(num_cpus=0)(_Kept).remote()

    def result(self) -> dict[str, Any]:
        kept: dict[int, dict[str, Any]] = self._ray.get(self.actor.all.remote())
        for rank, found in sorted(kept.items()):
            if "error" in found:
                raise BadRequest(f"process {rank}: {found['error']}")
        return dict(kept[0]["value"])


class _Kept:
    def __init__(self) -> None:
        self.found: dict[int, dict[str, Any]] = {}

    def note(self, rank: int, found: dict[str, Any]) -> None:
        self.found[rank] = found

    def all(self) -> dict[int, dict[str, Any]]:
        return self.found
