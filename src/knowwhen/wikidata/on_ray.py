"""The parts of an extraction as tasks of a Ray cluster, each tried again where its machine is lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from knowwhen.cluster import connected
from knowwhen.errors import BadRequest, KnowwhenError, WorkerDied
from knowwhen.wikidata.extraction import extract
from knowwhen.wikidata.parts import AGAIN, Part
from knowwhen.wikidata.settings import ExtractionSettings
from knowwhen.wikidata.stream import Dump

RETRIES = 3


def extract_on_ray(
    source: str | Path, folder: Path, settings: ExtractionSettings, address: str | None, say: Callable[[str], None]
) -> list[Part]:
    """The folders of all parts, one for each core of the cluster; what is finished in them is not done again.

    All machines must see the dump and the folder.
    """
    if str(source) == "-":
        raise BadRequest("--engine ray cannot read standard input; name a file that all machines can read")
    source, folder = Path(source).resolve(), folder.resolve()
    Dump(source, 1).close()  # an error before a cluster is asked
    with connected(address) as ray:
        count = _count(source, folder, settings, int(ray.cluster_resources().get("CPU", 1)))
        work = ray.remote(num_cpus=1, max_retries=RETRIES)(_extract_part)
        shares = [settings.model_copy(update={"part": i + 1, "parts": count}) for i in range(count)]
        folders = [folder / f"{share.part:05}-of-{count:05}" for share in shares]
        say(f"{count} parts on a Ray cluster of {len(ray.nodes())} nodes")
        left = [work.remote(source, to, share) for to, share in zip(folders, shares, strict=True)]
        while left:
            done, left = ray.wait(left)
            _check(ray, done[0])
            say(f"{count - len(left)} of {count} parts extracted")
    return [Part(to) for to in folders]


def _extract_part(source: Path, folder: Path, settings: ExtractionSettings) -> str:
    """A task: what it says is an error of ours, if there is one."""
    try:
        extract(source, folder, settings, lambda done, total: None, workers=1)
    except KnowwhenError as error:
        return str(error)
    return ""


def _check(ray: object, task: object) -> None:
    try:
        problem = ray.get(task)  # type: ignore[attr-defined]
    except Exception as error:  # Ray's own: a machine that was lost too often, or an error we did not foresee
        reason = (str(error).splitlines() or [""])[0]
        raise WorkerDied(f"a part of the extraction failed {RETRIES + 1} times: {reason}; {AGAIN}") from error
    if problem:
        raise BadRequest(problem)


def _count(source: Path, folder: Path, settings: ExtractionSettings, cores: int) -> int:
    """As many parts as were begun with, or as there are cores, if there are as many windows."""
    for begun in folder.glob("*-of-*"):
        return int(begun.name.rpartition("-")[2])
    return max(1, min(cores, math.ceil(source.stat().st_size / (settings.window_megabytes << 20))))
