"""Dates as people write them: all dates of a column together show its format, and each becomes an ISO date.

Ambiguous dates are not guessed: 03/04/2020 needs `date_format`, unless another date of the file settles it.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import floor

from knowwhen.errors import BadInput, BadRequest
from knowwhen.facts.dates import MISFIT

Ends = tuple[str | None, str | None]  # ISO texts that begin and end a span, None where they are open

NAMED = ("iso", "dmy", "mdy", "ymd", "excel", "unix", "unix-ms")
OPEN_WORDS = {"present", "now", "current", "currently", "today", "ongoing", "to date", "unknown", "?", "-", "–", "—"}
ENDLESS = re.compile(r"9999(?:-.*)?|-?infinity|0001-01-01.*", re.I)  # how databases write an open end
UNIX = range(-62_135_596_800, 253_402_300_800)  # seconds of the years 1 to 9999, which Python knows
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_CLOCK = r"(?P<clock>[T ,]+\d{1,2}:\d\d.*)?"
_SHORT = re.compile(r"(?P<a>\d{1,2})(?P<sep>[./-])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4})" + _CLOCK)
_YEAR_FIRST = re.compile(r"(?P<y>\d{4})(?P<sep>[./-])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})" + _CLOCK)
_MONTH_YEAR = re.compile(r"(?P<m>\d{1,2})[./](?P<y>\d{4})")
_DAY_WORD = re.compile(r"(?P<d>\d{1,2})(?:\.|st|nd|rd|th)?[ -](?P<w>[a-z]{3,9})\.?,?[ -](?P<y>\d{4})" + _CLOCK, re.I)
_WORD_DAY = re.compile(r"(?P<w>[a-z]{3,9})\.? (?P<d>\d{1,2})(?:st|nd|rd|th)?,? (?P<y>\d{4})" + _CLOCK, re.I)
_WORD_YEAR = re.compile(r"(?P<w>[a-z]{3,9})\.?,?[ -](?P<y>\d{4})", re.I)
_SERIAL = re.compile(r"[1-9]\d{4}(?:\.\d+)?")
_SECONDS = re.compile(r"\d{9,10}(?:\.\d+)?")
_MILLISECONDS = re.compile(r"\d{12,13}")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_YEAR = re.compile(r"-?\d{1,4}")
_FLOAT_YEAR = re.compile(r"(-?\d{1,4})\.0+")  # of a column in which some years are missing, as pandas writes it
_YEARS = re.compile(r"(-?\d{3,4}) ?[-–—] ?(-?\d{3,4}|[a-z ]*)", re.I)
_SPAN = re.compile(r"(?:from )?(.*\S)(?: - | ?[–—] ?| to | until | bis |/(?=\d{4}-))(.*)", re.I)
_SINCE, _UNTIL = re.compile(r"(?:since|from|seit) (.+)", re.I), re.compile(r"(?:until|till|to|bis) (.+)", re.I)


@dataclass
class Calendar:
    """How the dates of one file are written, and how many were in each way."""

    given: str | None = None  # one of NAMED, or a pattern such as %d.%m.%Y
    day_first: bool | None = None
    is_serial: bool = False
    found: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, texts: Iterable[str], given: str | None, columns: str, name: str) -> Calendar:
        """The calendar that fits all dates of a file; an error if they are ambiguous."""
        if given is not None:
            _check_format(given)
            return cls(given, {"dmy": True, "mdy": False}.get(given), given == "excel")
        parts = [part for text in texts for part in _sides(text.strip()) if part]
        _check_unix(parts, columns, name)
        return cls(None, _day_first(parts, columns, name), _is_serial(parts, columns, name))

    def read(self, text: str) -> Ends:
        """The ends of a date or span as ISO texts; a text that is no date comes back as it is."""
        text = text.strip()
        sides = (text,) if self.given and "%" in self.given else _sides(text)
        dates = [self._date(side) for side in sides]
        if len(sides) > 1:
            self.found["begin and end in one column"] += 1
        return dates[0], dates[-1]

    def _date(self, text: str) -> str | None:
        if not text or text.lower() in OPEN_WORDS:
            return None
        date = self._iso(text)
        if ENDLESS.fullmatch(date) and self.given != "iso":
            self.found["9999-12-31 and similar, read as open"] += 1
            return None
        return date

    def _iso(self, text: str) -> str:
        if self.given and "%" in self.given:
            return self._by_pattern(text, self.given)
        if self.given == "iso":
            return text
        for style, written in (("numbers", self._by_number(text)), ("words", _by_word(text))):
            if written is not None:
                name, date = written
                self.found[name or style] += 1
                return date
        if re.match(r"[+-]?[\d#]", text):
            self.found["ISO 8601"] += 1
        return text

    def _by_number(self, text: str) -> tuple[str, str] | None:
        if match := _YEAR_FIRST.fullmatch(text):
            style = "ISO 8601" if match["sep"] == "-" else f"yyyy{match['sep']}mm{match['sep']}dd"
            return style, _iso(match["y"], match["m"], match["d"], match["clock"])
        if match := _SHORT.fullmatch(text):
            day, month = (match["a"], match["b"]) if self.day_first is not False else (match["b"], match["a"])
            sep = match["sep"]
            style = f"dd{sep}mm{sep}yyyy" if self.day_first is not False else f"mm{sep}dd{sep}yyyy"
            return style, _iso(match["y"], month, day, match["clock"])
        if match := _MONTH_YEAR.fullmatch(text):
            return "mm/yyyy", f"{match['y']}-{match['m']:0>2}"
        if (self.is_serial or self.given == "excel") and re.fullmatch(r"\d{1,5}(?:\.\d+)?", text):
            moment = datetime(1899, 12, 30, tzinfo=UTC) + timedelta(minutes=round(float(text) * 1440))
            return "Excel day numbers", _of_moment(moment, clock="." in text)
        if match := _FLOAT_YEAR.fullmatch(text):
            return "years with decimals", match[1]
        return self._by_unix(text)

    def _by_unix(self, text: str) -> tuple[str, str] | None:
        """With the unit given, any number; else those that are too long to be anything else."""
        if not _NUMBER.fullmatch(text):
            return None
        is_given = self.given in ("unix", "unix-ms")
        if self.given == "unix-ms" or (not is_given and _MILLISECONDS.fullmatch(text)):
            unit, seconds = "Unix milliseconds", float(text) / 1000
        elif is_given or _SECONDS.fullmatch(text):
            unit, seconds = "Unix seconds", float(text)
        else:
            return None
        return (unit, _of_seconds(floor(seconds))) if floor(seconds) in UNIX else None

    def _by_pattern(self, text: str, pattern: str) -> str:
        try:
            moment = datetime.strptime(text, pattern)
        except ValueError:
            return f"{text}{MISFIT}{pattern}"  # not a date, so it is reported as a bad row
        self.found[pattern] += 1
        if not re.search(r"%[dejx]", pattern):
            return f"{moment:%Y-%m}" if re.search("%[mbB]", pattern) else f"{moment.year:04}"
        return _of_moment(moment, clock=bool(re.search("%[HIXcs]", pattern)))


def _sides(text: str) -> tuple[str, ...]:
    """One date, or the two of a span in one column; '' where one is open."""
    if match := _YEARS.fullmatch(text):
        if match[2].strip().isdigit() or match[2].strip().lower() in {*OPEN_WORDS, ""}:
            return match[1], match[2].strip()
    elif (match := _SPAN.fullmatch(text)) and any(c.isdigit() for c in match[1]):
        return match[1].strip(), match[2].strip()
    elif match := _SINCE.fullmatch(text):
        return match[1], ""
    elif match := _UNTIL.fullmatch(text):
        return "", match[1]
    elif ".." in text:
        first, _, last = text.partition("..")
        return first.strip(), last.strip()
    return (text,)


def _day_first(texts: list[str], columns: str, name: str) -> bool | None:
    """Whether the day comes before the month, told by parts above 12; None where no date has such a form."""
    dates = [match for text in texts if (match := _SHORT.fullmatch(text))]
    if not dates:
        return None
    tells_day = next((match[0] for match in dates if int(match["a"]) > 12), None)
    tells_month = next((match[0] for match in dates if int(match["b"]) > 12), None)
    if tells_day and tells_month:
        raise BadInput(
            f"{name}: dates in {columns} have the day first ({tells_day}) and the month first ({tells_month}); "
            "use one format, or choose one with --date-format dmy or mdy and skip the others with --skip-bad"
        )
    if tells_day or tells_month:
        return tells_day is not None
    if all(match["sep"] == "." for match in dates):
        return True  # nobody writes months first with dots
    first = dates[0]
    raise BadInput(
        f"{name}: {first[0]!r} in {columns} is ambiguous: {int(first['a'])} {_month_name(first['b'])} "
        f"(--date-format dmy) or {int(first['b'])} {_month_name(first['a'])} (--date-format mdy)?"
    )


def _check_format(given: str) -> None:
    """An error unless it is a name of ours or a pattern that Python knows."""
    if given in NAMED:
        return
    try:
        datetime.strptime("", given)
    except ValueError as error:
        if "%" in given and "does not match" in str(error):
            return
    raise BadRequest(f"--date-format is {given!r}; expected {', '.join(NAMED)}, or a pattern such as %d.%m.%Y")


def _check_unix(texts: list[str], columns: str, name: str) -> None:
    """Times before 1973 are short or negative in Unix's numbers: next to longer ones they may be years or not."""
    unix = next((text for text in texts if _SECONDS.fullmatch(text) or _MILLISECONDS.fullmatch(text)), None)
    if unix is None:
        return
    unit = "unix-ms" if _MILLISECONDS.fullmatch(unix) else "unix"
    long = _MILLISECONDS if unit == "unix-ms" else _SECONDS
    other = next((text for text in texts if _NUMBER.fullmatch(text) and not long.fullmatch(text)), None)
    if other is not None:
        raise BadInput(
            f"{name}: {other!r} in {columns} is ambiguous next to {unix!r}: a date (--date-format iso) or Unix time "
            f"(--date-format {unit})?"
        )


