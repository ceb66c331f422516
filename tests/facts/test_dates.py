import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowwhen.errors import BadDate
from knowwhen.facts.dates import Granularity, Period, civil, day_number, parse_period

DAYS = st.integers(-100_000_000, 100_000_000)  # years of six digits too


def days(first: tuple[int, int, int], last: tuple[int, int, int]) -> Period:
    return Period(day_number(*first), day_number(*last))


@given(st.dates())
def test_day_numbers_are_those_of_datetime(date):
    assert day_number(date.year, date.month, date.day) == (date - datetime.date(1970, 1, 1)).days


@given(DAYS)
def test_civil_is_the_inverse_of_day_number_for_any_year(day):
    assert day_number(*civil(day)) == day


@given(DAYS, st.sampled_from(Granularity))
def test_a_unit_holds_its_days_and_prints_and_parses_back(day, granularity):
    period = granularity.period(granularity.position(day))
    assert period.first <= day <= period.last
    assert granularity.positions(period) == (granularity.position(day),) * 2
    assert period.granularity is (Granularity.DAY if granularity.has_clock else granularity)
    assert parse_period(str(period), clock=granularity.has_clock) == period


@given(DAYS, st.integers(0, 4000))
def test_any_period_prints_and_parses_back(first, length):
    period = Period(first, first + length)
    assert parse_period(str(period)) == period


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("1945", days((1945, 1, 1), (1945, 12, 31))),
        ("-44", days((-44, 1, 1), (-44, 12, 31))),
        ("0", days((0, 1, 1), (0, 12, 31))),
        ("99-##-##", days((99, 1, 1), (99, 12, 31))),
        ("12000", days((12000, 1, 1), (12000, 12, 31))),
        ("+123456789", days((123456789, 1, 1), (123456789, 12, 31))),
        ("2014-02", days((2014, 2, 1), (2014, 2, 28))),
        ("2012-02", days((2012, 2, 1), (2012, 2, 29))),
        ("2014-12", days((2014, 12, 1), (2014, 12, 31))),
        ("2014-03-05", days((2014, 3, 5), (2014, 3, 5))),
        ("20140305", days((2014, 3, 5), (2014, 3, 5))),
        ("2014-03-05T23:59:59.5+02:00", days((2014, 3, 5), (2014, 3, 5))),
        ("2014-03-05 10:11", days((2014, 3, 5), (2014, 3, 5))),
        ('"2014-##-##"', days((2014, 1, 1), (2014, 12, 31))),
        ("2014-05-##", days((2014, 5, 1), (2014, 5, 31))),
        ("19##-##-##", days((1900, 1, 1), (1999, 12, 31))),
        ("-5#", days((-59, 1, 1), (-50, 12, 31))),
        ("+1945-00-00T00:00:00Z", days((1945, 1, 1), (1945, 12, 31))),
        ("+1945-05-00T00:00:00Z", days((1945, 5, 1), (1945, 5, 31))),
        ("-0044-03-15T00:00:00Z", days((-44, 3, 15), (-44, 3, 15))),
        ("1945Z", days((1945, 1, 1), (1945, 12, 31))),
        ("1945-05:00", days((1945, 1, 1), (1945, 12, 31))),
        ("1945-05+01:00", days((1945, 5, 1), (1945, 5, 31))),
        ("2009..2012-06", days((2009, 1, 1), (2012, 6, 30))),
        ("", None),
        ("####-##-##", None),
    ],
)
def test_texts_and_the_days_they_cover(text, period):
    assert parse_period(text) == period


@pytest.mark.parametrize(
    ("precision", "text", "period"),
    [
        (11, "+1945-05-08T00:00:00Z", "1945-05-08"),
        (10, "+1945-05-08T00:00:00Z", "1945-05"),
        (9, "+1945-05-08T00:00:00Z", "1945"),
        (8, "+1945-00-00T00:00:00Z", "1940..1949"),
        (7, "+1945-00-00T00:00:00Z", "1901..2000"),
        (7, "+2000-00-00T00:00:00Z", "1901..2000"),
        (6, "+1945-00-00T00:00:00Z", "1001..2000"),
    ],
)
def test_wikidata_precision_widens_the_period(precision, text, period):
    assert str(parse_period(text, precision)) == period


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("yesterday", r"'yesterday' is not a date; expected YYYY"),
        ("2014-13", "expected a month from 1 to 12"),
        ("2014-02-29", "expected a day from 1 to 28"),
        ("1900-02-29", "expected a day from 1 to 28"),
        ("1394582400", r"expected \+ or - before a year of more than 5 digits"),
        ("2012..2009", "not a range of dates"),
        ("..2009", "not a range of dates"),
        ("05/03/2014", "not a date"),
        ("2014-3-5", "not a date"),
        ("+", "not a date"),
    ],
)
def test_what_is_not_a_date_is_named(text, message):
    with pytest.raises(BadDate, match=message):
        parse_period(text)
