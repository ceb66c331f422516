import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.errors import UnknownName
from knowwhen.facts.vocabulary import Vocabulary, numbered_names

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


@given(st.lists(st.lists(TEXT, max_size=20), min_size=1), st.sampled_from([1, 4, 1 << 10]))
def test_numbered_names_are_unique_also_where_they_share_a_slot(parts, slots):
    chunks = pl.concat([pl.Series(part, dtype=pl.String) for part in parts], rechunk=False)
    keys, ids = numbered_names(chunks, slots)
    assert keys.to_list() == sorted(set(chunks))
    assert [keys[i] for i in ids.tolist()] == chunks.to_list()


def test_numbering_gives_the_ids_of_each_column():
    vocabulary, (subject, object) = Vocabulary.numbering("entity", pl.Series(["b", "a"]), pl.Series(["c", "b", "c"]))
    assert vocabulary.keys.to_list() == ["a", "b", "c"]
    assert (subject.tolist(), object.tolist()) == ([1, 0], [2, 1, 2])


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
    with pytest.raises(UnknownName, match=r"2 entities are called 'Twin'; use a key: Q1, Q9"):
        PEOPLE.id("Twin")
