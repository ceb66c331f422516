"""The facts around a question, compared with loops."""

import numpy as np
import pytest

from knowwhen.dating import neighbours
from knowwhen.dating.neighbours import CAP, CONTEXTS, FAR, Asked, Neighbourhood, Rows, series_class
from knowwhen.facts.table import OPEN, Facts
from tests.dating.conftest import E, P, dataset_of, random_facts


def naive_around(facts, positions, s, p, o, itself):
    """Every dated fact of subject and of object but the asked one: (side, kind, begin, end, row)."""
    found = set()
    for row, (fs, fp, fo, b, e) in enumerate(facts.rows().tolist()):
        if row == itself or (b == OPEN and e == OPEN):
            continue
        begin, end = (FAR if t == OPEN else int(positions[t]) for t in (b, e))
        for side, mine, partner in ((0, s, o), (1, o, s)):
            for entity, other, directed in ((fs, fo, fp), (fo, fs, fp + P)):
                if entity == mine:
                    kind = directed + 2 * P * (side + 2 * (other == partner))
                    found.add((side, kind, begin, end, row))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_around_is_every_dated_fact_of_subject_and_object_but_itself(seed, monkeypatch):
    monkeypatch.setattr(neighbours, "CAP", 90)  # nothing is left to chance
    data = dataset_of(random_facts(seed))
    facts, at = data.train, data.timeline.positions
    around = Neighbourhood(facts, P, data.timeline).around(Asked.of(facts, np.arange(len(facts))))
    for i, (s, p, o, _, _) in enumerate(facts.rows().tolist()):
        some = np.flatnonzero(around.kind[i] >= 0)
        sides = (some >= 90).astype(int)
        columns = (around.kind[i][some], around.begin[i][some], around.end[i][some], around.row[i][some])
        found = set(zip(sides.tolist(), *(column.tolist() for column in columns), strict=True))
        assert found == naive_around(facts, at, s, p, o, i)


def test_facts_about_both_come_first_then_those_of_the_predicate():
    n = CAP + 10
    others = Facts(np.zeros(n, int), np.full(n, 2), np.full(n, 3), np.arange(n) % 12, np.arange(n) % 12)
    alike = Facts(*(np.array([x]) for x in (0, 1, 4, 5, 6)))
    both = Facts(*(np.array([x]) for x in (0, 2, 1, 7, 8)))
    data = dataset_of(Facts.concatenate(others, alike, both))
    around = Neighbourhood(data.train, P, data.timeline).around(Asked(*(np.array([x]) for x in (0, 1, 1, -1))))
    assert around.row[0, :2].tolist() == [n + 1, n]
    assert (around.kind[0, :CAP] >= 0).all()


def test_series_classes_by_hand():
    gaps = np.array([-1, 0, 1, 2, 3, 4, 7, 8, 100, FAR])
    assert series_class(gaps).tolist() == [0, 0, 1, 2, 2, 3, 3, 4, 4, CONTEXTS - 1]


def test_the_gaps_of_a_series():
    # One office, three terms: 1990 to 1994, 1994 to 1998, 2004 to 2008.
    terms = Facts(np.zeros(3, int), np.zeros(3, int), np.array([1, 2, 3]), np.array([0, 2, 7]), np.array([2, 4, 9]))
    data = dataset_of(terms)
    around = Neighbourhood(terms, P, data.timeline).around(Asked(*(np.array([x]) for x in (0, 0, 4, -1))))
    classes = {
        int(r): (int(b), int(a)) for r, b, a in zip(around.row[0], around.before[0], around.after[0], strict=True)
    }
    none = CONTEXTS - 1
    assert [classes[i] for i in range(3)] == [(none, 0), (0, 3), (3, none)]  # 6 years between the last two


def test_rows_of_facts_that_are_known():
    facts = random_facts(0)
    known = facts[:20]
    assert Rows(known).of(known[5:7]).tolist() == [5, 6]
    strange = Facts(*(np.array([x]) for x in (E - 1, 0, E - 1, 11, 11)))
    assert Rows(known).of(strange).tolist() == [-1]
    assert Rows(Facts.empty()).of(strange).tolist() == [-1]
