from collections import Counter
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.dumps import entity, item, moment, snak, statement
from knowwhen.facts.dates import civil, day_number
from knowwhen.wikidata.lines import Parser, Times
from knowwhen.wikidata.times import STATIC, Span, julian_day_number, read_time, spans

JULIAN = "http://www.wikidata.org/entity/Q1985786"
GREGORIAN = "http://www.wikidata.org/entity/Q1985727"


def read(text, precision, calendar=GREGORIAN):
    period, note = read_time(text, precision, calendar)
    return str(period), note


@pytest.mark.parametrize(
    ("text", "precision", "expected"),
    [
        ("+2014-12-11T00:00:00Z", 11, "2014-12-11"),
        ("+2014-12-11T00:00:00Z", 14, "2014-12-11"),
        ("+2014-12-11T00:00:00Z", 10, "2014-12"),
        ("+2014-12-11T00:00:00Z", 9, "2014"),
        ("+2014-00-00T00:00:00Z", 11, "2014"),
        ("+1945-00-00T00:00:00Z", 8, "1940..1949"),
        ("+0500-00-00T00:00:00Z", 7, "0401..0500"),
        ("+1901-00-00T00:00:00Z", 7, "1901..2000"),
        ("+1901-00-00T00:00:00Z", 6, "1001..2000"),
        ("-0027-00-00T00:00:00Z", 9, "-0027"),
        ("-0044-03-15T00:00:00Z", 11, "-0044-03-15"),
        # There is no year 0: the first century BCE is 100 to 1 BCE, the forties are 49 to 40.
        ("-0044-00-00T00:00:00Z", 7, "-0100..-0001"),
        ("-0100-00-00T00:00:00Z", 7, "-0100..-0001"),
        ("-0101-00-00T00:00:00Z", 7, "-0200..-0101"),
        ("-0044-00-00T00:00:00Z", 8, "-0049..-0040"),
        ("-0005-00-00T00:00:00Z", 8, "-0009..-0001"),
        ("-0753-00-00T00:00:00Z", 6, "-1000..-0001"),
    ],
)
def test_a_time_covers_its_precision(text, precision, expected):
    assert read(text, precision) == (expected, "")


@pytest.mark.parametrize(
    ("julian", "gregorian"),
    [
        ("+1582-10-05", "1582-10-15"),  # the day on which the new calendar began
        ("+1917-10-25", "1917-11-07"),  # the October Revolution
        ("+1700-02-29", "1700-03-11"),  # a leap day that only the old one has
        ("+1649-12-25", "1650-01-04"),  # another year
        ("-0044-03-15", "-0044-03-13"),  # the Ides of March
        ("+0001-01-01", "-0001-12-30"),  # over the year 0 that there is not
    ],
)
def test_julian_days_become_gregorian(julian, gregorian):
    assert read(f"{julian}T00:00:00Z", 11, JULIAN) == (gregorian, "times_julian")


def test_julian_months_and_years_stay_as_written():
    assert read("+1649-12-25T00:00:00Z", 10, JULIAN) == ("1649-12", "")
    assert read("+1649-12-25T00:00:00Z", 9, JULIAN) == ("1649", "")
    assert read("+1649-00-00T00:00:00Z", 11, JULIAN) == ("1649", "")


