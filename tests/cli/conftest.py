"""The command line as a user runs it: in a process of its own."""

import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def knowwhen():
    """Runs `knowwhen` with some arguments; gives its output and exit code."""

    def run(*arguments, cwd=None):
        command = [sys.executable, "-c", "from knowwhen.cli.main import main; main()", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)

    return run
