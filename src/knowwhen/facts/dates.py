"""Dates of any precision, as periods of days, and of minutes where a time axis counts hours or minutes.

A date text names a period: a day, a month, a year, or more when digits are unknown (`19##`). Days are numbered on the
proleptic Gregorian calendar with day 0 = 1970-01-01 and years as written (year 0 and negative years included), because
`datetime` ends at year 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from knowwhen.errors import BadDate

YEAR_DIGITS = 12  # days of any such year fit into 64 bits; the universe has 11
MINUTES = 24 * 60  # of a day
WIKIDATA_YEAR = 9  # Wikidata's precision codes: 6 millennium, 7 century, 8 decade, 9 year, 10 month, 11 day


class Granularity(StrEnum):
    """The unit of a time axis, and the map between days and positions on it."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    MONTH = "month"
    YEAR = "year"

    @property
    def has_clock(self) -> bool:
        """Whether it is finer than a day, so that times of day are read."""
        return self in (Granularity.MINUTE, Granularity.HOUR)

    def position(self, day: int, minute: int = 0) -> int:
        """The unit that holds a minute of a day: since 1970 or, for months and years, since year 0."""
        if self.has_clock:
            return day * MINUTES + minute if self is Granularity.MINUTE else day * 24 + minute // 60
        if self is Granularity.DAY:
            return day
        year, month, _ = civil(day)
        return year if self is Granularity.YEAR else 12 * year + month - 1

    def positions(self, period: Period) -> tuple[int, int]:
        """The first and last unit that a period meets."""
        return self.position(period.first, period.start), self.position(period.last, period.stop)

    def period(self, position: int) -> Period:
        """The days, or the minutes of a day, of one unit."""
        if self.has_clock:
            length = 1 if self is Granularity.MINUTE else 60
            day, minute = divmod(position * length, MINUTES)
            return Period(day, day, minute, minute + length - 1)
        if self is Granularity.DAY:
            return Period(position, position)
        if self is Granularity.YEAR:
            return Period.of_years(position, position)
        return Period.of_month(position // 12, position % 12 + 1)


@dataclass(frozen=True, order=True)
class Period:
    """An inclusive range of days, or of minutes; prints as the shortest text that `parse_period` reads back."""

    first: int
    last: int
    start: int = 0  # minutes of the first day before it
    stop: int = MINUTES - 1  # the last minute of the last day

    @classmethod
    def of_years(cls, first: int, last: int) -> Period:
        return cls(day_number(first, 1, 1), day_number(last + 1, 1, 1) - 1)

    @classmethod
    def of_month(cls, year: int, month: int) -> Period:
        after = (year + 1, 1) if month == 12 else (year, month + 1)
        return cls(day_number(year, month, 1), day_number(*after, 1) - 1)

    @property
    def granularity(self) -> Granularity:
        """The finest unit from the day that holds the whole period; longer ones count as years."""
        return next(
            (g for g in (Granularity.DAY, Granularity.MONTH) if g.position(self.first) == g.position(self.last)),
            Granularity.YEAR,
        )

    def __str__(self) -> str:
        if (self.start, self.stop) != (0, MINUTES - 1):
            return self._with_clock()
        unit = self.granularity
        if self == unit.period(unit.position(self.first)):
            year, month, day = civil(self.first)
            parts = {Granularity.YEAR: "", Granularity.MONTH: f"-{month:02}", Granularity.DAY: f"-{month:02}-{day:02}"}
            sign = "-" if year < 0 else "+" if year > 99_999 else ""
            return f"{sign}{abs(year):04}{parts[unit]}"
        for unit in (Granularity.YEAR, Granularity.MONTH):
            first, last = unit.period(unit.position(self.first)), unit.period(unit.position(self.last))
            if (first.first, last.last) == (self.first, self.last):
                return f"{first}..{last}"
        return f"{Period(self.first, self.first)}..{Period(self.last, self.last)}"

    def _with_clock(self) -> str:
        """2014-03-05T13 of an hour, 2014-03-05T13:07 of a minute, or a range of minutes."""
        hour, minute = divmod(self.start, 60)
        if self.first == self.last and minute == 0 and self.stop == self.start + 59:
            return f"{Period(self.first, self.first)}T{hour:02}"
        texts = [
            f"{Period(day, day)}T{at // 60:02}:{at % 60:02}"
            for day, at in ((self.first, self.start), (self.last, self.stop))
        ]
        return texts[0] if texts[0] == texts[1] else "..".join(texts)


# Year, then month and day that may be unknown (## or 00), then a time of day and a zone.
_CLOCK = r"(?:[T ](?P<hour>\d\d)(?::(?P<minute>\d\d)[\d:.,]*)?(?: ?(?:Z|UTC|(?P<zone>[+-]\d\d(?::?\d\d)?)))?)?"
_DATE = re.compile(
    r"(?P<sign>[+-]?)(?P<year>\d*\#*)"
    rf"(?:-(?P<month>\d\d|\#\#)(?:-(?P<day>\d\d|\#\#){_CLOCK})?)?(?:Z|[+-]\d\d:\d\d)?"
)
_COMPACT = re.compile(r"(?P<sign>)(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)")
LONGEST = 200  # characters
MISFIT = " does not match "  # between a date and the pattern it should have
_EXPECTED = "expected YYYY, YYYY-MM, YYYY-MM-DD (## or 00 for unknown parts) or FIRST..LAST"


@lru_cache(maxsize=1 << 16)  # the same dates come in every split
def parse_period(text: str, precision: int | None = None, *, clock: bool = False) -> Period | None:
    """The days that a date covers, or None if the text says nothing (empty, or `####-##-##`).

    Reads years of any sign and length, `YYYY-MM`, `YYYY-MM-DD`, `YYYYMMDD`, ISO date-times, xsd:gYear and gYearMonth
    with zones, `YYYY-##-##`, `19##`, Wikidata's `+1945-00-00T00:00:00Z`, and ranges `FIRST..LAST` of these.
    `precision` is Wikidata's code; coarser than a year, it widens the period (7: the century from 1901 to 2000). A time
    of day is ignored unless `clock` is true; a time zone converts it to UTC.
    """
    text = text.strip().strip('"')
    if len(text) > LONGEST:
        raise BadDate(f"{text[:40] + '…'!r} is not a date; {_EXPECTED}")
    if not text.strip("#-"):
        return None
    if ".." in text:
        first, last = (parse_period(part, clock=clock) for part in text.split("..", 1))
        if first is None or last is None or (first.first, first.start) > (last.last, last.stop):
            raise BadDate(f"{text!r} is not a range of dates; {_EXPECTED}")
        return Period(first.first, last.last, first.start, last.stop)
    match = _COMPACT.fullmatch(text) or _DATE.fullmatch(text)
    if not match or not match["year"]:
        raise BadDate(f"{text!r} is not a date; {_EXPECTED}")
    if not match["sign"] and len(match["year"]) > 5:
        # 20140301 is a day and was read as one; 1394582400 is no year that anyone means.
        raise BadDate(f"{text!r} is not a date; expected + or - before a year of more than 5 digits")
    if len(match["year"]) > YEAR_DIGITS:
        raise BadDate(f"{text[:40]!r} is not a date; expected a year of at most {YEAR_DIGITS} digits")
    first_year, last_year = _years(match["sign"], match["year"])
    if precision is not None and precision < WIKIDATA_YEAR:
        return _coarse(first_year, precision)
    month = _part(match["month"]) if precision is None or precision > WIKIDATA_YEAR else None
    day = _part(match["day"]) if precision is None or precision > WIKIDATA_YEAR + 1 else None
    if month is None or first_year != last_year:
        return Period.of_years(first_year, last_year)
    if not 1 <= month <= 12:
        raise BadDate(f"{text!r} is not a date; expected a month from 1 to 12")
    whole = Period.of_month(first_year, month)
    if day is None:
        return whole
    if not 1 <= day <= whole.last - whole.first + 1:
        raise BadDate(f"{text!r} is not a date; expected a day from 1 to {whole.last - whole.first + 1}")
    day += whole.first - 1
    return _of_clock(day, match) if clock and match.groupdict().get("hour") else Period(day, day)


def has_clock(text: str) -> bool:
    """Whether a date text has a time of day other than midnight, which `parse_period` reads over without `clock`."""
    return bool(re.search(r"\d[T ](?!00(?::00[0:.,]*)?\D*$)\d\d(?::|\D*$)", text))


def _of_clock(day: int, match: re.Match[str]) -> Period:
    """The hour or minute of a day, moved to UTC."""
    hour, minute, zone = int(match["hour"]), int(match["minute"] or 0), match["zone"]
    if hour > 24 or minute > 59 or (hour == 24 and minute):
        raise BadDate(f"{match[0]!r} is not a date; expected a time of day from 00:00 to 24:00")
    start = day * MINUTES + 60 * hour + minute
    if zone:
        digits = zone[1:].replace(":", "")
        offset = 60 * int(digits[:2]) + int(digits[2:] or 0)
        start += offset if zone[0] == "-" else -offset
    first, start = divmod(start, MINUTES)
    if match["minute"]:
        return Period(first, first, start, start)
    last, stop = divmod(first * MINUTES + start + 59, MINUTES)  # a zone may be off by half an hour
    return Period(first, last, start, stop)


def _part(digits: str | None) -> int | None:
    """A month or a day, None where it is left out or unknown (## or Wikidata's 00)."""
    return None if digits in (None, "##", "00") else int(digits)


def _years(sign: str, digits: str) -> tuple[int, int]:
    """The first and last year of a year text whose last digits may be unknown: 19## is 1900 to 1999."""
    low, high = int(digits.replace("#", "0")), int(digits.replace("#", "9"))
    return (-high, -low) if sign == "-" else (low, high)


def _coarse(year: int, precision: int) -> Period:
    """The decade, century, millennium … of a year: the 1940s begin in 1940, the 20th century in 1901."""
    size = 10 ** (WIKIDATA_YEAR - precision)
    start = year // size * size if size == 10 else (year - 1) // size * size + 1
    return Period.of_years(start, start + size - 1)


def day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a date on the proleptic Gregorian calendar, for any year."""
    # Years run from March, so that the leap day is the last of its year; 400 years have 146,097 days.
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def civil(day: int) -> tuple[int, int, int]:
    """Year, month and day of a day number: the inverse of `day_number`."""
    era, day_of_era = divmod(day + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    march = (5 * day_of_year + 2) // 153
    month = march + 3 if march < 10 else march - 9
    return year_of_era + 400 * era + (month <= 2), month, day_of_year - (153 * march + 2) // 5 + 1
