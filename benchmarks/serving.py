"""Questions over HTTP beside the same questions in one process, under wrk on loopback.

    python -m benchmarks.serving                          leaders, ICEWS14 and 432,715 entities, 1, 8 and 64 connections
    python -m benchmarks.serving --case leaders --seconds 5
    python -m benchmarks.serving --soak 100000            as many requests, and the memory before and after
    python -m benchmarks.serving --malformed 10000        requests that are none, and whether it still serves
    python -m benchmarks.serving --names 500000           the completion of names, in process

Prints one JSON object a line. `share` is requests a second over the questions a second of `ask_batch` in a process, in
batches of as many, measured just before; `of_empty_route` is over those of a FastAPI route that does nothing. Models
have random rows: time does not depend on what they learned. wrk is a package of Debian's, and shares the cores.
`share_of_processor` compares the processor time of one question in both, which a busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import torch
from fastapi import FastAPI
from starlette.types import ASGIApp

from benchmarks.query import random_world, seconds
from knowwhen.facts.catalog import load
from knowwhen.facts.dataset import Dataset
from knowwhen.facts.index.names import Lookup
from knowwhen.models import Background, Sizes, Specification, build
from knowwhen.serve.app import create_app
from knowwhen.serve.server import address, bind, serve_on
from knowwhen.serve.service import Service
from knowwhen.serve.settings import ServeSettings
from knowwhen.trained import TrainedModel
from knowwhen.training.config import read_config

CASES = ("leaders", "icews14", "432715")
ICEWS14 = Path(__file__).parents[2] / "shared" / "data" / "icews14"
QUESTIONS = 2000  # different ones, asked in turn
SCRIPT = """
local at = 0
local paths = {}
for line in io.lines("%s") do paths[#paths + 1] = line end
request = function()
  at = at %% #paths + 1
  return wrk.format("GET", paths[at])
end
"""


def trained(case: str) -> TrainedModel:
    """A model with random rows, of the size of a dataset."""
    if case == "432715":
        model, dataset = random_world(Sizes(432_715, 407, 1726), 100, 300_000)
    else:
        dataset = load(case if case == "leaders" else ICEWS14)
        sizes = Sizes(len(dataset.entities), len(dataset.predicates), len(dataset.timeline))
        rank = 100 if case == "leaders" else 156
        model = build(Specification("tntcomplex", sizes, {"rank": rank})).initialise(torch.Generator().manual_seed(0))
    model.recall(Background.of(dataset)).eval()
    return TrainedModel(model, dataset, read_config(None, {"model.name": "tntcomplex"}))


def questions(dataset: Dataset, count: int = QUESTIONS) -> list[tuple[str, str, str, str]]:
    """Objects of facts that are there, each at a time of its own."""
    rng, labels = np.random.default_rng(1), dataset.timeline.labels()
    facts = dataset.named(dataset.train[rng.integers(0, len(dataset.train), count)])
    times = rng.integers(0, len(labels), count)
    return [(s, p, "?", labels[t]) for s, p, t in zip(facts["subject"], facts["predicate"], times, strict=True)]


def in_process(
    model: TrainedModel, asked: list[tuple[str, str, str, str]], batch: int, repeat: int
) -> tuple[float, float]:
    """Questions a second of `ask_batch`, from names to answers, and its processor time for one; without JSON."""
    parts = [asked[i * batch % (len(asked) - batch) :][:batch] for i in range(repeat)]
    model.ask(parts[0])
    began = time.process_time()
    taken = [seconds(lambda part=part: model.ask(part)) for part in parts]
    return batch / statistics.median(taken), (time.process_time() - began) / (batch * repeat)


def processor_seconds(pid: int) -> float:
    """What a process used of the processors so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def server(*arguments: str) -> Iterator[tuple[str, int]]:
    """A server in a process of its own: where it is, and its process id."""
    command = [sys.executable, "-m", "benchmarks.serving", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    try:
        while True:
            try:
                urllib.request.urlopen(url + "readyz", timeout=60)
                break
            except OSError:
                time.sleep(0.2)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait(30)


def wrk(url: str, paths: list[str], connections: int, duration: float) -> dict[str, float]:
    """Requests a second and latencies in milliseconds; an answer that is none of ours ends it."""
    with tempfile.TemporaryDirectory() as aside:
        listed, script = Path(aside) / "paths", Path(aside) / "ask.lua"
        listed.write_text("\n".join(paths))
        script.write_text(SCRIPT % listed)
        command = [
            "wrk",
            "-t1",
            f"-c{connections}",
            f"-d{duration:g}s",
            "--latency",
            "--timeout",
            "60s",
            "-s",
            str(script),
        ]
        text = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(text)
    rate = float(re.findall(r"Requests/sec:\s+([\d.]+)", text)[0])
    at = {share: _milliseconds(value) for share, value in re.findall(r"(\d\d)%\s+([\d.]+\w+)", text)}
    return {"per_second": round(rate, 1), "p50_ms": at["50"], "p99_ms": at["99"]}


def _milliseconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()  # type: ignore[union-attr]
    return round(float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}[unit], 3)


def paths_of(asked: list[tuple[str, str, str, str]]) -> list[str]:
    return ["/api/ask?" + urlencode({"subject": s, "predicate": p, "time": t}) for s, p, _, t in asked]


def measure(case: str, connections: list[int], duration: float) -> Iterator[dict[str, object]]:
    model = trained(case)
    asked = questions(model.dataset)
    repeat = 5 if case == "432715" else 40
    alone = {batch: in_process(model, asked, batch, repeat) for batch in connections}
    entities = len(model.dataset.entities)
    del model  # the server has one of its own
    with server("--empty") as (url, _):
        empty = {count: wrk(url, ["/"], count, min(duration, 3))["per_second"] for count in connections}
    with server("--serve", case) as (url, pid):
        wrk(url, paths_of(asked), 8, 1)
        for count in connections:
            before = processor_seconds(pid)
            found = wrk(url, paths_of(asked), count, duration)
            used = (processor_seconds(pid) - before) / (found["per_second"] * duration)
            yield {
                "case": case,
                "entities": entities,
                "connections": count,
                **found,
                "in_process_per_second": round(alone[count][0], 1),
                "share": round(found["per_second"] / alone[count][0], 3),
                "processor_us": round(1e6 * used),
                "in_process_processor_us": round(1e6 * alone[count][1]),
                "share_of_processor": round(alone[count][1] / used, 3),
                "of_empty_route": round(found["per_second"] / empty[count], 3),
                "threads": torch.get_num_threads(),
            }


def resident(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def soak(requests: int) -> dict[str, object]:
    """Many requests, of which a tenth asks for other things; the memory in between."""
    model = trained("leaders")
    names = model.dataset.entities.keys.to_list()[:500]
    other = ["/api/entity/" + urllib.request.quote(name, safe="") for name in names[:200]]
    other += ["/api/names?" + urlencode({"q": name[:4]}) for name in names[200:400]]
    other += ["/api/ask?" + urlencode({"subject": name, "predicate": "member of"}) for name in names[400:420]]
    paths = paths_of(questions(model.dataset, 4000)) + other
    held, done = [], 0
    with server("--serve", "leaders") as (url, pid):
        while done < requests:
            found = wrk(url, paths, 32, 10)
            done += int(found["per_second"] * 10)
            held.append(resident(pid))
    return {"requests": done, "resident_mb": [round(kb / 1024, 1) for kb in held]}


def malformed(count: int) -> dict[str, object]:
    """Requests that are none; how many gave which status, and whether it serves afterwards."""
    from tests.serve.malformed import send_malformed

    with server("--serve", "leaders") as (url, _):
        host, port = url.removeprefix("http://").rstrip("/").split(":")
        statuses = send_malformed(host, int(port), count)
        with urllib.request.urlopen(url + "healthz", timeout=10) as found:
            alive = found.status == 200
    return {"malformed": count, "statuses": sorted(statuses), "serving": alive}


def completion(count: int) -> dict[str, object]:
    """Milliseconds to complete what is typed, over names of two to four words; nearly right ones are typed wrong."""
    rng = np.random.default_rng(0)
    syllables = [
        "ba",
        "ra",
        "ck",
        "o",
        "ma",
        "fran",
        "cis",
        "mit",
        "ter",
        "and",
        "lu",
        "sti",
        "són",
        "ville",
        "de",
        "ka",
    ]
    chosen = rng.integers(0, len(syllables), (40_000, 3))
    words = np.array(["".join(syllables[i] for i in row).capitalize() for row in chosen])
    names = [
        " ".join(row[: 2 + i % 3]) for i, row in enumerate(words[rng.integers(0, len(words), (count, 4))].tolist())
    ]
    lookup, weights = Lookup(names), rng.zipf(1.6, count)
    built = seconds(lambda: lookup.complete("warm", weights))
    asked = [names[i] for i in rng.integers(0, count, 50)]
    typed = {
        "first_letter": [name[:1] for name in asked],
        "four_letters": [name[:4] for name in asked],
        "last_word": [name.split()[-1] for name in asked],
        "typo": [name[:3] + "x" + name[4:] for name in asked],
    }
    taken = {
        f"{kind}_ms": round(1e3 * statistics.median(seconds(lambda t=t: lookup.complete(t, weights)) for t in texts), 2)
        for kind, texts in typed.items()
    }
    return {"names": count, "built_s": round(built, 1), **taken}


def serve(app: ASGIApp) -> None:
    listening: socket.socket = bind("127.0.0.1", 0)
    print(address(listening), flush=True)
    serve_on(app, listening, ServeSettings())


def empty_app() -> FastAPI:
    app = FastAPI()

    @app.get("/")
    @app.get("/readyz")
    async def nothing() -> dict[str, str]:
        return {}

    return app


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--connections", type=int, action="append")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--soak", type=int)
    parser.add_argument("--malformed", type=int)
    parser.add_argument("--names", type=int)
    parser.add_argument("--serve", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--empty", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.empty:
        serve(empty_app())
    elif options.serve:
        serve(create_app(Service({options.serve: trained(options.serve)})))
    elif options.soak:
        print(json.dumps(soak(options.soak)))
    elif options.names:
        print(json.dumps(completion(options.names)))
    elif options.malformed:
        print(json.dumps(malformed(options.malformed)))
    else:
        for case in options.case or CASES:
            for row in measure(case, options.connections or [1, 8, 64], options.seconds):
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
