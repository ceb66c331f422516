"""When a statement holds: Wikidata's times and qualifiers as spans of days."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from knowwhen.errors import BadDate
from knowwhen.facts.dates import Period, civil, parse_period
from knowwhen.wikidata.lines import Snak, Times

MILLENNIUM, YEAR, MONTH, DAY = 6, 9, 10, 11  # Wikidata's codes of precision
JULIAN = "Q1985786"  # the proleptic Julian calendar; the other one, Q1985727, is the Gregorian


class Span(NamedTuple):
    """First and last day, None where open."""

    begin: int | None
    end: int | None


STATIC = Span(None, None)


def spans(times: Times, notes: Counter[str]) -> list[Span]:
    """The spans in which a statement holds, at least one; what is worth knowing about them is counted in the notes.

    Begin and end make a span, and where there are several that alternate in time, several spans; otherwise the span
    that covers all of them. Points in time count where there is neither begin nor end.
    """
    if times.begin or times.end:
        return _between(_periods(times.begin, notes), _periods(times.end, notes), notes)
    points = [Span(p.first, p.last) for p in _periods(times.point, notes) if p is not None]
    return sorted(set(points)) or [STATIC]


def _between(begins: list[Period | None], ends: list[Period | None], notes: Counter[str]) -> list[Span]:
    if len(begins) <= 1 and len(ends) <= 1:
        return [_cover(begins, ends)]
    known_begins, known_ends = (sorted(p for p in side if p is not None) for side in (begins, ends))
    alternating = _alternate(known_begins, known_ends)
    if alternating:
        return alternating
    notes["statements_with_several_times_covered_by_one_span"] += 1
    return [_cover(begins, ends)]


def _cover(begins: Sequence[Period | None], ends: Sequence[Period | None]) -> Span:
    """From the earliest begin to the latest end; a side with nothing or an unknown in it is open."""
    firsts = [p.first for p in begins if p is not None]
    lasts = [p.last for p in ends if p is not None]
    return Span(
        min(firsts) if firsts and len(firsts) == len(begins) else None,
        max(lasts) if lasts and len(lasts) == len(ends) else None,
    )


def _alternate(begins: list[Period], ends: list[Period]) -> list[Span]:
    """A span for each begin with the end that follows it, or nothing when they do not alternate.

    The first begin or the last end may be missing. An end and the next begin may lie in the same period: two terms that
    meet in 1995 are both given by year.
    """
    firsts: list[Period | None] = [*begins]
    lasts: list[Period | None] = [*ends]
    if len(ends) == len(begins) + 1:
        firsts.insert(0, None)
    elif len(begins) == len(ends) + 1:
        lasts.append(None)
    if len(firsts) != len(lasts):
        return []
    in_order = all(b is None or e is None or b.first <= e.last for b, e in zip(firsts, lasts, strict=True))
    apart = all(e is None or b is None or e.first <= b.last for e, b in zip(lasts, firsts[1:], strict=False))
    if not in_order or not apart:
        return []
    return [_cover([b], [e]) for b, e in zip(firsts, lasts, strict=True)]


def _periods(snaks: Sequence[Snak], notes: Counter[str]) -> list[Period | None]:
    """The period of each qualifier, None where it is unknown (somevalue), none (novalue) or unreadable."""
    periods = []
    for snak in snaks:
        value = snak.value
        if snak.snaktype != "value":
            period, note = None, f"times_{snak.snaktype}" if snak.snaktype in NO_VALUE else "times_of_unknown_snak_type"
        elif value is None or value.time is None:
            period, note = None, "times_unreadable"
        else:
            period, note = read_time(value.time, value.precision, value.calendar or "")
        if note:
            notes[note] += 1
        periods.append(period)
    return periods


NO_VALUE = ("somevalue", "novalue")


@lru_cache(maxsize=1 << 16)  # the same years come again and again
def read_time(time: str, precision: float | None, calendar: str) -> tuple[Period | None, str]:
    """The days that a time value covers, and a note where that is not what is written.

    Coarser than a millennium says nothing on an axis of years: open. A day that its month does not have stands for the
    month, a month that no year has for the year. A Julian day becomes the Gregorian one; Julian months and years stay
    as written.
    """
    code = DAY if precision is None or not math.isfinite(precision) else int(precision)
    if code < MILLENNIUM:
        return None, "times_coarser_than_a_millennium"
    is_julian = code >= DAY and calendar.endswith(JULIAN)
    text = _gregorian(time) if is_julian else time
    for attempt in (code, MONTH, YEAR):
        try:
            period = _before_christ(text, code) if code < YEAR and text.startswith("-") else parse_period(text, attempt)
        except BadDate:
            continue
        return period, "times_with_an_impossible_day" if attempt != code else "times_julian" if text != time else ""
    return None, "times_unreadable"


def _before_christ(time: str, precision: int) -> Period | None:
    """The mirror of the same time after Christ: -0044 is in the century from -100 to -1, there being no year 0."""
    after = parse_period("+" + time[1:], precision)
    if after is None:
        return None
    nearest, furthest = civil(after.first)[0], civil(after.last)[0]
    return Period.of_years(-furthest, -max(nearest, 1))


_DATE = re.compile(r"([+-])(\d{1,12})-(\d\d)-(\d\d)(?:T.*)?")


def _gregorian(time: str) -> str:
    """The Gregorian date of a Julian one, years as written (no year 0); the text itself where there is no such day."""
    match = _DATE.fullmatch(time)
    if not match:
        return time
    year, month, day = (int(part) for part in match.groups()[1:])
    year = 1 - year if match[1] == "-" else year  # 44 BCE is the year -43 of astronomers, whose leap years are regular
    lengths = (31, 28 if year % 4 else 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not (1 <= month <= 12 and 1 <= day <= lengths[month - 1]):
        return time
    year, month, day = civil(julian_day_number(year, month, day))
    return f"{'-' if year < 1 else '+'}{1 - year if year < 1 else year:04}-{month:02}-{day:02}"


def julian_day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 (Gregorian) of a date on the Julian calendar, for any astronomical year."""
    # Years run from March, so that the leap day is the last of its year.
    year -= month <= 2
    return 365 * year + year // 4 + (153 * ((month + 9) % 12) + 2) // 5 + day - 1 - 719_470
