"""`python -m tests.fuzz.fuzzing --cases 50000 --seed 0`: damaged inputs of every kind, and a summary of what survived.

Cases run in forks, some hundred in each, with a limit of memory and one of time for each case.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from knowwhen.errors import KnowwhenError
from tests.fuzz.targets import TARGETS, make_seeds

AT_ONCE = 250
SECONDS = 20  # for a case
MEMORY = 8 << 30  # of address space, most of which is never used


def fuzz(cases: int, seed: int, targets: list[str], folder: Path) -> dict[str, object]:
    """How many cases were tried and survived; the first failures of each kind."""
    began = time.monotonic()
    seeds = folder / "seeds"
    _in_fork(lambda: make_seeds(seeds), folder / "seeds.log")
    assert (seeds / "begun.answers").exists(), (folder / "seeds.log").read_text()
    names = targets or list(TARGETS)
    plan = random.Random(seed).choices(names, [TARGETS[name][1] for name in names], k=cases)
    failures: list[dict[str, object]] = []
    start = 0
    while start < cases:
        stop = min(cases, start + AT_ONCE)
        start = _run(plan, range(start, stop), seed, seeds, folder, failures)
    tried, failed = Counter(plan), Counter(str(failure["target"]) for failure in failures)
    return {
        "targets": {name: f"{tried[name] - failed[name]} of {tried[name]}" for name in names},
        "tried": cases,
        "survived": cases - len(failures),
        "foreign_exceptions": sum(failure["kind"] not in ("hang", "Changed") for failure in failures),
        "hangs": sum(failure["kind"] == "hang" for failure in failures),
        "changed_answers": sum(failure["kind"] == "Changed" for failure in failures),
        "seed": seed,
        "seconds": round(time.monotonic() - began),
        "failures": failures[:30],
    }


def _run(plan: list[str], cases: range, seed: int, seeds: Path, folder: Path, failures: list[dict[str, object]]) -> int:
    """Runs cases in a fork; the number of the first that is still to be run."""
    log = folder / "log"
    log.write_text("")
    status = _in_fork(lambda: _work(plan, cases, seed, seeds, folder / "here", log), folder / "said")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    failures += [line for line in lines if "kind" in line]
    if status == 0:
        return cases.stop
    number = max((int(line["case"]) for line in lines), default=cases.start)
    kind = "hang" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM else f"died of {status}"
    failures.append(
        {"case": number, "target": plan[number], "kind": kind, "trace": (folder / "said").read_text()[-500:]}
    )
    return number + 1


def _in_fork(work: object, said: Path) -> int:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        code = 1
        try:
            work()  # type: ignore[operator]
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def _work(plan: list[str], cases: range, seed: int, seeds: Path, here: Path, log: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with log.open("a", buffering=1) as file:
        for number in cases:
            file.write(json.dumps({"case": number}) + "\n")
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
            signal.alarm(SECONDS)
            try:
                TARGETS[plan[number]][0](seeds, here, random.Random(f"{seed} {number}"))
            except KnowwhenError:
                pass
            except BaseException as error:  # panics too
                trace = "".join(traceback.format_exception(error)[-4:])[-1500:]
                found = {"case": number, "target": plan[number], "kind": type(error).__name__, "trace": trace}
                file.write(json.dumps(found) + "\n")
            signal.alarm(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", default=[], choices=list(TARGETS))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="knowwhen-fuzz-") as folder:
        found = fuzz(asked.cases, asked.seed, asked.target, Path(folder))
    for failure in found.pop("failures"):  # type: ignore[attr-defined]
        print(json.dumps(failure), file=sys.stderr)
    print(json.dumps(found, indent=1))
    return int(found["tried"] != found["survived"])


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    sys.exit(main())
