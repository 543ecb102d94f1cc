"""The shape of a URL: what it has in common with the others that the same code of a site makes.

A template is the path with numbers, ids and titles taken out, and the names of the parameters in
alphabetical order. A path in which a name repeats is folded, so that a path that grows by going
in circles keeps its template.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from skitter.crawl.traps.token import (
    ID,
    PAGING_NAMES,
    RETURN_NAMES,
    SESSION_NAMES,
    is_id,
    kind_of,
)

_DIGITS = re.compile(r"\d+")
_MAX_TEMPLATE = 240
_MAX_NAMES = 24
_LONG_NUMBER = 9
_LONG_INSIDE = re.compile(rf"/\d{{{_LONG_NUMBER},}}/")
_DATE = re.compile(
    r"(?<![0-9A-Za-z])(?P<y>[12]\d{3})(?:[-/_.]?(?P<m>0[1-9]|1[0-2])(?:[-/_.]?(?P<d>[0-2]\d|3[01]))?"
    r"|[-/_.](?P<m1>[1-9])(?:[-/_.](?P<d1>\d\d?))?)(?![0-9A-Za-z])"
)
_YEAR = re.compile(r"(?<![0-9A-Za-z])([1-9]\d{3,8})(?![0-9A-Za-z])")
_DATE_PARAMETERS = "year y yr yyyy date datum day month mon week fecha jahr annee ym"
_DATE_NAMES = frozenset(_DATE_PARAMETERS.split())
_DATE_WORDS = re.compile(
    r"calend|event|agenda|kalender|archiv|diary|termin|schedul|month|date|daily|veranstalt|evenem",
    re.IGNORECASE,
)


@dataclass(slots=True, eq=False)
class Shape:
    """What can be told of a URL without fetching it."""

    origin: str
    path: str
    """The path as it is."""
    place: str
    """Origin and folded path: what pages that differ by their parameters share."""
    template: str
    segments: int
    folded: bool
    """Whether a name comes twice in the path."""
    query: str
    names: tuple[str, ...]
    """Parameter names in the order of the URL."""
    slot: str
    """Where the URL holds a random id: the path up to it, or the parameter; "" without one."""
    skeleton: str
    """The URL without its ids; "" without one."""
    _date: tuple[int, int, int] | bool | None = True
    """What ``date`` found; True while nobody has asked."""

    @property
    def date(self) -> tuple[int, int, int] | None:
        """Year, month and day that the URL speaks of, 0 for what it leaves open."""
        found = self._date
        if isinstance(found, bool):
            dated = _YEAR.search(self.path) or (self.query and _YEAR.search(self.query))
            found = self._date = _date_of(self.path, self.query) if dated else None
        return found

    @property
    def top(self) -> str:
        """The first directory; "" in the root."""
        return self.path[1:].partition("/")[0] if self.segments > 1 else ""

    @property
    def shadow(self) -> str:
        """The URL without its first directory; "" where nothing is left."""
        rest = self.path[len(self.top) + 1 :] if self.segments > 1 else ""
        if len(rest) < 2:
            return ""
        return f"{self.origin}{rest}?{self.query}" if self.query else self.origin + rest

    @property
    def twin(self) -> str:
        """The URL without the directory its last name is in; "" where that is the root."""
        above, _, name = self.path.rstrip("/").rpartition("/")
        rest = above.rpartition("/")[0]
        if not rest:
            return ""
        slash = "/" if self.path.endswith("/") else ""
        return f"{self.origin}{rest}/{name}{slash}"

    @property
    def pages_on(self) -> bool:
        """Whether the parameters only say which page of a list this is."""
        return all(name in PAGING_NAMES for name in self.names)


def shape_of(url: str) -> Shape:
    """Return the shape of a serialised http(s) URL."""
    start = url.find("/", 8)
    origin, rest = url[:start], url[start:]
    path, _, query = rest.partition("?")
    segments = path.split("/")[1:]
    kinds = [*map(kind_of, segments)]
    joined = "/".join(kinds)
    slot = skeleton = ""
    if ID in joined or not SESSION_NAMES.isdisjoint(segments) or _LONG_INSIDE.search(path):
        slot = _mark_ids(segments, kinds)
        joined = "/".join(kinds)
        pieces = zip(kinds, segments, strict=True)
        stars = [kind if ID in kind else segment for kind, segment in pieces]
        skeleton = f"{origin}/{'/'.join(stars)}" if slot else ""
    folded = len(set(segments)) < len(segments) and _repeats(segments)
    if folded:
        joined = "/".join([*dict.fromkeys(filter(None, kinds)), "…"])
    place = _short(f"{origin}/{joined}")
    names: tuple[str, ...] = ()
    template = place
    if query:
        pairs = [part.partition("=")[::2] for part in query.split("&")]
        names = tuple(_name(name) for name, _ in pairs[:_MAX_NAMES])
        template = _short(f"{place}?{'&'.join(sorted(set(names)))}")
        slot, skeleton = _query_ids(origin + path, pairs, slot, skeleton)
    return Shape(origin, path, place, template, len(segments), folded, query, names, slot, skeleton)


def template_of(url: str) -> str:
    """Return the template of a serialised http(s) URL."""
    return shape_of(url).template


def _name(name: str) -> str:
    return _DIGITS.sub("{n}", name[:40]).lower()


def _short(template: str) -> str:
    return template if len(template) <= _MAX_TEMPLATE else f"{template[:_MAX_TEMPLATE]}…"


def _mark_ids(segments: list[str], kinds: list[str]) -> str:
    """Mark the ids that only their place tells, and return where the first one is."""
    slot = ""
    last = len(segments) - 1
    for place, segment in enumerate(segments):
        if segment.isdigit():
            before = segments[place - 1].lower() if place else ""
            long_inside = len(segment) >= _LONG_NUMBER and place < last
            if before in SESSION_NAMES or long_inside:
                kinds[place] = ID
        if ID in kinds[place] and not slot:
            slot = _short("/" + "/".join(kinds[: place + 1]))
    return slot


def _repeats(segments: Sequence[str]) -> bool:
    """Tell whether a name comes twice; numbers and the end of a directory do not count."""
    names = [segment for segment in segments if segment and not segment.isdigit()]
    return len(set(names)) < len(names)


def _query_ids(
    page: str, pairs: Sequence[tuple[str, str]], slot: str, skeleton: str
) -> tuple[str, str]:
    held = {pair for pair in pairs if _holds_id(pair[0].lower(), pair[1])}
    if not held:
        return slot, f"{skeleton}?{'&'.join(map('='.join, pairs))}" if skeleton else ""
    rest = sorted(f"{name}={value}" for name, value in pairs if (name, value) not in held)
    stars = sorted(f"{pair[0]}={ID}" for pair in pairs if pair in held)
    slot = slot or _short("?" + "&".join(stars))
    return slot, f"{skeleton or page}?{'&'.join(rest + stars)}"


def _holds_id(name: str, value: str) -> bool:
    return bool(value) and (name in SESSION_NAMES or name in RETURN_NAMES or is_id(value))


def choices(shape: Shape) -> list[str]:
    """Return the parameters with their values, but for those that only number pages."""
    pairs = shape.query.split("&")
    return [pair for pair in pairs if _name(pair.partition("=")[0]) not in PAGING_NAMES]


def in_order(shape: Shape) -> str:
    """Return the page with its parameters sorted and none twice: what their order hides."""
    return f"{shape.origin}{shape.path}?{'&'.join(sorted(set(shape.query.split('&'))))}"


def _date_of(path: str, query: str) -> tuple[int, int, int] | None:
    """Return the date that a URL speaks of.

    A number is a year only where the URL says so: with a month behind it, in a parameter or path
    that is about dates.
    """
    found = _DATE.search(path)
    about = None if found else _DATE_WORDS.search(path)
    dated: list[str] = []
    if found is None and query:
        dated = [pair for pair in query.split("&") if _is_dated(pair, about is not None)]
        found = _DATE.search("&".join(dated))
    if found:
        month, day = found["m"] or found["m1"], found["d"] or found["d1"]
        return int(found["y"]), int(month), int(day or 0)
    year = _YEAR.search(path, about.end()) if about else None
    year = year or _YEAR.search("&".join(dated))
    if year is None:
        return None
    return int(year[1]), 0, int(any(pair.lower().startswith(("d=", "day=")) for pair in dated))


def _is_dated(pair: str, about: bool) -> bool:
    name, _, value = pair.partition("=")
    return value[:1].isdigit() and (about or name.lower() in _DATE_NAMES)


def is_far(date: tuple[int, int, int], now_ms: int) -> bool:
    """Tell whether ``date`` is long before the web or well ahead of ``now_ms``."""
    today = datetime.fromtimestamp(now_ms / 1000, UTC)
    ahead = (date[0] - today.year) * 12 + ((date[1] or 1) - today.month)
    return ahead > 13 or date[0] < 1970
