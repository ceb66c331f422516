"""Kills, power cuts and disks that take nothing, at some operations of every command that writes (`make faults`: all).

Each must leave what was there or what was to be, open or say why it does not, and go on to the same bytes.
"""

import random

import pytest

from tests.faults.scenarios import SCENARIOS
from tests.faults.trying import MODES, Trial

POINTS = 6  # of each command


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_at_any_operation_is_survived(forks, tmp_path, name):
    trial = Trial(SCENARIOS[name], forks, tmp_path)
    chance = random.Random(name)
    edges = [1 + trial.operations * k // POINTS for k in range(POINTS + 1)]
    points = [
        (MODES[k % len(MODES)], chance.randrange(edges[k], max(edges[k + 1], edges[k] + 1))) for k in range(POINTS)
    ]
    problems = {f"{mode} at {at} of {trial.operations}": trial.problem(mode, at) for mode, at in points}
    assert {point: problem for point, problem in problems.items() if problem} == {}


def test_the_layer_finds_a_command_that_writes_in_place(forks, tmp_path):
    """The harness itself: what is written under its own name at once does not survive."""
    scenario = SCENARIOS["export"]
    in_place = (
        "import os, knowwhen.cli.export as n; from knowwhen.cli.main import main\n"
        "def write(path, data, keep=None):\n"
        "    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)\n"
        "    os.write(handle, data)\n"
        "n.write_whole = write; main()"
    )
    careless = type(scenario)(**{**vars(scenario), "code": in_place})
    trial = Trial(careless, forks, tmp_path)
    assert trial.problem("kill", trial.operations) == "e.parquet is half there"
