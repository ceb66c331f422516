"""How long facts last: against the product written out, and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.dating.survival import HIGHEST, PRIOR, Survival
from knowwhen.facts.table import OPEN, Facts
from tests.dating.conftest import P, dataset_of, random_facts


def naive(facts: Facts, at: np.ndarray, p: int, age: int, more: int) -> float:
    """Π over ages of 1 − (ended_p + PRIOR h) / (lasted_p + PRIOR), one unit after the other."""
    rows = [
        (int(q), int((at[e] if e != OPEN else at[-1]) - at[b]), e != OPEN)
        for q, b, e in zip(facts.predicate, facts.begin, facts.end, strict=True)
        if b != OPEN
    ]

    def counts(d, some):
        return sum(ended and n == d for _, n, ended in some), sum(n >= d for _, n, _ in some)

    seen = max((n for _, n, ended in rows if ended), default=-1)
    units = sum(n for _, n, _ in rows) + len(rows)
    mean = min(HIGHEST, sum(ended for *_, ended in rows) / max(1, units))
    found = 1.0
    for d in range(age, age + more):
        ended, lasted = counts(d, rows)
        hazard = ended / max(1, lasted)
        own_ended, own_lasted = counts(d, [row for row in rows if row[0] == p])
        found *= 1 - (mean if d > seen else min(HIGHEST, (own_ended + PRIOR * hazard) / (own_lasted + PRIOR)))
    return found


@given(st.integers(0, 50), st.integers(0, P - 1), st.integers(0, 30), st.integers(0, 30))
def test_survival_is_the_product_over_ages(seed, p, age, more):
    data = dataset_of(random_facts(seed))
    found = Survival(data.train, data.timeline).lasting(p, age, more)
    assert found == pytest.approx(naive(data.train, data.timeline.positions, p, age, more))
    assert 0 <= found <= 1


def test_one_predicate_by_hand():
    """Two facts: one lasts 2 units, one is still running after 4."""
    zero = np.zeros(2, np.int64)
    facts = Facts(zero, zero, zero, np.array([0, 9]), np.array([1, OPEN]))
    data = dataset_of(facts)  # every other year: 2 units, and 22 − 18 = 4
    # At 2 units one of two ends: h = 1/2 for all and for the one, (1 + 10 / 2) / (2 + 10) = 1/2.
    assert Survival(facts, data.timeline).lasting(0, 0, 3) == pytest.approx(0.5)
    assert Survival(facts, data.timeline).lasting(0, 0, 2) == 1
    # Beyond what was seen, the mean hazard: one end in 2 + 4 + 2 units.
    assert Survival(facts, data.timeline).lasting(0, 3, 2) == pytest.approx((1 - 1 / 8) ** 2)


def test_without_facts_nothing_ends():
    data = dataset_of(random_facts(0))
    assert Survival(Facts.empty(), data.timeline).lasting(0, 3, 5) == 1
