"""Dates as tables have them: read in one way, or not at all."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import knowwhen as kw
from knowwhen.errors import BadFacts, BadInput, BadRequest
from knowwhen.facts.formats.calendars import Calendar


def read(*texts, given=None):
    calendar = Calendar.of(texts, given, "'date'", "f.csv")
    return [calendar.read(text) for text in texts]


def both(text):
    return (text, text)


@pytest.mark.parametrize(
    ("texts", "dates"),
    [
        (["08.05.1945", "1.2.1950"], ["1945-05-08", "1950-02-01"]),
        (["13/05/1945", "01/02/1950"], ["1945-05-13", "1950-02-01"]),
        (["05/13/1945", "01/02/1950"], ["1945-05-13", "1950-01-02"]),
        (["13-05-1945"], ["1945-05-13"]),
        (["1945/5/8", "1945.05.09", "1945-5-8"], ["1945-05-08", "1945-05-09", "1945-05-08"]),
        (["8 May 1945", "May 8, 1945", "8th of"], ["1945-05-08", "1945-05-08", "8th of"]),
        (["08-May-1945", "May 1945", "Sept. 3, 1939"], ["1945-05-08", "1945-05", "1939-09-03"]),
        (["05/1945"], ["1945-05"]),
        (["43831", "43832"], ["2020-01-01", "2020-01-02"]),
        (["43831.5"], ["2020-01-01T12:00"]),
        (["1394582400"], ["2014-03-12T00:00"]),
        (["1394582400000"], ["2014-03-12T00:00"]),
        (["13.05.1945 14:30"], ["1945-05-13T14:30"]),
        (["5/13/1945, 2:30 PM"], ["1945-05-13T14:30"]),
        (["1999", "-44", "2014-03", "20140305", "19##"], ["1999", "-44", "2014-03", "20140305", "19##"]),
        (["2001.0", "-44.0"], ["2001", "-44"]),
        (["someday"], ["someday"]),
    ],
)
def test_the_format_is_told_from_all_dates(texts, dates):
    assert read(*texts) == [both(date) for date in dates]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("2009-2017", ("2009", "2017")),
        ("2009 – 2017", ("2009", "2017")),
        ("2009–", ("2009", None)),
        ("2009-present", ("2009", None)),
        ("since 2009", ("2009", None)),
        ("until 2017", (None, "2017")),
        ("from 2009 to 2017", ("2009", "2017")),
        ("2009..2017-06", ("2009", "2017-06")),
        ("13.05.2009 - 31.12.2010", ("2009-05-13", "2010-12-31")),
        ("2009-05-13/2010-12-31", ("2009-05-13", "2010-12-31")),
        ("2009-12", ("2009-12", "2009-12")),
        ("9999-12-31", (None, None)),
        ("infinity", (None, None)),
        ("present", (None, None)),
    ],
)
def test_spans_in_one_column(text, ends):
    assert read(text) == [ends]


@pytest.mark.parametrize(
    ("texts", "given", "error", "message"),
    [
        (
            ["03/04/2020"],
            None,
            BadInput,
            r"'03/04/2020' in 'date' is ambiguous: 3 April .*dmy\) or 4 March .*mdy",
        ),
        (["13/04/2020", "04/13/2020"], None, BadInput, r"the day first \(13/04/2020\) and the month first \(04/13"),
        (
            ["43831", "1999"],
            None,
            BadInput,
            "'43831' in 'date' is ambiguous next to '1999': a year .* iso.* or an Excel day number .* excel",
        ),
        (["43831.0", "1999.0"], None, BadInput, "'43831.0' in 'date' is ambiguous next to '1999.0'"),
        (["1394582400", "86400"], None, BadInput, r"'86400' in 'date' is ambiguous .* '1394582400': .* iso.* unix\)"),
        (["-864000000", "1394582400000"], None, BadInput, r"'-864000000' .* \(--date-format unix-ms\)"),
        (["1394582400", "1394582400000"], None, BadInput, "'1394582400000' .* ambiguous next to '1394582400'"),
        (["1999"], "julian", BadRequest, "--date-format is 'julian'; expected iso, dmy"),
        (["1999"], "%Q", BadRequest, "--date-format is '%Q'; expected iso, dmy"),
    ],
)
def test_what_can_be_read_in_two_ways_is_asked_for(texts, given, error, message):
    with pytest.raises(error, match=message):
        read(*texts, given=given)


@pytest.mark.parametrize(
    ("given", "text", "date"),
    [
        ("dmy", "03/04/2020", "2020-04-03"),
        ("mdy", "03/04/2020", "2020-03-04"),
        ("iso", "43831", "43831"),
        ("excel", "43831", "2020-01-01"),
        ("unix", "86400", "1970-01-02T00:00"),
        ("unix", "0", "1970-01-01T00:00"),
        ("unix", "-1.5", "1969-12-31T23:59"),
        ("unix-ms", "-86400000", "1969-12-31T00:00"),
        ("unix", "253402214400", None),  # 9999-12-31
        ("unix", "1" * 20, "1" * 20),
        ("%d.%m.%y", "03.04.20", "2020-04-03"),
        ("%m/%Y", "04/2020", "2020-04"),
        ("%Y", "2020", "2020"),
        ("%d.%m.%Y %H:%M", "03.04.2020 17:05", "2020-04-03T17:05"),
    ],
)
def test_a_format_that_is_given_is_used(given, text, date):
    assert read(text, given=given) == [both(date)]


@given(st.lists(st.dates(), min_size=1), st.sampled_from(["%d.%m.%Y", "%Y/%m/%d", "%d %B %Y", "%Y-%m-%d"]))
def test_dates_come_back_whatever_way_they_are_written(dates, pattern):
    written = [date.strftime(pattern.replace("%Y", f"{date.year:04}")) for date in dates]
    expected = [None if d.year == 9999 or d == datetime.date.min else d.isoformat() for d in dates]
    assert [begin for begin, _ in read(*written)] == expected


def test_dates_reach_the_facts_and_those_that_do_not_fit_are_bad_rows(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("s,p,o,begin,end\na,b,c,13.05.2001,31.12.9999\na,b,d,1.6.2001,\n")
    data = kw.load(path, fractions=(0, 0), date_format="%d.%m.%Y")
    assert data.named(data.train).rows() == [
        ("a", "b", "c", "2001-05-13", None),
        ("a", "b", "d", "2001-06-01", None),
    ]
    path.write_text("s,p,o,when\na,b,c,2001-2004\na,b,d,2005–\na,b,e,9999-12-31\n")
    data = kw.load(path, fractions=(0, 0))
    assert data.named(data.train)["begin"].to_list() == ["2001", "2005", None]
    assert data.named(data.train)["end"].to_list() == ["2004", None, None]
    with pytest.raises(BadFacts, match=r"f\.csv:2: when: '2001-2004' is not a date; expected %d.%m.%Y"):
        kw.load(path, date_format="%d.%m.%Y")
