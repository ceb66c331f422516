import json
import subprocess
import sys

import pytest

from knowwhen.cli.output import as_text, show
from knowwhen.text import table, visible


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "1,234,567"), (0.123456, "0.1235"), (None, ""), (True, "yes"), (False, ""), ("x", "x")],
)
def test_values_for_people(value, text):
    assert as_text(value) == text


def test_what_is_not_known_is_left_out_for_people_and_null_in_json(capsys):
    values = {"best_mrr": 0.5, "none": None}
    show(values, as_json=False)
    assert capsys.readouterr().out == "best mrr  0.5000\n"
    show(values, as_json=True)
    assert json.loads(capsys.readouterr().out) == values


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b1m\u2028\u202e", "\\x9b1m\\u2028\\u202e"),
        ("caf\udce9", "caf\\udce9"),
        ("François, 東京, می‌خواهم, 👩‍🚀", "François, 東京, می‌خواهم, 👩‍🚀"),  # joiners are part of words
        ("$x$ [b] \\n", "$x$ [b] \\n"),
    ],
)
def test_names_are_shown_without_their_effects(text, shown, capsys):
    assert visible(text) == shown
    assert table([(text, "1"), ("b", "2")])[0].startswith(shown)
    show({"name": text}, as_json=False)
    assert capsys.readouterr().out == f"name  {shown}\n"


def test_python_m_knowwhen_is_the_command_line():
    done = subprocess.run([sys.executable, "-m", "knowwhen", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("knowwhen ")
