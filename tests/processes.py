"""Runs `knowwhen` in real processes, many a second: forks of one that has imported everything and used nothing yet.

`Forks()` starts that process; `run(arguments, …)` has it fork, and the fork is the command line, with files, signals,
limits and standard streams of its own. A fault is what `tests/faults/layer.py` does to it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Done:
    code: int  # of the exit; below 0 the signal that ended it
    out: str
    err: str
    seconds: float
    operations: int  # on files, where they were counted

    @property
    def is_foreign(self) -> bool:
        """Whether something other than our own error in one line came out."""
        marks = ("Traceback", "this is a bug in knowwhen", "panicked at", "Exception ignored")
        return any(mark in self.err for mark in marks) or self.code not in (0, 1, 2, 130)


class Forks:
    """The process that is forked."""

    def __init__(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        environment.pop("KNOWWHEN_DATA", None)
        command = [sys.executable, "-m", "tests.processes"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
        )

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, *arguments: object, cwd: Path | None = None, **options: object) -> Done:
        """What a command gives; options are fault, environment, memory (bytes), seconds, stdin, out (a path), code."""
        arguments = tuple(map(str, arguments))
        request = {"arguments": arguments, "cwd": str(cwd or Path.cwd()), **options}
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        answer = self._process.stdout.readline()
        assert answer, "the process that is forked has died"
        return Done(**json.loads(answer))

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def serve() -> None:
    """Forks once for each request on standard input."""
    import torch._dynamo  # noqa: F401 - the first optimizer imports it, in two seconds

    import knowwhen.cli.batch
    import knowwhen.cli.main
    import knowwhen.plotting.drawn
    import knowwhen.reproduction.report
    import knowwhen.trained
    import knowwhen.tuning.shared
    import knowwhen.wikidata.making  # noqa: F401
    import tests.faults.layer  # noqa: F401

    answers = os.fdopen(os.dup(1), "w", buffering=1)  # a fork has its own standard output
    for line in sys.stdin:
        with tempfile.TemporaryDirectory(prefix="knowwhen-fork-") as folder:
            answers.write(json.dumps(_run(json.loads(line), Path(folder))) + "\n")


def _run(request: dict[str, object], folder: Path) -> dict[str, object]:
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setsid()
        _become(request, folder)
    code = _wait(child, float(str(request.get("seconds", 280))))
    out, err, count = (folder / name for name in ("out", "err", "count"))
    return {
        "code": code,
        "out": out.read_text(errors="backslashreplace") if out.exists() else "",
        "err": err.read_text(errors="backslashreplace"),
        "seconds": time.monotonic() - began,
        "operations": int(count.read_text()) if count.exists() else 0,
    }


def _wait(child: int, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -signal.SIGALRM
        time.sleep(0.002)


def _become(request: dict[str, object], folder: Path) -> None:
    """The fork's life: it is the command, and never returns."""
    from tests.faults.layer import Layer

    os.chdir(str(request["cwd"]))
    os.environ.update(request.get("environment", {}))  # type: ignore[call-overload]
    for number, path in ((0, request.get("stdin", os.devnull)), (1, request.get("out", folder / "out"))):
        os.dup2(os.open(str(path), os.O_RDWR | (os.O_CREAT if number else 0)), number)
    os.dup2(os.open(folder / "err", os.O_WRONLY | os.O_CREAT), 2)
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdout, sys.stderr = (open(number, "w", encoding=encoding) for number in (1, 2))  # noqa: PTH123, SIM115
    if memory := request.get("memory"):
        resource.setrlimit(resource.RLIMIT_AS, (int(str(memory)), int(str(memory))))
    layer = Layer(**request.get("fault", {}))  # type: ignore[arg-type]
    layer.install()
    code = 70
    try:
        code = _command([str(argument) for argument in request["arguments"]], str(request.get("code", "")))  # type: ignore[attr-defined]
    finally:
        layer.remove()
        (folder / "count").write_text(str(layer.count))
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 120  # as Python does
        os._exit(code)


def _command(arguments: list[str], code: str) -> int:
    import traceback

    from knowwhen import console
    from knowwhen.cli import main

    console.errors.file = sys.stderr
    sys.argv = [
        "knowwhen",
        *(a.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") for a in arguments),
    ]
    try:
        if code:
            exec(code, {})  # a scenario of a test
        else:
            main.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        return 71
    return 0


if __name__ == "__main__":
    serve()
