"""The bundled dataset: what its datasheet promises."""

import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import knowwhen as kw

FOLDER = Path(kw.__file__).parent / "facts" / "bundled" / "leaders"
OFFICES = ("has president", "has prime minister", "has chancellor", "has monarch")
SHOWN = [
    ("France", "has president", 1959),
    ("United States", "has president", 1945),
    ("United Kingdom", "has prime minister", 1945),
    ("Germany", "has chancellor", 1949),
]


def read(split: str) -> pl.DataFrame:
    return pl.read_csv(
        FOLDER / f"{split}.tsv", separator="\t", quote_char=None, schema_overrides={"begin": pl.Int64, "end": pl.Int64}
    )


TRAIN, VALID, TEST = (read(split) for split in ("train", "valid", "test"))
FACTS = pl.concat([TRAIN, VALID, TEST])


def entities(facts: pl.DataFrame) -> set[str]:
    return {*facts["subject"], *facts["object"]}


def years(facts: pl.DataFrame) -> set[int]:
    return {*facts["begin"].drop_nulls(), *facts["end"].drop_nulls()}


def terms(country: str, office: str, facts: pl.DataFrame = FACTS) -> list[tuple[int, int]]:
    """Begin and end of each holder in order; terms from before 1945 begin in 1945 here, current ones end in 2025."""
    rows = facts.filter(subject=country, predicate=office)
    return sorted((b or 1945, e or 2025) for b, e in rows.select("begin", "end").iter_rows())


def test_it_is_large_enough_and_holds_every_kind_of_fact():
    info = kw.load("leaders").info()
    assert info["train"] + info["valid"] + info["test"] == len(FACTS) >= 1500
    assert FACTS.filter(predicate="has capital")["subject"].n_unique() >= 40
    assert min(info[kind] for kind in ("events", "intervals", "half_open", "static")) > 100
    assert (info["first"], info["last"], info["timestamps"], info["granularity"]) == ("1945", "2025", 81, "year")


@pytest.mark.parametrize(("country", "office", "since"), SHOWN)
def test_the_shown_offices_are_complete_and_in_train(country, office, since):
    held = terms(country, office)
    assert {year for begin, end in held for year in range(begin, end + 1)} >= set(range(since, 2026))
    assert terms(country, office, TRAIN) == held


def test_holders_of_an_office_overlap_only_in_the_handover_year():
    offices = FACTS.filter(pl.col("predicate").is_in(OFFICES)).select("subject", "predicate").unique()
    overlaps = [
        (country, office, first, second)
        for country, office in offices.iter_rows()
        for held in [terms(country, office)]
        for first, second in pairwise(held)
        if second[0] < first[1]
    ]
    assert overlaps == []


def test_spans_are_ordered_and_on_the_axis():
    assert FACTS.filter(pl.col("begin") > pl.col("end")).is_empty()
    assert years(FACTS) <= set(range(1945, 2026))
    assert years(TRAIN) == set(range(1945, 2026))


def test_every_entity_has_two_facts():
    counts = Counter(name for row in FACTS.iter_rows() for name in {row[0], row[2]})
    assert [name for name, count in counts.items() if count < 2] == []


def test_no_fact_stands_twice():
    assert FACTS.is_duplicated().sum() == 0


@pytest.mark.parametrize("split", [VALID, TEST], ids=["valid", "test"])
def test_train_has_seen_what_the_other_splits_hold(split):
    assert entities(split) <= entities(TRAIN)
    assert set(split["predicate"]) <= set(TRAIN["predicate"])
    assert years(split) <= years(TRAIN)


@pytest.mark.parametrize("split", [TRAIN, VALID, TEST], ids=["train", "valid", "test"])
def test_borders_go_both_ways_within_a_split(split):
    borders = set(split.filter(predicate="shares border with").select("subject", "object").iter_rows())
    assert borders == {(b, a) for a, b in borders}


def test_names_are_clean_and_spelled_one_way():
    names = entities(FACTS)
    assert all(name == name.strip() and "  " not in name for name in names)

    def plain(name: str) -> str:
        letters = unicodedata.normalize("NFKD", name.casefold())
        return "".join(letter for letter in letters if not unicodedata.combining(letter))

    assert [count for count in Counter(map(plain, names)).values() if count > 1] == []


def test_rows_stand_in_order_so_that_changes_are_easy_to_read():
    for split in (TRAIN, VALID, TEST):
        keys = [(p, s, str(b or ""), o) for s, p, o, b, _ in split.iter_rows()]
        assert keys == sorted(keys)


@pytest.mark.parametrize(
    "fact",
    [
        ("United Kingdom", "member of", "European Union", 1973, 2020),
        ("France", "member of", "European Union", 1958, None),
        ("Germany", "has currency", "Deutsche Mark", 1948, 2002),
        ("Germany", "has currency", "Euro", 1999, None),
        ("Croatia", "has currency", "Euro", 2023, None),
        ("United States", "has president", "Barack Obama", 2009, 2017),
        ("United States", "has president", "Donald Trump", 2025, None),
        ("United Kingdom", "has monarch", "Elizabeth II", 1952, 2022),
        ("Brazil", "won", "FIFA World Cup", 1994, 1994),
        ("Barack Obama", "received", "Nobel Peace Prize", 2009, 2009),
        ("France", "has capital", "Paris", None, None),
        ("Sweden", "member of", "NATO", 2024, None),
        ("South Africa", "has president", "Nelson Mandela", 1994, 1999),
        ("India", "has prime minister", "Indira Gandhi", 1966, 1977),
    ],
)
def test_facts_that_everybody_knows(fact):
    assert fact in FACTS.rows()


def test_the_datasheet_counts_what_is_there():
    sheet = (FOLDER / "DATASHEET.md").read_text(encoding="utf-8")
    for predicate in sorted(set(FACTS["predicate"])):
        counts = [len(split.filter(predicate=predicate)) for split in (TRAIN, VALID, TEST)]
        assert f"| {predicate} | {' | '.join(map(str, counts))} |" in sheet
    assert f"{len(FACTS):,} facts" in sheet
    assert f"{len(entities(FACTS)):,} entities" in sheet
