"""What a type checker knows of the library: mypy on a user's file, with the real package."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import knowwhen

ROOT = Path(__file__).parents[1]
RIGHT = """
from datetime import date
from pathlib import Path
from typing import assert_type

import polars as pl

import knowwhen as kw
from knowwhen.query import Answers, Holds, TimeAnswers, When

model = kw.open("run")
assert_type(model, kw.TrainedModel)
assert_type(model.ask("s", "p", "?", "2012"), Answers)
assert_type(model.ask("s", "p", "_", 2012, top=3, novel=True), Answers)
assert_type(model.ask("?", "p", "o", "2012", candidates=["a"]), Answers)
assert_type(model.ask("s", "?", "o", "2012"), Answers)
assert_type(model.ask("s", "p", "?", date(2012, 5, 1)), Answers)
assert_type(model.ask("s", "p", "?"), Answers)
assert_type(model.ask("s", "p", "o", "?"), TimeAnswers)
assert_type(model.ask("s", "p", "?", "2012")[0].probability, float)
assert_type(model.ask("s", "p", "o", "?")[0].begin, str)


def any_question(parts: list[str]) -> Answers | TimeAnswers:
    return model.ask(parts[0], parts[1], parts[2], parts[3])


Either = Answers | TimeAnswers
assert_type(model.ask([("s", "p", "?", "2012")]), list[Either])
assert_type(model.ask(pl.DataFrame(), errors="return", progress=True), list[Either | kw.KnowwhenError])
assert_type(model.ask(Path("questions.csv"), top=3), list[Either])
assert_type(model.ask([{"subject": "s"}], errors="return"), list[Either | kw.KnowwhenError])
assert_type(model.when("s", "p", "o"), When)
assert_type(model.when([("s", "p", "o")]), list[When])
assert_type(model.when([("s", "p", "o")], errors="return"), list[When | kw.KnowwhenError])
assert_type(model.holds("s", "p", "o", 2012), Holds)
assert_type(model.holds([("s", "p", "o", 2012)]), list[Holds])
assert_type(model.ranks("test"), pl.DataFrame)
assert_type(kw.evaluate(model).mrr, float)
assert_type(kw.train("data.csv", progress=True, rank=4), kw.TrainedModel)
for name in (answer.name for answer in model.ask("s", "p", "?")):
    assert_type(name, str)


class Own:
    def score(self, s: object, p: object, o: object, t: object) -> list[float]:
        return [0.0]


kw.evaluate(Own(), kw.load("data.csv"), progress=lambda done, total: None)
try:
    model.ask("s", "p", "?")
except kw.UnknownName as error:
    assert_type(error.suggestions, tuple[str, ...])
    assert_type(error.row, int | None)
"""
WRONG = {
    'model.ask("s", "p", "?", tops=3)': "call-overload",
    'model.ask("s", "p", "?", top="3")': "call-overload",
    'model.ask("s", "p", "?", errors="return")': "call-overload",
    'model.ask([("s", "p", "?")], errors="ignore")': "call-overload",
    "kw.evaluate(3)": "arg-type",
    'model.evaluate("test", progress="yes")': "arg-type",
}


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """What mypy says of both files, by line; what it knows of torch is kept beside that of `make check`."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text("\n".join(["import knowwhen as kw", 'model = kw.open("run")', *WRONG]) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", ROOT / ".mypy_cache", "right.py", "wrong.py"]
    environment = {**os.environ, "MYPYPATH": str(Path(knowwhen.__file__).parents[1])}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment).stdout


@pytest.mark.slow
def test_what_comes_back_is_known(checked):
    assert [line for line in checked.splitlines() if line.startswith("right.py")] == []
    assert "Found " in checked  # it ran, and found what is wrong in the other


@pytest.mark.slow
def test_mistakes_are_found_before_they_run(checked):
    found = {int(line): kind for line, kind in re.findall(r"^wrong\.py:(\d+): error: .*\[([\w-]+)\]$", checked, re.M)}
    assert found == dict(enumerate(WRONG.values(), start=3)), checked
