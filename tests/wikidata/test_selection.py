"""The rules in duckdb against the same rules in plain Python."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowwhen.errors import BadInput
from knowwhen.facts.dates import Granularity, day_number
from knowwhen.wikidata.parts import Manifest, Part
from knowwhen.wikidata.selection import INSTANCE_OF, SUBCLASS_OF, Selection
from knowwhen.wikidata.splitting import elements, hold_out
from knowwhen.wikidata.statements import Extract

MANIFEST = Manifest(dump="ab12", dump_name="dump.json", window_bytes=100, lang="en")


def select(folder, rows, drop=(), keep=(), min_degree=0, min_predicate=0, granularity=Granularity.YEAR):
    """The selection of extracted rows (subject, predicate, object, begin, end in days)."""
    part = Part(folder / "part")
    part.begin(MANIFEST)
    half = len(rows) // 2
    for window, some in enumerate((rows[:half], rows[half:])):
        extract = Extract(facts=[(*row, *[None] * (5 - len(row))) for row in some])
        part.add(window, extract.facts_frame(), extract.labels_frame(), extract.counts)
    selection = Selection(folder, "500MB", 1)
    selection.read([part])
    selection.place_on(granularity)
    selection.drop_classes(drop, keep)
    selection.prune(min_degree, min_predicate, lambda text: None)
    return selection


def facts(selection):
    return sorted(selection.sql.execute("SELECT s, p, o FROM facts").fetchall())


def naive_prune(rows, min_degree, min_predicate):
    rows = set(rows)
    while True:
        degree = Counter(end for s, _, o in rows for end in (s, o))
        occurrences = Counter(p for _, p, _ in rows)
        left = {
            (s, p, o)
            for s, p, o in rows
            if occurrences[p] >= min_predicate and degree[s] >= min_degree and degree[o] >= min_degree
        }
        if left == rows:
            return rows
        rows = left


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 4), st.integers(1, 12)), max_size=60),
    st.integers(0, 5),
    st.integers(0, 12),
)
def test_pruning_leaves_the_largest_set_in_which_all_are_frequent(tmp_path_factory, rows, min_degree, min_predicate):
    selection = select(tmp_path_factory.mktemp("work"), rows, min_degree=min_degree, min_predicate=min_predicate)
    assert set(facts(selection)) == naive_prune(rows, min_degree, min_predicate)
    removed = sum(count for name, count in selection.counts.items() if name.startswith("removed"))
    assert selection.counts["extracted_facts"] == len(rows) == len(facts(selection)) + removed
    selection.close()


# 1 is an instance of 100; 2 of 101, two classes below it; 3 and 4 of 200; 101 and 102 form a circle.
TYPES = [
    (1, INSTANCE_OF, 100),
    (2, INSTANCE_OF, 101),
    (3, INSTANCE_OF, 200),
    (4, INSTANCE_OF, 200),
    (101, SUBCLASS_OF, 102),
    (102, SUBCLASS_OF, 100),
    (102, SUBCLASS_OF, 101),
]
LINKS = [(1, 9, 3), (2, 9, 3), (3, 9, 2), (3, 9, 4), (4, 9, 5), (5, 9, 6), (1, 9, 2)]


def links(selection):
    return sorted(row for row in facts(selection) if row[1] == 9)


@pytest.mark.parametrize(
    ("drop", "keep", "expected"),
    [
        ((), (), sorted(LINKS)),
        ((100,), (), [(3, 9, 4), (4, 9, 5), (5, 9, 6)]),
        ((102,), (), [(1, 9, 3), (3, 9, 4), (4, 9, 5), (5, 9, 6)]),
        ((), (200,), [(1, 9, 3), (2, 9, 3), (3, 9, 2), (3, 9, 4), (4, 9, 5)]),
        ((100,), (200,), [(3, 9, 4), (4, 9, 5)]),
        # keep wins: 2 stays although its class is below 100
        ((100,), (101,), [(2, 9, 3), (3, 9, 2)]),
        ((200,), (101,), [(1, 9, 2)]),
        ((999,), (999,), []),
    ],
)
def test_classes_are_dropped_and_kept_with_all_below_them(tmp_path, drop, keep, expected):
    selection = select(tmp_path, TYPES + LINKS, drop, keep)
    assert links(selection) == expected
    counts = selection.counts
    removed = sum(count for name, count in counts.items() if name.startswith("removed"))
    assert counts["extracted_facts"] == len(TYPES + LINKS) == len(facts(selection)) + removed
    selection.close()


def test_facts_that_differ_within_a_unit_of_the_axis_are_one(tmp_path):
    rows = [(1, 9, 2, day_number(2000, month, 1), None) for month in (1, 1, 2, 2)] + [(1, 9, 2, None, None)]
    for granularity, expected in ((Granularity.YEAR, 2), (Granularity.MONTH, 3)):
        folder = tmp_path / granularity
        folder.mkdir()
        selection = select(folder, rows, granularity=granularity)
        assert len(facts(selection)) == expected
        assert selection.counts["removed_repetitions"] == 5 - expected
        selection.close()


def test_a_dump_without_a_line_is_an_error(tmp_path):
    part = Part(tmp_path / "part")
    part.begin(MANIFEST)
    selection = Selection(tmp_path, "500MB", 1)
    with pytest.raises(BadInput, match="the dump has no lines; expected one JSON object per line"):
        selection.read([part])
    selection.close()


def day(year):
    return None if year is None else day_number(year, 1, 1)


years = st.one_of(st.none(), st.integers(2000, 2004))
spans = st.tuples(years, years).map(lambda ends: ends if None in ends else tuple(sorted(ends)))


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 8), st.integers(1, 3), st.integers(1, 8), spans), min_size=1, max_size=60),
    st.integers(0, 10),
    st.integers(0, 10),
    st.integers(0, 3),
)
def test_what_is_held_out_has_all_its_elements_in_train(tmp_path_factory, rows, valid, test, seed):
    rows = [(s, p, o, day(b), day(e)) for s, p, o, (b, e) in rows]
    selection = select(tmp_path_factory.mktemp("work"), rows)
    held = hold_out(selection.sql, valid, test, seed)
    everything = set(selection.sql.execute("SELECT * FROM facts").fetchall())
    selection.close()
    out = [*held.valid, *held.test]
    assert len(set(out)) == len(out) and set(out) <= everything
    train = everything - set(out)
    seen = set().union(*map(elements, train))
    assert all(elements(fact) <= seen for fact in out)
    assert len(held.valid) <= valid and len(held.test) <= test
    if len(out) < valid + test:  # then no other fact could have been held out
        occurrences = Counter(element for fact in train for element in elements(fact))
        assert all(any(occurrences[element] < 2 for element in elements(fact)) for fact in train)
        assert held.moved == len(train)


def test_the_choice_depends_on_facts_and_seed_not_on_their_order(tmp_path):
    rows = [(s, 9, o, None, None) for s in range(1, 12) for o in range(1, 12)]
    chosen = []
    for name, some, seed in (("a", rows, 0), ("b", rows[::-1], 0), ("c", rows, 1)):
        (tmp_path / name).mkdir()
        selection = select(tmp_path / name, some)
        held = hold_out(selection.sql, 10, 5, seed)
        selection.close()
        assert (len(held.valid), len(held.test)) == (10, 5)
        chosen.append((held.valid, held.test))
    assert chosen[0] == chosen[1] != chosen[2]


def test_more_than_a_batch_is_drawn_when_needed(tmp_path, monkeypatch):
    monkeypatch.setattr("knowwhen.wikidata.splitting.BATCH", 7)
    rows = [(s, 9, o, None, None) for s in range(1, 12) for o in range(1, 12)]
    selection = select(tmp_path, rows)
    held = hold_out(selection.sql, 40, 40, 0)
    selection.close()
    assert (len(held.valid), len(held.test)) == (40, 40)
