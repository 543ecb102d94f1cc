"""Four traps without an end, made on request: each page is a function of its path.

A calendar leads to the next and the previous month for ever. A relative link that lacks its slash
makes the path grow with every step. A session id in the path changes on every page, which makes
a copy of the whole site every time. A list that can be filtered and sorted is there in every
combination and order, and its pager goes on behind the last entry.
"""

import calendar
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

import xxhash

from skitter.demo.model import Block, Link, LinkList, Page, Prose, Spelling, Table, Target

NAME = "maze"
KINDS = ("calendar", "path", "session", "facets")
SEASON = ((2025, 4), (2025, 5), (2025, 6))
"""The months with events: real pages."""
WALK = "/walks/"
WALK_STEPS = ("north", "south")
SEEDS = "/seeds"
FACETS: Mapping[str, tuple[str, ...]] = {
    "sort": ("price", "name", "newest"),
    "colour": ("red", "white", "yellow", "blue", "violet"),
    "size": ("dwarf", "small", "medium", "tall"),
}
PER_LIST = 10
_HOUSE_RULES = (
    "The garden is open every day from eight in the morning until an hour before sunset. Dogs are "
    "welcome on a lead, bicycles wait at the gate, and the hedges are not to be climbed. Groups of "
    "more than ten write to the gardener beforehand. ",
    "Whoever plans an event hands in a short text and a drawing at the tool shed, three weeks "
    "ahead; it is then shown in this calendar. Chairs and lanterns can be borrowed against a small "
    "deposit. In heavy rain everything moves to the glass house, and in a storm nothing takes "
    "place at all. ",
    "The calendar is kept by volunteers. Mistakes are theirs, and corrections are received with "
    "thanks and a cutting of whatever is in flower. ",
)
_MONTH = re.compile(r"/calendar/(\d{4,9})/(0[1-9]|1[0-2])/")
_WALK = re.compile(r"/walks/(?:north/south/)*(?:north/)?")
_SESSION = re.compile(r"/s/[0-9a-f]{24}(/.*)")
_REAL_PAGE = re.compile(r"page=([1-9]\d{0,8})")


def trap_kind(path: str) -> str | None:
    """Return which of the traps ``path`` lies in; None where it lies in none."""
    if _SESSION.fullmatch(path):
        return "session"
    if month := month_of(path):
        return None if month in SEASON else "calendar"
    if _WALK.fullmatch(path):
        return "path" if path.count("/") > len(WALK_STEPS) + 2 else None
    query = path.removeprefix(f"{SEEDS}?")
    if query != path and not _REAL_PAGE.fullmatch(query) and _choices(query):
        return "facets"
    return None


def month_of(path: str) -> tuple[int, int] | None:
    """Return the year and the month of a page of the calendar."""
    match = _MONTH.fullmatch(path)
    month = (int(match[1]), int(match[2])) if match else (0, 0)
    return month if path == month_path(month) and month[0] else None


def month_path(month: tuple[int, int]) -> str:
    """Return where a month is."""
    return f"/calendar/{month[0]:04d}/{month[1]:02d}/"


def month_page(month: tuple[int, int], events: tuple[Prose, ...]) -> Page:
    """Return a month of the calendar, with a way on and a way back."""
    year, number = month
    # The days of the week repeat every four hundred years.
    weeks = calendar.monthcalendar(2000 + year % 400, number)
    rows = tuple(tuple(str(day or "") for day in week) for week in weeks)
    name = f"{calendar.month_name[number]} {year}"
    around = [
        Link(Target(NAME, month_path(other)), text)
        for other, text in ((_moved(month, -1), "Previous month"), (_moved(month, 1), "Next month"))
        if other[0] > 0
    ]
    listed: Iterable[Block] = events or (Prose(("There are no events in this month.",)),)
    return Page(
        at=Target(NAME, month_path(month)),
        title=f"Calendar: {name}",
        blocks=(
            Table((("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"), *rows)),
            *listed,
            LinkList("Other months", tuple(around)),
            *(Prose((rule,)) for rule in _HOUSE_RULES),
        ),
    )


def _moved(month: tuple[int, int], by: int) -> tuple[int, int]:
    year, number = divmod(month[0] * 12 + month[1] - 1 + by, 12)
    return year, number + 1


