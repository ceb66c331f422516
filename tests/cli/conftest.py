"""The command line as a user runs it: in a process of its own, on a terminal or not."""

import os
import pty
import subprocess
from contextlib import suppress

import pytest


@pytest.fixture
def knowwhen(forks):
    """Runs `knowwhen` with some arguments; gives its output and exit code."""

    def run(*arguments, cwd=None):
        done = forks.run(*arguments, cwd=cwd, environment={"XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]})
        return subprocess.CompletedProcess(arguments, done.code, done.out, done.err)

    return run


@pytest.fixture(scope="session")
def on_terminal():
    """Runs a command whose stderr, and stdout where `stdout` is not given, is a terminal; its exit code and output."""

    def run(command, **options):
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
        process = subprocess.Popen(command, stderr=theirs, env=environment, **{"stdout": theirs, **options})
        os.close(theirs)
        text = b""
        with suppress(OSError):  # the other end is closed
            while more := os.read(ours, 1 << 16):
                text += more
        os.close(ours)
        return process.wait(), text

    return run
