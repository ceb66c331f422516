"""Every fault at every operation: `python -m tests.faults.trying [SCENARIO…]` prints what was tried and survived."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.faults.scenarios import SCENARIOS, Scenario
from tests.processes import Done, Forks

MODES = ("kill", "power", "full", "frozen")


class Trial:
    """A scenario, what it works on, and what it gives without a fault."""

    def __init__(self, scenario: Scenario, forks: Forks, folder: Path) -> None:
        self.scenario, self.forks, self.folder = scenario, forks, folder
        self.world = folder / "world"
        scenario.prepare(forks, self.world)
        self.before = scenario.result(self.world)
        clean = self._copy("clean")
        done = scenario.run(forks, clean)
        assert done.code == 0, done.err
        self.expected, self.operations = scenario.result(clean), done.operations
        assert self.expected and self.operations
        assert not scenario.litter(clean), scenario.litter(clean)

    def _copy(self, name: str) -> Path:
        shutil.rmtree(self.folder / name, ignore_errors=True)
        return Path(shutil.copytree(self.world, self.folder / name))

    def problem(self, mode: str, at: int) -> str:
        """What is wrong after a fault; nothing where it was survived."""
        world = self._copy("faulty")
        done = self.scenario.run(self.forks, world, fault={"at": at, "mode": mode})
        if done.code == 0 and self.scenario.result(world) == self.expected:
            return ""  # only what it had to clear away failed
        if problem := _bad_end(done, mode):
            return problem
        if problem := self._half(world):
            return problem
        if (world / "run" / "config.toml").exists():
            opened = self.forks.run("info", "run", cwd=world)
            if opened.is_foreign or opened.code not in (0, 1) or len(opened.err.splitlines()) > 1:
                return f"the run does not open, nor say why: {opened.err[-300:]}"
        if self.scenario.is_done(world):
            return "" if self.scenario.result(world) == self.expected else "done, but not as it should be"
        again = self.scenario.run(self.forks, world, self.scenario.again)
        if again.code != 0 and not (self.scenario.may_be and self.scenario.may_be in again.err):
            return f"does not go on: {again.code} {again.err[-300:]}"
        if self.scenario.result(world) != self.expected:
            return "goes on to something else"
        return f"leaves {litter}" if (litter := self.scenario.litter(world)) else ""

    def _half(self, world: Path) -> str:
        """A file under its own name is what it was, or what it is to be; files of a run are judged by opening it."""
        for name, content in self.scenario.result(world).items():
            known = [files[name] for files in (self.before, self.expected) if name in files]
            if content not in known and not name.startswith("run/"):
                return f"{name} is half there"
        return ""


def _bad_end(done: Done, mode: str) -> str:
    if mode in ("kill", "power"):
        return "" if done.code == -9 else f"was not killed: {done.code} {done.err[-300:]}"
    if done.is_foreign or done.code != 1:
        return f"code {done.code}: {done.err[-400:]}"
    last = done.err.splitlines()[-1]
    return "" if last.startswith("knowwhen: cannot write") else f"unclear: {last}"


def try_all(names: list[str]) -> int:
    tried: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    began = time.monotonic()
    with Forks() as forks, tempfile.TemporaryDirectory(prefix="knowwhen-faults-") as folder:
        for name in names or SCENARIOS:
            trial = Trial(SCENARIOS[name], forks, Path(folder) / name)
            for mode in MODES:
                for at in range(1, trial.operations + 1):
                    problem = trial.problem(mode, at)
                    tried[f"{name} {mode}"] += 1
                    survived[f"{name} {mode}"] += not problem
                    if problem:
                        print(f"{name} {mode} at {at}: {problem}", file=sys.stderr)
    rows = {key: f"{survived[key]} of {count}" for key, count in tried.items()}
    total = {"tried": tried.total(), "survived": survived.total(), "seconds": round(time.monotonic() - began)}
    print(json.dumps({**rows, **total}, indent=1))
    return int(tried != survived)


if __name__ == "__main__":
    sys.exit(try_all(sys.argv[1:]))
