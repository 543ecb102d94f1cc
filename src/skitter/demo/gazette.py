"""The gazette: official notices, of which most are only in sitemaps; some of those are broken."""

import random
import re
from datetime import date, timedelta

from skitter.demo.model import (
    Answer,
    Link,
    LinkList,
    Listed,
    Listing,
    ListingKind,
    Page,
    Prose,
    Table,
    Target,
)
from skitter.demo.pages import link_row, moved, steps
from skitter.demo.web import Robots
from skitter.demo.words import ACTORS, PLACES, dice, headline, paragraph, sentence

NAME = "gazette"
INDEX = "/sitemaps/index.xml"
CARRIERS = ("main.xml", "archive.xml.gz", "list.txt", "feed.rss", "feed.atom", "press.xml",
            "late.xml", "cut.xml")  # fmt: skip
"""The sitemaps that list the notices nothing links to, in turns."""
BROKEN = ("gone.xml", "page.xml")
"""The sitemaps that are not there, and a web page instead."""
LOOP = "again.xml"
"""An index that lists itself, the index above it, and one more sitemap."""
DRAFT = "/drafts/budget.html"
MISSING = "/notices/1999/0001.html"
OLD = "/old/first-notice"
PER_LIST = 12
_LINKED_SHARE = 0.4
_ANNEX_EVERY = 5
_FIRST_DAY = date(2023, 1, 2)
_KINDS = ("Public notice", "Decree", "Call for tenders", "Appointment", "Road closure", "Permit")
_NOTICE = re.compile(r"/notices/\d{4}/(\d{4,})\.html|/decree\?dept=\d&no=(\d+)")
_ANNEX = re.compile(r"/annex/(\d+)\.html")
_LIST = re.compile(r"/notices/(?:page/(\d+)/)?")
_MEDIA_TYPES = {"gz": "application/gzip", "txt": "text/plain", "rss": "application/rss+xml",
                "atom": "application/atom+xml", "xml": "application/xml"}  # fmt: skip
_FORMATS = {"txt": ListingKind.TEXT, "rss": ListingKind.RSS, "atom": ListingKind.ATOM}
_NAV = link_row(NAME, {"/": "The Gazette", "/notices/": "Notices"})


