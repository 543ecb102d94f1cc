"""When a page was changed, read from the many ways in which sitemaps and feeds write dates."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_MAX_CHARS: Final = 100
# Nothing on the web is older; years below are defaults that nobody set.
_FIRST_YEAR: Final = 1970
_MS: Final = 1000
_MAX_OFFSET_HOURS: Final = 14
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_ZONES: Final = {
    "est": -300,
    "edt": -240,
    "cst": -360,
    "cdt": -300,
    "mst": -420,
    "mdt": -360,
    "pst": -480,
    "pdt": -420,
    "cet": 60,
    "cest": 120,
    "msk": 180,
    "jst": 540,
}
_CLOCK: Final = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d{1,9})\d*)?)?"
    r"(?:\s*(?P<half>[ap])\.?m\.?)?"
)
_ZONE: Final = r"(?:\s*(?P<zone>[a-z]{1,5})?\s*(?P<offset>[+-]\d{1,2}(?::?\d{2})?)?)?(?:\s*\(.*\))?"
_MONTH: Final = r"(?P<word>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_WEEKDAY: Final = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"

_FORMS: Final = tuple(
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        # 2024 · 2024-05 · 2024-05-17 · 2024-05-17T08:30Z and every precision (W3C, ISO 8601)
        rf"(?P<year>\d{{4}})(?:[-/.](?P<month>\d{{1,2}})(?:[-/.](?P<day>\d{{1,2}})"
        rf"(?:(?:T|\s+|\s*T\s*){_CLOCK})?{_ZONE})?)?",
        # 20240517 · 20240517T083000Z · 20240517083000
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"
        rf"(?:T?(?P<hour>\d{{2}})(?P<minute>\d{{2}})(?P<second>\d{{2}})?)?{_ZONE}",
        # Fri, 17 May 2024 08:30:00 GMT (RFC 822, 850, 5322)
        rf"{_WEEKDAY}(?P<day>\d{{1,2}})[\s-]+{_MONTH},?[\s-]+(?P<year>\d{{4}}|\d{{2}})"
        rf"(?:,?\s+{_CLOCK})?{_ZONE}",
        # May 17, 2024 · May 17 2024, 8:30 pm
        rf"{_WEEKDAY}{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})"
        rf"(?:,?\s+(?:at\s+)?{_CLOCK})?{_ZONE}",
        # Fri May 17 08:30:00 2024 (C's asctime)
        rf"{_WEEKDAY}{_MONTH}\s+(?P<day>\d{{1,2}})\s+{_CLOCK}{_ZONE}\s+(?P<year>\d{{4}})",
        # 17.05.2024
        rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}})(?:,?\s+{_CLOCK})?{_ZONE}",
    )
)
_EPOCH: Final = re.compile(r"(\d{10})(\d{3})?", re.ASCII)


def lastmod_ms(text: str | None) -> int | None:
    """Return a date as milliseconds since 1970; None for what is no date.

    A time without a zone is read as UTC, and a date without a time as its first moment.
    """
    if text is None or len(text) > _MAX_CHARS:
        return None
    # The forms would try every way to share a run of spaces out.
    return _read(" ".join(text.split()))


# Whole sites are written anew at once: their dates repeat.
@lru_cache(maxsize=1024)
def _read(text: str) -> int | None:
    if epoch := _EPOCH.fullmatch(text):
        return int(epoch[1]) * _MS + int(epoch[2] or 0)
    for form in _FORMS:
        if found := form.fullmatch(text):
            return _moment(found.groupdict())
    return None


def _moment(parts: dict[str, str | None]) -> int | None:
    """Put together what a form has found; None when there is no such day or time."""
    year = _year(parts["year"] or "")
    if year < _FIRST_YEAR:
        return None
    word = parts.get("word")
    month = _MONTHS[word.lower()] if word else _number(parts.get("month"), 1)
    try:
        day = datetime(year, month, _number(parts.get("day"), 1), tzinfo=UTC)
        return _ms(day + _time(parts) - _offset(parts))
    except (ValueError, OverflowError):
        return None


def _ms(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _number(digits: str | None, default: int = 0) -> int:
    return int(digits) if digits else default


def _year(digits: str) -> int:
    """Read a year; two digits are of the century RFC 5322 says."""
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (2000 if year < 50 else 1900)


def _time(parts: dict[str, str | None]) -> timedelta:
    """Return the time of day; raises ``ValueError`` when a clock cannot show it."""
    hour, minute = _number(parts.get("hour")), _number(parts.get("minute"))
    # A leap second counts as the one after it.
    second = _number(parts.get("second"))
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            raise ValueError(hour)
        hour = hour % 12 + (12 if half in "pP" else 0)
    if hour > 24 or minute > 59 or second > 60:
        raise ValueError(hour)
    part = int((parts.get("part") or "0")[:6].ljust(6, "0"))
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=part)


def _offset(parts: dict[str, str | None]) -> timedelta:
    """Return the distance from UTC; raises ``ValueError`` when no clock is set so."""
    written = parts.get("offset")
    if not written:
        return timedelta(minutes=_ZONES.get((parts.get("zone") or "").lower(), 0))
    digits = written[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
    if int(hours) > _MAX_OFFSET_HOURS or int(minutes) > 59:
        raise ValueError(written)
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return -offset if written[0] == "-" else offset
