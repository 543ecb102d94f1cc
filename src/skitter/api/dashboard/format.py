"""Numbers, sizes, times and addresses as people read them. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, urlsplit

from skitter.api.dashboard.i18n.words import Words

NOTHING: Final = "–"
_SIZES: Final = ("B", "kB", "MB", "GB", "TB")
_SPANS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_SHORT_AXIS: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with separators, a dash for none."""
    return NOTHING if value is None else f"{value:,.{digits}f}"


def rate(value: float | None) -> str:
    """Return a speed: one digit after the point while it is small."""
    if value is None:
        return NOTHING
    return number(value, 0 if abs(value) >= 100 or value == 0 else 1)


def size(value: float | None) -> str:
    """Return bytes in the unit that keeps them short."""
    if value is None:
        return NOTHING
    amount, unit = float(value), _SIZES[0]
    for unit in _SIZES:
        if amount < 1000 or unit == _SIZES[-1]:
            break
        amount /= 1000
    return f"{amount:,.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:,.1f} {unit}"


def percent(part: float, whole: float) -> str:
    """Return a share, a dash where there is nothing to share."""
    return NOTHING if not whole else f"{100 * part / whole:.1f} %"


def moment(text: str | None) -> datetime | None:
    """Return the time an RFC 3339 text names, None if it names none."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def ago(text: str | None, words: Words, now: datetime | None = None) -> str:
    """Return how long ago a time was, or how long it is to it; the text itself if it is none."""
    then = moment(text)
    if then is None:
        return text or NOTHING
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if abs(seconds) < 2:
        return words("time.now")
    return words("time.ago" if seconds > 0 else "time.in", span=span(abs(seconds), words))


def span(seconds: float | None, words: Words) -> str:
    """Return a duration in its largest unit."""
    if seconds is None:
        return NOTHING
    for length, name in _SPANS:
        if seconds >= length:
            return words(f"time.{name}", n=int(seconds // length))
    return words("time.second", n=0)


def exact(text: str | None) -> str:
    """Return a time to the second, in UTC, for those who want to know it exactly."""
    then = moment(text)
    return text or "" if then is None else then.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def web_address(url: str | None) -> str | None:
    """Return ``url`` if a browser may be sent there: http or https with a host, else None."""
    if not url or any(ord(char) <= 32 for char in url):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return url if parts.scheme.lower() in ("http", "https") and parts.netloc else None


def part_of_path(text: str) -> str:
    """Return ``text`` as one segment of an address of the dashboard."""
    return quote(text, safe="")


def shorten(text: str | None, chars: int = 120) -> str:
    """Return the beginning of a text, in one line."""
    line = " ".join((text or "").split())
    return line if len(line) <= chars else line[: chars - 1] + "…"


def listing(counts: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return counts with the largest first."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
