"""A few hundred damaged inputs of every kind, and flipped bits of runs; `make fuzz` tries 50,000."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("cases", [["--cases", "300", "--seed", "1"], ["--cases", "60", "--target", "flipped_run"]])
def test_damaged_inputs_give_errors_of_ours_and_damaged_runs_no_other_answers(cases):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    command = [sys.executable, "-m", "tests.fuzz.fuzzing", *cases]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["tried"] == found["survived"] == int(cases[1])
