"""Names and times of questions are those of the facts, however they are written."""

import pytest

import knowwhen as kw
from knowwhen.query.questions import read_question
from knowwhen.query.rows import time_text


@pytest.mark.parametrize("name", ["Chlo\u00eb", "Chloe\u0308", " Chloe\u0308 "])
def test_accents_and_blanks_of_a_name_do_not_matter(name):
    data = kw.load([("Chloe\u0308", "knows", "Ben", 2001)], fractions=(0, 0))
    assert read_question(data, name, "knows", "?").s == data.entities.id("Chlo\u00eb")


@pytest.mark.parametrize(("given", "text"), [("2007.0", "2007"), (2007.0, "2007"), ("2007-10", "2007-10"), (None, "")])
def test_years_of_tables_may_have_decimals(given, text):
    assert time_text(given) == text
