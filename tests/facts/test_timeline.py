import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.errors import TimeOutside
from knowwhen.facts.dates import Granularity, parse_period
from knowwhen.facts.table import OPEN, Facts
from knowwhen.facts.timeline import Moment, Timeline, filled


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


@pytest.mark.parametrize("text", ["1944", "1700..1800"])
def test_a_time_before_the_axis_says_what_the_axis_covers(text):
    with pytest.raises(TimeOutside, match=rf"'{text}' is before the first date in the data \(1945 to 1950 by year"):
        YEARLY.ids(text)


def test_what_stands_for_a_time_that_is_not_on_the_axis_is_said():
    assert YEARLY.moment("1946") == Moment(range(1, 2), 1946, 1946)
    assert YEARLY.moment("1946").note("1946") is None
    between = YEARLY.moment("1948-02")
    assert between == Moment(range(1, 2), 1948, 1948, as_of="1946")
    assert between.note("1948-02") == "answered as of 1946: 1948-02 is not on the time axis"
    after = YEARLY.moment("1951")
    assert after == Moment(range(2, 3), 1951, 1951, as_of="1950", beyond=True)
    assert "answered as of 1950: 1951 is after the last date" in after.note("1951")


SPAN = st.tuples(st.integers(OPEN, 4), st.integers(OPEN, 4)).filter(lambda s: OPEN in s or s[0] <= s[1])


@given(st.lists(SPAN, max_size=12), st.sets(st.integers(0, 12), min_size=5, max_size=5), st.integers(0, 14))
def test_facts_hold_at_the_time_asked_for_whether_or_not_the_axis_has_it(spans, years, asked):
    timeline = Timeline(Granularity.YEAR, np.array(sorted(years)))
    spans = np.array(spans, np.int64).reshape(-1, 2)
    names = np.arange(len(spans))
    facts = Facts(names, names, names, spans[:, 0].copy(), spans[:, 1].copy())

    def holds(begin, end):
        at = sorted(years)
        return (begin == OPEN or at[begin] <= asked) and (end == OPEN or asked <= at[end])

    found = timeline.holding(facts, Moment(range(1), asked, asked))
    assert found.subject.tolist() == [i for i, span in enumerate(spans.tolist()) if holds(*span)]
    assert timeline.holding(facts, None) is facts


@given(st.lists(SPAN, max_size=8))
def test_a_filled_axis_has_begins_ends_and_the_times_at_which_a_fact_holds(spans):
    spans = np.array(spans, np.int64).reshape(-1, 2) * 3  # OPEN becomes -3
    begin, end, known = spans[:, 0], spans[:, 1], spans >= 0
    found = filled(begin, end, known[:, 0], known[:, 1]).tolist()
    dates = spans[known].tolist()
    low, high = (min(dates), max(dates)) if dates else (0, -1)
    held = [
        t
        for t in range(low, high + 1)
        if any((b < 0 or b <= t) and (e < 0 or t <= e) and max(b, e) >= 0 for b, e in spans.tolist())
    ]
    assert found == held


def test_an_axis_of_too_many_times_is_not_filled():
    begin, end, known = np.array([0, 3]), np.array([100_000, 3]), np.ones(2, bool)
    assert filled(begin, end, known, known).tolist() == [0, 3, 100_000]


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
