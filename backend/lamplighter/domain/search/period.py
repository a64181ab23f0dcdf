"""Periods of time that a question names: yesterday, last week, in October, on 4 March 2026."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from lamplighter.domain.errors import Invalid, InvalidField

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)
MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_MONTH: Final = (
    "(january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
UNITS: Final = {"hour": timedelta(hours=1), "day": DAY, "week": WEEK, "month": timedelta(days=30)}
_MOST: Final = 9_999
_YEARS: Final = range(1970, 9_999)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Period:
    """A period of time, and the words that name it; its end is exclusive."""

    label: str
    start: datetime
    end: datetime

    def holds(self, at: datetime | None) -> bool:
        """Whether a moment is in the period."""
        return at is not None and self.start <= at < self.end


def find_period(text: str, *, now: datetime) -> Period | None:
    """Return the first period that a text names; None for none."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    found = (
        (match.start(), match[0], read(match, today, now))
        for form, read in _FORMS
        if (match := form.search(text)) is not None
    )
    named = [(at, words, span) for at, words, span in found if span is not None]
    if not named:
        return None
    _, words, (start, end) = min(named, key=lambda each: each[0])
    return Period(words.lower(), start, end)


Span = tuple[datetime, datetime]
Read = Callable[[re.Match[str], datetime, datetime], Span | None]


def _read_day(match: re.Match[str], today: datetime, now: datetime) -> Span:
    start = today if match[1].lower() == "today" else today - DAY
    return start, start + DAY


def _read_last(match: re.Match[str], today: datetime, now: datetime) -> Span:
    unit = match[2].lower()
    if unit == "week":
        start = today - timedelta(days=today.weekday())
        this, last = (start, start + WEEK), (start - WEEK, start)
    elif unit == "month":
        start = today.replace(day=1)
        this, last = _month_span(start.year, start.month), ((start - DAY).replace(day=1), start)
    else:
        this, last = _year_span(today.year), _year_span(today.year - 1)
    return this if match[1].lower() == "this" else last


def _read_ago(match: re.Match[str], today: datetime, now: datetime) -> Span | None:
    """Read `3 days ago` as a period around that moment, as long as its unit."""
    count, size = int(match[1]), UNITS[match[2].lower()]
    if count > _MOST or size * count > now - _EPOCH:
        return None
    at = now - size * count
    return at - size / 2, at + size / 2


def _read_duration(match: re.Match[str], today: datetime, now: datetime) -> Span | None:
    size = UNITS[match[2].lower()] * int(match[1])
    return (now - size, now + DAY) if size <= now - _EPOCH else None


def _read_weekday(match: re.Match[str], today: datetime, now: datetime) -> Span:
    back = (today.weekday() - DAYS.index(match[1].lower()) - 1) % 7 + 1
    return today - back * DAY, today - (back - 1) * DAY


def _read_named_month(match: re.Match[str], today: datetime, now: datetime) -> Span | None:
    month = _month_number(match[1])
    year = int(match[2] or today.year - (month > today.month))
    return _month_span(year, month) if not match[2] or year in _YEARS else None


def _read_date(match: re.Match[str], today: datetime, now: datetime) -> Span | None:
    try:
        start = datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC)
        return start, start + DAY
    except (ValueError, OverflowError):
        return None


def _resolve_day(day: str, month: str, year: str | None, today: datetime) -> Span | None:
    """Read a day; one without a year is the most recent such day."""
    try:
        start = datetime(int(year or today.year), _month_number(month), int(day), tzinfo=UTC)
        if year is None and start > today:
            start = start.replace(year=today.year - 1)
        return start, start + DAY
    except (ValueError, OverflowError):
        return None


def _month_number(month: str) -> int:
    return next(at for at, name in enumerate(MONTHS, 1) if name[:3] == month[:3].lower())


def leading_date(text: str) -> datetime | None:
    """Return the date at the beginning of a text, as in logs and transcripts; None for none."""
    match = _BEGINS.match(text[:_LEAD])
    if match is None or _HAS_YEAR.search(match[0]) is None:
        return None
    # with a year, the date does not depend on the current day
    found = find_period(match[0], now=_ANY)
    return found.start if found is not None and found.end - found.start == DAY else None