@given(st.integers(-5000, 5000), st.integers(1, 12), st.integers(1, 28))
@example(4, 2, 28)
def test_julian_days_follow_each_other_with_a_leap_year_every_four(year, month, day):
    length = (31, 28 if year % 4 else 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
    after = (year, month, day + 1) if day < length else (year + (month == 12), month % 12 + 1, 1)
    assert julian_day_number(*after) == julian_day_number(year, month, day) + 1


@given(st.dates(date(1900, 3, 1), date(2100, 2, 28)))
def test_the_calendars_are_13_days_apart_from_1900_to_2100(day):
    assert julian_day_number(day.year, day.month, day.day) == day_number(day.year, day.month, day.day) + 13


@pytest.mark.parametrize(
    ("text", "precision", "calendar", "expected"),
    [
        ("-13798000000-00-00T00:00:00Z", 3, JULIAN, ("None", "times_coarser_than_a_millennium")),
        ("+1900-02-29T00:00:00Z", 11, GREGORIAN, ("1900-02", "times_with_an_impossible_day")),
        ("+1901-02-29T00:00:00Z", 11, JULIAN, ("1901-02", "times_with_an_impossible_day")),
        ("+1900-13-01T00:00:00Z", 11, GREGORIAN, ("1900", "times_with_an_impossible_day")),
        # 29 February 45 BCE is a day of the calendar, but not of an axis that has no year 0.
        ("-0045-03-02T00:00:00Z", 11, JULIAN, ("-0045-02", "times_with_an_impossible_day")),
        ("soon", 11, GREGORIAN, ("None", "times_unreadable")),
        ("soon", 11, JULIAN, ("None", "times_unreadable")),
    ],
)
def test_what_cannot_be_a_date_is_wider_or_open_and_counted(text, precision, calendar, expected):
    assert read(text, precision, calendar) == expected


def years(found):
    return [tuple(None if day is None else civil(day)[0] for day in span) for span in found]


def snaks(*times):
    """Qualifiers of years: 1990, "1940s", "some" or "no" value."""
    found = []
    for time in times:
        if time in ("some", "no"):
            found.append(snak(580, snaktype=f"{time}value"))
        else:
            precision = 8 if str(time).endswith("s") else 9
            found.append(snak(580, moment(f"+{str(time).rstrip('s'):0>4}-00-00T00:00:00Z", precision), kind="time"))
    return found


def times(begin=(), end=(), point=()):
    qualifiers = {"P580": snaks(*begin), "P582": snaks(*end), "P585": snaks(*point)}
    line = entity(1, [(7, statement(snak(7, item(2)), **{p: found for p, found in qualifiers.items() if found}))])
    (found,) = Parser(("en",)).parse(line).claims["P7"]
    return found.qualifiers or Times()


@pytest.mark.parametrize(
    ("begin", "end", "point", "expected"),
    [
        ((), (), (), [(None, None)]),
        ((1990,), (1995,), (), [(1990, 1995)]),
        ((1990,), (), (), [(1990, None)]),
        ((), (1995,), (), [(None, 1995)]),
        ((1990,), ("no",), (), [(1990, None)]),
        (("some",), (1995,), (), [(None, 1995)]),
        ((), (), (1990,), [(1990, 1990)]),
        ((), (), ("1940s",), [(1940, 1949)]),
        ((), (), (1990, 1980, 1990), [(1980, 1980), (1990, 1990)]),
        ((), (), ("some",), [(None, None)]),
        ((1990,), (), (1992,), [(1990, None)]),  # a point beside a begin says nothing more
        (("1940s",), ("1940s",), (), [(1940, 1949)]),
        ((1990, 2000), (1995, 2005), (), [(1990, 1995), (2000, 2005)]),
        ((2000, 1990), (1995, 2005), (), [(1990, 1995), (2000, 2005)]),
        ((1990, 1995), (1995, 2000), (), [(1990, 1995), (1995, 2000)]),
        ((1980, "1990s"), (1995, 2000), (), [(1980, 1995), (1990, 2000)]),
        ((1990, 2000), (1995,), (), [(1990, 1995), (2000, None)]),
        ((1990, 2000), (1995, "no"), (), [(1990, 1995), (2000, None)]),
        ((2000,), (1995, 2005), (), [(None, 1995), (2000, 2005)]),
        ((1990, 1991), (1995, 1996), (), [(1990, 1996)]),  # two opinions, not two spans
        ((1990, 1991), (), (), [(1990, None)]),
        ((1990, 1991, "some"), (1996,), (), [(None, 1996)]),
        ((1990,), (1980,), (), [(1990, 1980)]),  # backwards: for the caller to count
    ],
)
def test_qualifiers_make_spans(begin, end, point, expected):
    assert years(spans(times(begin, end, point), Counter())) == expected


@given(st.lists(st.integers(1, 3000), unique=True, max_size=8), st.randoms())
def test_terms_that_follow_each_other_come_back_as_they_were(ends, random):
    ends = sorted(ends[: len(ends) // 2 * 2])
    terms = list(zip(ends[::2], ends[1::2], strict=True))
    begins, lasts = [b for b, _ in terms], [e for _, e in terms]
    random.shuffle(begins)
    random.shuffle(lasts)
    assert years(spans(times(begins, lasts), Counter())) == (terms or [(None, None)])


@given(st.lists(st.integers(1, 3000), max_size=4), st.lists(st.integers(1, 3000), max_size=4))
def test_no_span_is_narrower_than_what_is_said(begins, ends):
    found = spans(times(begins, ends), Counter())
    for begin in begins:
        assert any(span.begin is None or civil(span.begin)[0] <= begin for span in found)
    for end in ends:
        assert any(span.end is None or civil(span.end)[0] >= end for span in found)


def test_what_is_unusual_is_counted():
    notes = Counter()
    spans(times(["some", 1990], ["no"]), notes)
    spans(times([1990, 1991], [1995, 1996]), notes)
    assert notes == {"times_somevalue": 1, "times_novalue": 1, "statements_with_several_times_covered_by_one_span": 1}


def test_static_is_open_at_both_ends():
    assert spans(Times(), Counter()) == [STATIC] == [Span(None, None)]