class GazetteSite:
    """``notices`` notices, the first two fifths of which are linked."""

    robots = Robots(disallow=("/drafts/",), sitemaps=(INDEX,))

    def __init__(self, seed: int, notices: int) -> None:
        self._seed = seed
        self._notices = notices
        self._linked = int(notices * _LINKED_SHARE)

    def page(self, path: str) -> Page | None:
        """Return the page or the sitemap at ``path``."""
        if path.startswith("/sitemaps/"):
            return self._sitemap(path)
        if match := _NOTICE.fullmatch(path):
            number = int(match[1] or match[2])
            known = number < self._notices and self._path(number) == path
            return self._notice(number) if known else None
        if match := _LIST.fullmatch(path):
            return self._list(path, int(match[1] or 1))
        if match := _ANNEX.fullmatch(path):
            number = int(match[1])
            known = number < self._notices and self._has_annex(number) and path == _annex(number)
            return self._annex_page(number) if known else None
        return self._fixed(path)

    def _fixed(self, path: str) -> Page | None:
        at = Target(NAME, path)
        if path == "/":
            return self._home()
        if path == OLD:
            return moved(at, self._at(0))
        if path == DRAFT:
            return Page(at=at, title="A draft", blocks=(Prose(("Not for the public yet.",)),))
        return None

    def _draw(self, *key: object) -> random.Random:
        return dice(self._seed, NAME, *key)

    def _day(self, number: int) -> date:
        return _FIRST_DAY + timedelta(days=number * 5 % 870)

    def _path(self, number: int) -> str:
        if number % 7 == 3:
            return f"/decree?dept={number % 9}&no={number}"
        return f"/notices/{self._day(number).year}/{number:04d}.html"

    def _at(self, number: int) -> Target:
        return Target(NAME, self._path(number))

    def _title(self, number: int) -> str:
        about = headline(self._draw("title", number), tuple(ACTORS)[number % len(ACTORS)])
        return f"{_KINDS[number % len(_KINDS)]} {number + 1}: {about}"

    def _has_annex(self, number: int) -> bool:
        return number >= self._linked and number % _ANNEX_EVERY == 0

    def _home(self) -> Page:
        latest = tuple(Link(self._at(n), self._title(n)) for n in range(min(5, self._linked)))
        more = Link(Target(NAME, "/notices/"), "All notices on this site")
        return Page(
            at=Target(NAME, "/"),
            title="The Harbour Gazette",
            summary="Official notices of a town that was never founded.",
            nav=_NAV,
            blocks=(
                Prose((paragraph(self._draw("home"), sentences=3),)),
                LinkList("Latest notices", (*latest, more)),
            ),
        )

    def _list(self, path: str, number: int) -> Page | None:
        last = max(1, -(-self._linked // PER_LIST))
        if number > last or path != _list_path(number):
            return None
        shown = range((number - 1) * PER_LIST, min(number * PER_LIST, self._linked))
        pager = tuple(Link(Target(NAME, _list_path(n)), f"Page {n}") for n in steps(number, last))
        return Page(
            at=Target(NAME, path),
            title="Notices" + (f", page {number}" if number > 1 else ""),
            nav=_NAV,
            blocks=(
                LinkList("Notices", tuple(Link(self._at(n), self._title(n)) for n in shown)),
                LinkList("More pages", pager),
            ),
        )

    def _notice(self, number: int) -> Page:
        draw = self._draw("notice", number)
        rows = (
            ("Item", "Detail"),
            ("Number", f"HG {self._day(number).year}/{number:04d}"),
            ("Place", draw.choice(PLACES)),
            ("In force from", self._day(number).isoformat()),
        )
        text = tuple(Prose((paragraph(draw),)) for _ in range(draw.randint(2, 4)))
        annex = LinkList("Attached", (Link(Target(NAME, _annex(number)), "Annex"),))
        return Page(
            at=self._at(number),
            title=self._title(number),
            summary=sentence(draw),
            nav=_NAV,
            blocks=(Table(rows), *text, *([annex] if self._has_annex(number) else ())),
        )

    def _annex_page(self, number: int) -> Page:
        text = Prose((paragraph(self._draw("annex", number)),))
        title = f"Annex to notice {number + 1}"
        return Page(at=Target(NAME, _annex(number)), title=title, nav=_NAV, blocks=(text,))

    def _sitemap(self, path: str) -> Page | None:
        name = path.removeprefix("/sitemaps/")
        if path == INDEX:
            others = [part for part in CARRIERS if part != "late.xml"]
            return _listed(path, _index_of(*others[:3], BROKEN[0], *others[3:], BROKEN[1], LOOP))
        if name == LOOP:
            return _listed(path, _index_of("index.xml", LOOP, "late.xml"))
        if name == BROKEN[1]:
            return Page(at=Target(NAME, path), title="Our site map has moved", nav=_NAV)
        return _listed(path, self._carried(name)) if name in CARRIERS else None

    def _carried(self, name: str) -> Listing:
        place = CARRIERS.index(name)
        own = range(self._linked + place, self._notices, len(CARRIERS))
        entries = [self._entry(number, name) for number in own]
        if name == "main.xml":
            entries = [*self._main_entries(), *entries]
        if name in {"feed.rss", "feed.atom"}:
            entries += [self._entry(number, name) for number in range(min(3, self._linked))]
        return Listing(
            kind=_FORMATS.get(name.rpartition(".")[2], ListingKind.URLSET),
            entries=tuple(entries),
            packed=name.endswith(".gz"),
            torn=Listed(to=Target(NAME, "/notices/2024/the-last-line-of-the-file.html"))
            if name == "cut.xml"
            else None,
        )

    def _entry(self, number: int, name: str) -> Listed:
        press = name == "press.xml"
        return Listed(
            to=self._at(number),
            title=self._title(number),
            lastmod=self._day(number).isoformat(),
            changefreq=("yearly", "monthly", "never")[number % 3],
            priority=f"{(number * 3 % 10 + 1) / 10:.1f}",
            news="The Harbour Gazette" if press else "",
            images=(f"/seals/{number}.png", f"/maps/{number}.png") if press else (),
            tracked=name == "feed.rss",
        )

    def _main_entries(self) -> list[Listed]:
        """Return what is linked anyway, and what a careful reader does not trip over."""
        return [
            Listed(to=Target(NAME, "/"), lastmod="2025-05-30", changefreq="daily", priority="1.0"),
            Listed(to=Target(NAME, "/notices/"), lastmod="yesterday", priority="high"),
            *(self._entry(number, "main.xml") for number in range(self._linked)),
            Listed(to=self._at(0), tracked=True),
            Listed(to=Target(NAME, OLD)),
            Listed(to=Target(NAME, DRAFT)),
            Listed(to=Target(NAME, MISSING)),
            Listed(to=Target("partner", "/offers")),
        ]


def _list_path(number: int) -> str:
    return "/notices/" if number == 1 else f"/notices/page/{number}/"


def _annex(number: int) -> str:
    return f"/annex/{number}.html"


def _index_of(*names: str) -> Listing:
    entries = tuple(
        Listed(to=Target(NAME, f"/sitemaps/{name}"), lastmod=f"2025-05-{place + 1:02d}")
        for place, name in enumerate(names)
    )
    return Listing(kind=ListingKind.INDEX, entries=entries)


def _listed(path: str, listing: Listing) -> Page:
    # The main one is packed on the way, too, which says nothing about the file.
    coding = "gzip" if path.endswith("main.xml") else None
    answer = Answer(media_type=_MEDIA_TYPES[path.rpartition(".")[2]], coding=coding)
    return Page(at=Target(NAME, path), answer=answer, listing=listing)
