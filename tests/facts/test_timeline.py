import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.errors import TimeOutside
from knowwhen.facts.dates import Granularity, parse_period
from knowwhen.facts.timeline import Timeline


def axis(granularity: Granularity, *texts: str) -> Timeline:
    return Timeline(granularity, np.array([granularity.position(parse_period(t).first) for t in texts]))


DAILY = axis(Granularity.DAY, "2014-02-28", "2014-03-01", "2014-03-02", "2014-03-31", "2014-04-01")
YEARLY = axis(Granularity.YEAR, "1945", "1946", "1950")


@pytest.mark.parametrize(
    ("timeline", "text", "ids"),
    [
        (DAILY, "2014-03", range(1, 4)),
        (DAILY, "2014", range(5)),
        (DAILY, "2014-03-02..2014-04-01", range(2, 5)),
        (DAILY, "", range(5)),
        (DAILY, "2014-03-15", range(2, 3)),  # between two timestamps: the last before it
        (YEARLY, "1946-05-08", range(1, 2)),
        (YEARLY, "1940..1946", range(2)),
        (YEARLY, "1948", range(1, 2)),
    ],
)
def test_ids_that_a_text_covers(timeline, text, ids):
    assert timeline.ids(text) == ids


@pytest.mark.parametrize("text", ["1944", "1951", "1700..1800"])
def test_a_time_off_the_axis_says_what_the_axis_covers(text):
    with pytest.raises(TimeOutside, match=rf"'{text}' is outside the timeline, which covers 1945 to 1950 by year"):
        YEARLY.ids(text)


def test_gaps_are_the_real_distances():
    assert YEARLY.gaps.tolist() == [1, 4]
    assert DAILY.gaps.tolist() == [1, 1, 29, 1]


@given(st.sets(st.integers(-3000, 3000), min_size=1), st.sampled_from(Granularity))
def test_every_label_finds_its_own_timestamp(positions, granularity):
    timeline = Timeline(granularity, np.array(sorted(positions)))
    assert [timeline.ids(label) for label in timeline.labels()] == [range(i, i + 1) for i in range(len(timeline))]


def test_positions_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        YEARLY.positions[0] = 1