def walk_page(path: str) -> Page | None:
    """Return a bend of the walk; its link to the other one is relative and lacks a slash."""
    if not _WALK.fullmatch(path):
        return None
    bends = path.count("/") - 2
    onward = WALK_STEPS[bends % 2]
    here = WALK_STEPS[(bends - 1) % 2] if bends else "start"
    link = Link(Target(NAME, f"{path}{onward}/"), f"On to the {onward} bend", Spelling.RELATIVE)
    text = (f"This is the {here} of the hedge walk. The hedges are higher than they look. ", link)
    titles = {"start": "The hedge walk", "north": "The north bend", "south": "The south bend"}
    return Page(at=Target(NAME, path), title=titles[here], blocks=(Prose(text),))


def within_session(path: str) -> str | None:
    """Return the path that ``path`` shows a copy of, for the visitor of a session."""
    match = _SESSION.fullmatch(path)
    return match[1] if match else None


def session_link(path: str, to: str = "/", text: str = "Members' entrance") -> Link:
    """Return the link that ``path`` has into a session of its own."""
    session = xxhash.xxh3_128_hexdigest(path.encode())[:24]
    return Link(Target(NAME, f"/s/{session}{to}"), text)


def session_page(path: str, original: Page) -> Page:
    """Return the copy of ``original`` at ``path``, all of whose links are in another session."""

    def moved(link: Link) -> Link:
        inner = within_session(link.to.path) or link.to.path
        return session_link(path, inner, link.text) if link.to.site == NAME else link

    def block(old: Block) -> Block:
        match old:
            case Prose(parts=parts):
                return Prose(tuple(moved(p) if isinstance(p, Link) else p for p in parts))
            case LinkList(heading=heading, links=links):
                return LinkList(heading, tuple(map(moved, links)))
            case _:
                return old

    visitor = path.split("/")[2]
    return replace(
        original,
        at=Target(NAME, path),
        canonical=None,
        nav=tuple(map(moved, original.nav)),
        blocks=(*map(block, original.blocks), Prose((f"Your visit: {visitor}",))),
    )


def facet_page(path: str, goods: tuple[Link, ...]) -> Page | None:
    """Return the filtered list at ``path``; ``goods`` are all that can be listed."""
    choices = _choices(path.partition("?")[2])
    if not choices:
        return None
    number = int(choices.get("page", "1"))
    wanted = {name: value for name, value in choices.items() if name != "page"}
    shown = [link for link in goods if _fits(link, wanted)]
    shown = shown[(number - 1) * PER_LIST : number * PER_LIST]
    said = ", ".join(f"{name} {value}" for name, value in choices.items())
    onward = choices | {"page": str(number + 1)}
    return Page(
        at=Target(NAME, path),
        title=f"Seeds: {said}",
        blocks=(
            LinkList("Seeds", tuple(shown)) if shown else Prose(("Nothing more to show.",)),
            LinkList("More", (Link(_at(onward), "Next page"),)),
            *facet_lists(choices),
        ),
    )


def facet_lists(choices: Mapping[str, str]) -> Iterator[Block]:
    """Yield the ways to narrow a list further; a choice is added behind those made before."""
    for name, values in FACETS.items():
        links = [Link(_at({**choices, name: v}), v) for v in values if choices.get(name) != v]
        yield LinkList(f"By {name}", tuple(links))


def _at(choices: Mapping[str, str]) -> Target:
    return Target(NAME, f"{SEEDS}?{urlencode(choices)}")


def _choices(query: str) -> dict[str, str]:
    """Return the choices a query makes, in its order; none where it is not of this list."""
    pairs = parse_qsl(query, keep_blank_values=True)
    choices = dict(pairs)
    known = all(
        _REAL_PAGE.fullmatch(f"page={value}") if name == "page" else value in FACETS.get(name, ())
        for name, value in pairs
    )
    return choices if known and len(choices) == len(pairs) and urlencode(pairs) == query else {}


def _fits(link: Link, wanted: Mapping[str, str]) -> bool:
    return all(
        xxhash.xxh3_64_intdigest(f"{link.text} {name}".encode()) % len(FACETS[name])
        == FACETS[name].index(value)
        for name, value in wanted.items()
        if name != "sort"
    )