def _is_serial(texts: list[str], columns: str, name: str) -> bool:
    """Whether numbers of five digits are Excel's days since 1900; a file that has years too does not tell."""
    serial = next((text for text in texts if _SERIAL.fullmatch(text)), None)
    year = next((text for text in texts if _YEAR.fullmatch(text) or _FLOAT_YEAR.fullmatch(text)), None)
    if serial is not None and year is not None:
        raise BadInput(
            f"{name}: {serial!r} in {columns} is ambiguous next to {year!r}: a year (--date-format iso) or an Excel "
            "day number (--date-format excel)?"
        )
    return serial is not None


def _by_word(text: str) -> tuple[str, str] | None:
    """8 May 1945, May 8, 1945, May 1945."""
    for pattern in (_DAY_WORD, _WORD_DAY, _WORD_YEAR):
        if (match := pattern.fullmatch(text)) and match["w"][:3].lower() in MONTHS:
            month = str(MONTHS.index(match["w"][:3].lower()) + 1)
            parts = match.groupdict()
            if "d" not in parts:
                return "month names", f"{match['y']}-{month:0>2}"
            return "month names", _iso(match["y"], month, match["d"], parts["clock"])
    return None


def _iso(year: str, month: str, day: str, clock: str | None) -> str:
    return f"{year}-{month:0>2}-{day:0>2}" + _iso_clock(clock)


def _iso_clock(clock: str | None) -> str:
    """'T13:05' of ' 1:05 PM' or ' 13:05:59+01:00'; what is no clock is kept, and makes no date."""
    if clock is None:
        return ""
    match = re.fullmatch(r"[T ,]+(\d{1,2}):(\d\d)([\d:.]*) ?(?:([ap])\.?m\.?)?(.*)", clock, re.I)
    if match is None:
        return clock
    hour = int(match[1]) % 12 + 12 * (match[4].lower() == "p") if match[4] else int(match[1])
    return f"T{hour:02}:{match[2]}{match[5]}"


def _of_moment(moment: datetime, *, clock: bool) -> str:
    return f"{moment.year:04}-{moment:%m-%d}" + (f"T{moment:%H:%M}" if clock else "")


def _of_seconds(seconds: int) -> str:
    return _of_moment(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds), clock=True)


def _month_name(number: str) -> str:
    return month_name[int(number)] if 1 <= int(number) <= 12 else number
