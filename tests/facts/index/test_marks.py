"""The filter of keys: none that there is may be missed, and few that there are not may pass."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.facts.index.marks import Marks

KEYS = st.lists(st.integers(0, 1 << 40), max_size=20)


@given(KEYS, KEYS)
def test_no_key_is_missed(keys, others):
    asked = np.array([-1, *keys, *others], np.int64)
    found = Marks(np.array(keys, np.int64)).perhaps(asked)
    assert set(keys) <= set(asked[found].tolist())


def test_few_others_pass():
    keys = np.arange(10_000) * 7  # close to each other, as packed keys are
    found = Marks(keys).perhaps(np.arange(70_000))
    assert len(keys) <= len(found) < 2 * len(keys)
