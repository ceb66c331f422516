import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.errors import UnknownName
from knowwhen.facts.vocabulary import Vocabulary

LABELS = pl.DataFrame(
    {"key": ["Q76", "Q30", "Q1", "Q9"], "label": ["Barack Obama", "United States", "Twin", "Twin"]},
)
PEOPLE = Vocabulary.of("entity", pl.Series(["Q76", "Q30", "Q1", "Q9", "Q5"]), labels=LABELS)
TEXT = st.text(st.characters(codec="utf-8"))


@given(st.lists(TEXT, min_size=1))
def test_names_of_any_unicode_come_back_exactly(names):
    column = pl.Series(names, dtype=pl.String)
    vocabulary = Vocabulary.of("entity", column)
    assert vocabulary.keys.to_list() == sorted(set(names))
    assert vocabulary.decode(vocabulary.encode(column)).to_list() == names
    assert all(vocabulary.key(vocabulary.id(name)) == name for name in names)


def test_labels_are_what_people_read_and_ask_by():
    assert PEOPLE.label(PEOPLE.id("Q76")) == "Barack Obama"
    assert PEOPLE.id("Barack Obama") == PEOPLE.id("Q76")
    assert PEOPLE.label(PEOPLE.id("Q5")) == "Q5"


def test_an_unknown_name_brings_the_closest():
    with pytest.raises(UnknownName, match=r"no entity 'barak obama'; did you mean 'Barack Obama'\?"):
        PEOPLE.id("barak obama")
    with pytest.raises(UnknownName, match=r"no entity 'zzzzzzzz'$"):
        PEOPLE.id("zzzzzzzz")


def test_a_label_of_two_keys_lists_them():
    with pytest.raises(UnknownName, match=r"2 entities are called 'Twin': ask by key \(Q1, Q9\)"):
        PEOPLE.id("Twin")
