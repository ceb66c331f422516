"""The generator of large knowledge bases: its shape, its seed, and what is planted in it."""

import numpy as np
import pytest

from knowwhen.reproduction.generated import CLASSES, OFFICES, PREDICATES, TIMESTAMPS, dataset, generate


@pytest.fixture(scope="module")
def facts():
    return generate(5000, 60_000, seed=1)


def test_the_seed_decides(facts):
    assert (facts.rows() == generate(5000, 60_000, seed=1).rows()).all()
    assert facts.rows()[:100].tolist() != generate(5000, 60_000, seed=2).rows()[:100].tolist()


def test_it_has_the_shape_of_wikidata(facts):
    assert 0.8 * 60_000 < len(facts) <= 60_000
    assert 0.08 < (~facts.is_static).mean() < 0.14
    assert facts.predicate.max() == PREDICATES - 1 and facts.end.max() < TIMESTAMPS
    degrees = np.sort(np.bincount(facts.object, minlength=5000))[::-1]
    assert degrees[:50].sum() > 10 * degrees[2000:2050].sum()  # a few are in very many facts


def test_class_and_predicate_say_the_class_of_the_object(facts):
    static = facts[facts.is_static]
    key = static.subject % CLASSES * PREDICATES + static.predicate
    shares = []
    for one in np.unique(key)[:200]:
        classes = static.object[key == one] % CLASSES
        shares.append(np.bincount(classes).max() / len(classes))
    assert np.mean(shares) > 0.8


def test_offices_are_held_by_one_after_the_other(facts):
    terms = facts[~facts.is_static]
    assert set(terms.predicate) <= set(range(OFFICES))
    office = terms[terms.subject == terms.subject[0]]
    order = np.lexsort((office.end, office.begin))
    begin, end = office.begin[order], office.end[order]
    assert (begin[1:] >= end[:-1]).mean() > 0.7  # but where the axis begins again


def test_as_a_dataset_it_has_splits_and_names():
    made = dataset(300, 4000, held=50)
    assert (len(made.valid), len(made.test)) == (50, 50)
    assert made.entities.key(7) == "Q7"
    assert made.timeline.span() == "0300 to 2025 by year"
