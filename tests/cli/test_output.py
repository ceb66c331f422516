import json

import pytest

from knowwhen.cli.output import as_text, show


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
