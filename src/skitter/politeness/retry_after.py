"""Reads the Retry-After header (RFC 9110 §10.2.3): seconds, or a date."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]*)?")
_MAX_SECONDS = 10**10
"""Three centuries: more digits than this mean the same."""
_MAX_LENGTH = 200


def parse_retry_after(value: str | None, now_ms: int) -> int | None:
    """Return the milliseconds from now the header asks to wait, or None when it says nothing.

    A date in the past is 0; a negative number or nonsense is None. Of several numbers, as a
    repeated header gives, the largest counts.
    """
    if value is None or len(value) > _MAX_LENGTH:
        return None
    numbers = [part.strip() for part in value.split(",")]
    if all(_SECONDS.fullmatch(number) for number in numbers):
        return round(min(_MAX_SECONDS, max(float(number) for number in numbers)) * 1000)
    when = _date(value)
    return None if when is None else max(0, round(when.timestamp() * 1000) - now_ms)


def _date(value: str) -> datetime | None:
    try:
        when = parsedate_to_datetime(value.strip())
    except (ValueError, OverflowError):
        return None
    # A date without a zone is in UTC: HTTP knows no other.
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when
