"""Moments to judge: what each kind changes, and that none of the corrupted is known to be true."""

import numpy as np
import pytest
import torch

from knowwhen.dating.moments import KINDS, draw_moments, is_known
from knowwhen.facts.table import Facts
from knowwhen.models import Sizes, Specification, build
from tests.dating.conftest import E, P, dataset_of, random_facts


@pytest.fixture(scope="module")
def data():
    facts = random_facts(3, 60)
    return dataset_of(facts[:40], facts[40:50], facts[50:])


@pytest.fixture(scope="module")
def model(data):
    return build(Specification("tntcomplex", Sizes.of(data), {"rank": 2})).initialise(torch.Generator()).eval()


def naive_known(facts: Facts, s: int, p: int, o: int, t: int) -> bool:
    return any(
        (s, p, o) == tuple(row[:3]) and row[3] <= t and (row[4] == -1 or t <= row[4]) for row in facts.rows().tolist()
    )


def test_true_moments_are_known_and_corrupted_ones_are_not(data, model):
    drawn = draw_moments(model, data, "valid", 100)
    known = Facts.concatenate(data.train, data.valid)
    for row in range(len(drawn)):
        moment = [int(column[row]) for column in vars(drawn.moments).values()]
        assert naive_known(known, *moment) == drawn.truth[row] == (drawn.kind[row] == 0)
    assert (is_known(data.known_to("valid"), drawn.moments) == drawn.truth).all()
    assert set(drawn.kind) == set(range(len(KINDS)))


def test_each_kind_changes_its_own_place_only(data, model):
    drawn = draw_moments(model, data, "valid", 100)
    true = {int(g): i for i, (g, k) in enumerate(zip(drawn.group, drawn.kind, strict=True)) if k == 0}
    for row in np.flatnonzero((drawn.kind > 0) & (drawn.kind < KINDS.index("known"))):
        place = KINDS[drawn.kind[row]].removeprefix("rival ")
        for name, column in vars(drawn.moments).items():
            if name != place:
                assert column[row] == column[true[int(drawn.group[row])]], KINDS[drawn.kind[row]]
    known = drawn.moments[drawn.kind == KINDS.index("known")]
    train = {tuple(row[:3]) for row in data.train.rows().tolist()}
    assert all((s, p, o) in train for s, p, o in zip(known.subject, known.predicate, known.object, strict=True))


def test_names_are_drawn_from_those_of_the_predicate(data, model):
    drawn = draw_moments(model, data, "valid", 100, seed=1)
    for kind in ("object", "subject"):
        some = drawn.moments[drawn.kind == KINDS.index(kind)]
        seen = set(zip(data.train.predicate.tolist(), getattr(data.train, kind).tolist(), strict=True))
        assert set(zip(some.predicate.tolist(), getattr(some, kind).tolist(), strict=True)) <= seen


def test_what_is_true_at_all_times_is_not_corrupted_in_time(model):
    """A fact that holds on the whole axis has no other time: it is left out, not called wrong."""
    zero = np.zeros(3, np.int64)
    always = Facts(zero, zero, np.array([1, 2, 3]), zero, np.full(3, 11))
    drawn = draw_moments(model, dataset_of(always[:2], always[2:]), "valid", 5)
    assert not (drawn.kind == KINDS.index("time")).any() and (drawn.kind == 0).sum() == 1


def test_seeds_decide(data, model):
    one, same, other = (draw_moments(model, data, "valid", 5, seed) for seed in (0, 0, 1))
    assert (one.moments.time == same.moments.time).all()
    assert len(one) != len(other) or (one.moments.time != other.moments.time).any()
    assert one.moments.object.max() < E and one.moments.predicate.max() < P
