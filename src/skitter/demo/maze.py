"""The hedge garden: a site of ordinary pages with the four endless traps between them."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from skitter.demo import traps
from skitter.demo.model import Block, Link, LinkList, Page, Prose, Table, Target
from skitter.demo.pages import link_row, steps
from skitter.demo.traps import NAME, PER_LIST, SEASON, SEEDS, WALK
from skitter.demo.web import Robots
from skitter.demo.words import MATERIALS, PLACES, STYLES, dice, headline, paragraph, slug

PLANTS = (
    "Foxglove", "Lavender", "Marigold", "Hellebore", "Peony", "Iris", "Dahlia", "Lupin", "Poppy",
    "Verbena", "Sage", "Thyme", "Rosemary", "Yarrow", "Aster", "Columbine", "Cornflower",
    "Delphinium", "Fennel", "Geranium", "Hollyhock", "Hyssop", "Jasmine", "Larkspur", "Lovage",
    "Mallow", "Nasturtium", "Primrose", "Salvia", "Snapdragon", "Sorrel", "Tansy", "Teasel",
    "Valerian", "Viola", "Wallflower", "Woodruff", "Zinnia",
)  # fmt: skip
EVENTS = (
    "Pruning day", "Night of the moths", "Seed exchange", "Choir in the orchard", "Bee walk",
    "Plant sale", "Drawing class", "Open greenhouse", "Hedge running",
)  # fmt: skip
_FIXED_PAGES = 2 + len(SEASON) + len(EVENTS) + 3
_SEEDS_SHARE = 0.4
_BED = re.compile(r"/beds/([a-z-]+)-(\d+)")
_BEDS = re.compile(r"/beds/(?:page/(\d+)/)?")
_SEED = re.compile(r"/seeds/(\d+)")
_SEEDS = re.compile(r"/seeds(?:\?page=([1-9]\d*))?")
_EVENT = re.compile(r"/events/([a-z-]+)")
_NAV = link_row(
    NAME,
    {"/": "The hedge garden", "/beds/": "Beds", SEEDS: "Seeds", "/events/": "Events",
     WALK: "The hedge walk"},
)  # fmt: skip


class MazeSite:
    """About ``pages`` real pages, and no end of others."""

    robots = Robots()

    def __init__(self, seed: int, pages: int) -> None:
        self._seed = seed
        # Every ten entries of a list take a page of the list.
        free = max(20, pages - _FIXED_PAGES) * PER_LIST // (PER_LIST + 1)
        self._seeds = int(free * _SEEDS_SHARE)
        self._beds = free - self._seeds
        self._goods = tuple(
            Link(Target(NAME, f"/seeds/{number}"), self._seed_name(number))
            for number in range(self._seeds)
        )

    def page(self, path: str) -> Page | None:
        """Return the page at ``path``, real or not."""
        inner = traps.within_session(path)
        if inner is None:
            return self._outside(path)
        original = self._outside(inner)
        return traps.session_page(path, original) if original else None

    def trap_kind(self, path: str) -> str | None:
        """Return the kind of trap that ``path`` lies in; None for a real page."""
        return traps.trap_kind(path)

    def _outside(self, path: str) -> Page | None:
        """Return a page of no session."""
        if path == "/":
            return self._home()
        if month := traps.month_of(path):
            return replace(traps.month_page(month, self._events_in(month)), nav=_NAV)
        if path.startswith("/beds/"):
            return self._bed_or_list(path)
        if path.startswith(SEEDS):
            return self._seed_or_list(path)
        if path.startswith("/events/"):
            return self._event_or_list(path)
        return traps.walk_page(path)

    def _draw(self, *key: object) -> random.Random:
        return dice(self._seed, NAME, *key)

    def _home(self) -> Page:
        text = Prose((paragraph(self._draw("home"), sentences=3),))
        newest = tuple(self._bed_link(n) for n in range(min(6, self._beds)))
        return Page(
            at=Target(NAME, "/"),
            title="The hedge garden",
            summary="Easy to enter.",
            nav=(*_NAV, traps.session_link("/")),
            blocks=(text, LinkList("Look at", newest)),
        )

    def _bed_path(self, number: int) -> str:
        return f"/beds/{slug(self._plant(number))}-{number}"

    def _plant(self, number: int) -> str:
        return PLANTS[number % len(PLANTS)]

    def _bed_title(self, number: int) -> str:
        draw = self._draw("bed", number)
        return f"Bed {number + 1}: {self._plant(number)} from {draw.choice(PLACES)}"

    def _bed_link(self, number: int) -> Link:
        return Link(Target(NAME, self._bed_path(number)), self._bed_title(number))

    def _bed_or_list(self, path: str) -> Page | None:
        if match := _BEDS.fullmatch(path):
            list_of = _List("Beds", self._beds, self._bed_link, "/beds/", "/beds/page/{}/")
            return list_of.page(path, int(match[1] or 1))
        match = _BED.fullmatch(path)
        number = int(match[2]) if match else self._beds
        if number >= self._beds or path != self._bed_path(number):
            return None
        draw = self._draw("bed text", number)
        others = tuple(self._bed_link(draw.randrange(self._beds)) for _ in range(3))
        return Page(
            at=Target(NAME, path),
            title=self._bed_title(number),
            summary=headline(draw, "science"),
            nav=_NAV,
            blocks=(*self._story(draw, number), LinkList("Near by", others)),
        )

    def _story(self, draw: random.Random, number: int) -> list[Block]:
        """Return text that few other pages share."""
        plant, friends = self._plant(number), draw.sample(PLANTS, 6)
        rows = [("Neighbour", "Planted", "Height")]
        rows += [
            (friend, str(draw.randint(1890, 2024)), f"{draw.randint(8, 240)} cm")
            for friend in friends
        ]
        news = " ".join(f"{headline(draw, section)}." for section in ("world", "culture"))
        return [
            Prose(
                (f"{plant} came here with {friends[0].lower()} and {friends[1].lower()}. {news}",)
            ),
            Table(tuple(rows)),
            Prose((paragraph(draw, sentences=draw.randint(3, 7)),)),
        ]

    def _seed_name(self, number: int) -> str:
        draw = self._draw("seed", number)
        plant = PLANTS[draw.randrange(len(PLANTS))]
        return f"{draw.choice(MATERIALS)} {draw.choice(STYLES)} {plant} no. {number + 1}"

    def _seed_or_list(self, path: str) -> Page | None:
        if match := _SEEDS.fullmatch(path):
            list_of = _List(
                "Seeds", self._seeds, self._goods.__getitem__, SEEDS, SEEDS + "?page={}"
            )
            page = list_of.page(path, int(match[1] or 1))
            narrower = traps.facet_lists({})
            return replace(page, blocks=(*page.blocks, *narrower)) if page else None
        if match := _SEED.fullmatch(path):
            number = int(match[1])
            known = number < self._seeds and path == f"/seeds/{number}"
            return self._seed_page(number) if known else None
        page = traps.facet_page(path, self._goods)
        return replace(page, nav=_NAV) if page else None

    def _seed_page(self, number: int) -> Page:
        draw = self._draw("seed text", number)
        return Page(
            at=self._goods[number].to,
            title=f"{self._goods[number].text} | Seeds",
            nav=_NAV,
            blocks=(
                Prose((f"{draw.randint(2, 40)} grams for {draw.randint(2, 19)}.50 €.",)),
                *self._story(draw, number + 7),
                LinkList("Goes well with", tuple(draw.sample(self._goods, 2))),
            ),
        )

    def _event_or_list(self, path: str) -> Page | None:
        if path == "/events/":
            months = tuple(
                Link(Target(NAME, traps.month_path(m)), f"{m[1]}/{m[0]}") for m in SEASON
            )
            blocks = (LinkList("Events", _EVENT_LINKS), LinkList("Calendar", months))
            nav = (*_NAV, traps.session_link(path))
            return Page(at=Target(NAME, path), title="Events", nav=nav, blocks=blocks)
        match = _EVENT.fullmatch(path)
        titles = [title for title in EVENTS if match and slug(title) == match[1]]
        if not titles:
            return None
        draw = self._draw("event", titles[0])
        story = tuple(self._story(draw, draw.randrange(99)))
        return Page(at=Target(NAME, path), title=titles[0], nav=_NAV, blocks=story)

    def _events_in(self, month: tuple[int, int]) -> tuple[Prose, ...]:
        if month not in SEASON:
            return ()
        here = _EVENT_LINKS[SEASON.index(month) :: len(SEASON)]
        return tuple(
            Prose((link, ": ", paragraph(self._draw("announced", link.text), sentences=3)))
            for link in here
        )


_EVENT_LINKS = tuple(Link(Target(NAME, f"/events/{slug(title)}"), title) for title in EVENTS)


@dataclass(frozen=True, slots=True)
class _List:
    """A list of links over as many pages as it takes, and no more."""

    title: str
    entries: int
    link: Callable[[int], Link]
    first: str
    numbered: str

    def page(self, path: str, number: int) -> Page | None:
        """Return page ``number``, where that is what lies at ``path``."""
        last = max(1, -(-self.entries // PER_LIST))
        if number > last or path != self._path(number):
            return None
        shown = range((number - 1) * PER_LIST, min(number * PER_LIST, self.entries))
        pager = [Link(Target(NAME, self._path(n)), f"Page {n}") for n in steps(number, last)]
        return Page(
            at=Target(NAME, path),
            title=self.title + (f", page {number}" if number > 1 else ""),
            nav=(*_NAV, traps.session_link(path)),
            blocks=(
                LinkList(self.title, tuple(map(self.link, shown))),
                LinkList("More pages", tuple(pager)),
            ),
        )

    def _path(self, number: int) -> str:
        return self.first if number == 1 else self.numbered.format(number)