def _year_span(year: int) -> Span:
    return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)


def _month_span(year: int, month: int) -> Span:
    start = datetime(year, month, 1, tzinfo=UTC)
    return start, datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)


def _compile_form(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){words}(?![\w-])", re.IGNORECASE | re.ASCII)


_DAY_OF: Final = "([0-9]{1,2})(?:st|nd|rd|th)?"
_UNIT: Final = "(hour|day|week|month)s?"
_FORMS: Final[tuple[tuple[re.Pattern[str], Read], ...]] = (
    (_compile_form("(today|yesterday)"), _read_day),
    (_compile_form("(this|last) (week|month|year)"), _read_last),
    (_compile_form(rf"([0-9]{{1,4}}) {_UNIT} ago"), _read_ago),
    (_compile_form(rf"(?:last|past) ([0-9]{{1,3}}) {_UNIT}"), _read_duration),
    (_compile_form(rf"(?:on |last )({'|'.join(DAYS)})"), _read_weekday),
    (
        _compile_form(rf"(?:in|since|during) ({'|'.join(MONTHS)})(?: ([0-9]{{4}}))?"),
        _read_named_month,
    ),
    (_compile_form("([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T[0-9:.]+Z?)?"), _read_date),
    (
        _compile_form(rf"{_DAY_OF}(?: of)? {_MONTH}(?:[.,]*[ ]([0-9]{{4}}))?"),
        lambda match, today, now: _resolve_day(match[1], match[2], match[3], today),
    ),
    (
        _compile_form(rf"{_MONTH}[.]? ([0-9]{{1,2}})(?:st|nd|rd|th)?(?:[, ]{{1,2}}([0-9]{{4}}))?"),
        # "may 5 of us" is not a date
        lambda match, today, now: (
            None if match[1].islower() else _resolve_day(match[2], match[1], match[3], today)
        ),
    ),
    (_compile_form(rf"{_MONTH} ([0-9]{{4}})"), _read_named_month),
    (
        _compile_form("(?:in|since|during) ([0-9]{4})"),
        lambda match, today, now: _year_span(int(match[1])) if int(match[1]) in _YEARS else None,
    ),
)
_LEAD: Final = 120
_HAS_YEAR: Final = re.compile("[0-9]{4}")
_ANY: Final = datetime(2000, 1, 1, tzinfo=UTC)
STAMP: Final = (
    r"(?=[0-9]|[A-Za-z]+,? (?:[A-Za-z]+ )?[0-9])"
    r"(?=(?P<stamp>"
    rf"(?:(?:[0-9][0-9T:./+-]*+(?:st|nd|rd|th|Z)?|[ap]m|on|at|of|{'|'.join(DAYS)}"
    rf"|{_MONTH.strip('()')})(?![A-Za-z0-9])[ ,.]{{0,2}}+){{1,10}}))(?P=stamp)"
)
"""A timestamp before a text.

It is not read in several ways: a text of `1.1.1.1` would otherwise cause excessive backtracking.
"""

_BEGINS: Final = re.compile(rf"[\s\[(>*_-]{{0,8}}(?i:{STAMP})")


_RFC_3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,12})?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def parse_moment(text: str | None, name: str) -> datetime | None:
    """Parse a moment in RFC 3339; raises Invalid, naming the field, for any other form."""
    if text is None:
        return None
    try:
        if _RFC_3339.fullmatch(text) is None:
            raise ValueError
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Invalid(InvalidField(name, "must be a time such as 2026-01-01T12:00:00Z")) from error


def parse_future_moment(text: str | None, name: str, *, now: datetime) -> datetime | None:
    """Parse a moment in the future; raises Invalid for any other."""
    found = parse_moment(text, name)
    if found is not None and found <= now:
        raise Invalid(InvalidField(name, "is in the past"))
    return found


def parse_elapsed_moment(text: str | None, name: str, *, now: datetime) -> datetime | None:
    """Parse a moment that is not in the future; raises Invalid for any other."""
    found = parse_moment(text, name)
    if found is not None and found > now:
        raise Invalid(InvalidField(name, "is in the future"))
    return found
