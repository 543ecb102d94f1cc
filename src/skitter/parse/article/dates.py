"""Days and times as pages write them, in RFC 3339.

A date counts when it is a real one from 1990 on that is not in the future. Where a page names no
zone, none is made up; where day and month cannot be told apart, there is no date.
"""

import re
from datetime import UTC, datetime, timedelta, timezone

EARLIEST = 1990
_MAX_CHARS = 400
_DAY = timedelta(days=1)
_SKEW_S = 600
_EAST_S = 14 * 3600
_OFFSET = re.compile(r"(?:utc|gmt)?([+-])(\d{1,2}):?(\d\d)?")

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier enero gennaio janeiro ene januari января stycznia",
            "feb february februar février febrero febbraio fevereiro fev februari февраля lutego",
            "mar march märz mars marzo março maart марта marca mrz",
            "apr april avril abril aprile abr апреля kwietnia",
            "may mai mayo maggio maio mei мая maja",
            "jun june juni juin junio giugno junho июня czerwca",
            "jul july juli juillet julio luglio julho июля lipca",
            "aug august août agosto augustus ago августа sierpnia",
            "sep sept september septembre septiembre settembre setembro set сентября września",
            "oct october oktober octobre octubre ottobre outubro okt out октября października",
            "nov november novembre noviembre novembro ноября listopada",
            "dec december dezember décembre diciembre dicembre dezembro dez dic декабря grudnia",
        ),
        1,
    )
    for name in names.split()
}
_ZONES = {
    "z": 0, "utc": 0, "gmt": 0, "est": -5, "edt": -4, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8,
    "pdt": -7, "cet": 1, "cest": 2, "jst": 9, "kst": 9, "msk": 3, "hkt": 8, "sgt": 8, "aest": 10,
    "aedt": 11,
}  # fmt: skip
_TIME = (
    r"(?:\s*[T,|·@/–—-]?\s*(?:at|um|à|a las|às|в|kl\.?|alle)?\s*(?P<noon>[上下]午)?\s*"
    r"(?P<hour>\d{1,2})\s*[:：h时]\s*(?P<minute>\d{2})分?(?:[:：](?P<second>\d{2})(?:[.,]\d+)?)?"
    r"(?:\s*(?P<half>[ap])\.?m\b\.?)?"
    r"(?:\s*\(?(?P<zone>Z\b|[+-]\d{2}:?\d{2}|(?:UTC|GMT)[+-]\d{1,2}(?!\d)|[A-Z]{3,4}\b)\)?)?)?"
)
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTH = r"(?P<month>\d{1,2})"
_DATE = r"(?P<day>\d{1,2})"
_NAME = r"(?P<name>[^\W\d]{3,12})"
_PATTERNS = tuple(
    re.compile(pattern + _TIME, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d){_YEAR}\s?[-/.]\s?{_MONTH}\s?[-/.]\s?{_DATE}(?!\d)\.?",
        rf"(?<!\d){_YEAR}\s*[年년]\s*{_MONTH}\s*[月월]\s*{_DATE}\s*[日일]?",
        rf"(?<![^\W\d]){_NAME}\.? {_DATE}(?:st|nd|rd|th)?,? {_YEAR}(?!\d)",
        rf"(?<!\d){_DATE}(?:st|nd|rd|th|\.|er|º)?[ -](?:de )?{_NAME}\.?,?[ -](?:de )?{_YEAR}(?!\d)",
        rf"(?<!\d)(?P<one>\d{{1,2}})(?P<mark>[./-])(?P<two>\d{{1,2}})(?P=mark){_YEAR}(?!\d)",
        rf"\A{_YEAR}(?P<month>[01]\d)(?P<day>[0-3]\d)(?!\d)",
    )
)
_EPOCH = re.compile(r"\s*(\d{10})(\d{3})?\s*")
_URL_DAY = re.compile(
    r"[/_-](?P<year>(?:19|20)\d\d)[/_-]?(?P<month>0?[1-9]|1[0-2])[/_-]?(?P<day>0[1-9]|[12]\d|3[01])"
    r"(?=[/_.-]|\Z)"
)


def read_date(text: str | None, now: float) -> str | None:
    """Return the first date that ``text`` names; None for none, or none that can be."""
    if not text:
        return None
    text = " ".join(text[:_MAX_CHARS].split())
    found: tuple[int, str] | None = None
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if found and match.start() >= found[0]:
                break
            if date := _date(match, now):
                found = (match.start(), date)
                break
    return found[1] if found else None


def read_stated_date(text: str | None, now: float) -> str | None:
    """Return the date of an attribute made for machines, which may also count seconds."""
    match = _EPOCH.fullmatch(text or "")
    if match is None:
        return read_date(text, now)
    moment = datetime.fromtimestamp(int(match[1]), UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if _can_be(moment, now + _SKEW_S) else None


def url_date(url: str, now: float) -> str | None:
    """Return the day in the path of ``url``."""
    match = _URL_DAY.search(url[:_MAX_CHARS])
    return _date(match, now) if match else None


def has_time(date: str) -> bool:
    """Tell whether a date names a time of day."""
    return "T" in date


def _date(match: re.Match[str], now: float) -> str | None:
    groups = match.groupdict()
    month, day = _month_and_day(groups)
    try:
        moment = datetime(int(groups["year"]), month, day, tzinfo=UTC)
    except ValueError:
        return None
    hour, minute, second = _time(groups)
    zone = _zone(groups.get("zone")) if hour >= 0 else None
    if hour >= 0:
        moment = moment.replace(hour=hour, minute=minute, second=second, tzinfo=zone or UTC)
    # Without a zone it may be the time of Kiritimati.
    if not _can_be(moment, now + (_SKEW_S if zone else _EAST_S)):
        return None
    if hour < 0:
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%Y-%m-%dT%H:%M:%S}{_offset(zone) if zone else ''}"


def _month_and_day(groups: dict[str, str]) -> tuple[int, int]:
    """Return month and day, zeros where they cannot be told."""
    if groups.get("name"):
        return _MONTHS.get(groups["name"].lower(), 0), int(groups["day"])
    if not groups.get("one"):
        return int(groups["month"]), int(groups["day"])
    one, two = int(groups["one"]), int(groups["two"])
    if two > 12:
        return one, two
    # 04/05 is read differently on two sides of an ocean; 04.05. is not.
    return (two, one) if one > 12 or one == two or groups["mark"] == "." else (0, 0)


def _can_be(moment: datetime, latest: float) -> bool:
    return moment.year >= EARLIEST and moment.timestamp() <= latest


def _time(groups: dict[str, str]) -> tuple[int, int, int]:
    """Return the time of day; an hour below zero for none."""
    if not groups.get("hour"):
        return -1, 0, 0
    hour, minute, second = (int(groups[name] or 0) for name in ("hour", "minute", "second"))
    half = (groups.get("half") or "").lower() or {"上午": "a", "下午": "p"}.get(
        groups["noon"] or ""
    )
    if half and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    return (hour, minute, min(59, second)) if hour < 24 and minute < 60 else (-1, 0, 0)


def _zone(name: str | None) -> timezone | None:
    """Return the zone; None where none is named, or none that is known."""
    if not name:
        return None
    name = name.lower()
    if name in _ZONES:
        return timezone(timedelta(hours=_ZONES[name]))
    match = _OFFSET.fullmatch(name)
    if match is None:
        return None
    offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return timezone(-offset if match[1] == "-" else offset) if offset < _DAY else None


def _offset(zone: timezone) -> str:
    return "Z" if zone == UTC else str(zone).removeprefix("UTC")
