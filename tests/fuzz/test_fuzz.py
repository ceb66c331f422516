"""A few hundred damaged inputs of every kind, and flipped bits of runs; `make fuzz` tries 50,000."""

import json

import pytest


@pytest.mark.parametrize("cases", [["--cases", "300", "--seed", "1"], ["--cases", "60", "--target", "flipped_run"]])
def test_damaged_inputs_give_errors_of_ours_and_damaged_runs_no_other_answers(forks, cases):
    done = forks.run(*cases, code="import sys; from tests.fuzz.fuzzing import main; sys.exit(main())")
    assert done.code == 0, done.err[-3000:]
    found = json.loads(done.out)
    assert found["tried"] == found["survived"] == int(cases[1])
