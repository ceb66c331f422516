"""Installs a built wheel into an empty environment and uses it there: `make wheel`.

Its dependencies are those of the environment that runs this, so nothing large is downloaded. knowwhen itself can only
come from the wheel: an editable install is a .pth file, which PYTHONPATH does not read.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

import knowwhen


def main(wheel: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clean = Path(folder) / "clean"
        venv.create(clean)
        program = clean / ("Scripts" if os.name == "nt" else "bin")
        pip = [sys.executable, "-m", "pip", "--python", program / "python", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", "--no-deps", wheel.absolute()], check=True)
        environment = os.environ | {"PYTHONPATH": sysconfig.get_path("purelib"), "XDG_CACHE_HOME": folder}

        def run(*command: str) -> str:
            options = {"cwd": folder, "env": environment, "check": True, "stdout": subprocess.PIPE, "text": True}
            return subprocess.run([program / command[0], *command[1:]], **options).stdout

        where = run("python", "-c", "import knowwhen; print(knowwhen.__file__)")
        assert Path(where.strip()).is_relative_to(clean), where
        assert run("knowwhen", "--version") == f"knowwhen {knowwhen.__version__}\n"
        assert json.loads(run("knowwhen", "data", "info", "leaders", "--json"))["name"] == "leaders"  # data is inside
        train = ("train", "leaders", "--recipe", "leaders", "--set", "training.epochs=1", "--set", "dating.passes=0")
        run("knowwhen", *train, "--run", "run")  # so are recipes
        answers = json.loads(run("knowwhen", "ask", "run", "France", "has president", "_", "1990", "--json"))
        assert answers["answers"], answers
    print(f"{wheel.name}: installed and used in an empty environment")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
