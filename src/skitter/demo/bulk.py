"""A large uniform web for speed: heavy pages, many links, every trap in known numbers.

Page ``i`` links to its children in a tree of twelve, so that everything is reachable from page 0,
and fills up with near and far pages, second spellings, dead links, redirects, closed pages and
files. The pages may live on one host or be dealt out to many.
"""

import math
import random
import re
from dataclasses import dataclass
from functools import cached_property

from skitter.demo.model import (
    Answer,
    Block,
    Link,
    Markup,
    Page,
    Prose,
    Raw,
    Spelling,
    Table,
    Target,
)
from skitter.demo.pages import moved
from skitter.demo.web import Robots, Site, Web
from skitter.demo.words import ACTORS, PLACES, dice, headline, sentence

CHILDREN = 12
NAV = 10
MEDIAN_BYTES = 20_000
_DRESS_BYTES = 5_000
_POOL = 2_500
_SECTIONS = tuple(ACTORS)
_PAGE = re.compile(r"/d\d+/p(\d+)\.html")
_TRAP = re.compile(r"/(private|old|files|dl)/(\d+)(?:\.html|\.pdf)?")
_TRAP_PATHS = {
    "private": "/private/{}.html",
    "missing": "/missing/{}.html",
    "old": "/old/{}.html",
    "files": "/files/{}.pdf",
    "dl": "/dl/{}",
}
_CELLS = tuple((f"key {n}", str(n * 17 % 101)) for n in range(6))


@dataclass(frozen=True)
class BulkPlan:
    """The numbers of a bulk web, and where each thing lives."""

    pages: int = 20_000
    hosts: int = 1
    seed: int = 1

    @property
    def traps(self) -> dict[str, int]:
        """How many closed pages, dead links, redirects and files there are."""
        return {
            "private": max(5, self.pages // 40),
            "missing": max(5, self.pages // 100),
            "old": 3 * self.behind_redirects,
            "files": max(3, self.pages // 400),
            "dl": max(3, self.pages // 400),
        }

    @property
    def behind_redirects(self) -> int:
        """How many pages, the last ones, only a redirect leads to."""
        return max(2, self.pages // 200)

    @property
    def open_pages(self) -> int:
        """How many pages are linked directly."""
        return self.pages - self.behind_redirects

    def target(self, number: int) -> Target:
        """Return where page ``number`` lives."""
        path = f"/d{number // 200:03d}/p{number:06d}.html" if number else "/index.html"
        return Target(f"h{number % self.hosts}", path)

    def trap(self, kind: str, number: int) -> Target:
        """Return where a trap lives."""
        return Target(f"h{number % self.hosts}", _TRAP_PATHS[kind].format(number))

    def redirect_goal(self, number: int) -> int:
        """Return the page that redirect ``number`` leads to."""
        if number < self.behind_redirects:
            return self.open_pages + number
        return dice(self.seed, "goal", number).randrange(self.open_pages)

    @cached_property
    def sentences(self) -> list[str]:
        """The pool all text is drawn from: sentences with markup and entities here and there."""
        draw = dice(self.seed, "pool")
        return [_marked(draw, sentence(draw)) for _ in range(_POOL)]


def _marked(draw: random.Random, text: str) -> str:
    words = text.split(" ")
    place = draw.randrange(len(words))
    if draw.random() < 0.3:
        words[place] = f"<em>{words[place]}</em>"
    elif draw.random() < 0.2:
        words[place] = f'<span class="term" data-n="{place}">{words[place]}</span>'
    elif draw.random() < 0.2:
        words.append("R&amp;D &ndash; caf&eacute; &ldquo;Zürich&rdquo;.")
    return Markup(" ".join(words) + " ")


class BulkSite:
    """The share of a bulk web that lives on host ``number``."""

    robots = Robots(disallow=("/private/",))

    def __init__(self, plan: BulkPlan, number: int) -> None:
        self._plan = plan
        self._name = f"h{number}"

    def page(self, path: str) -> Page | None:
        """Return the page at ``path``, where it lives on this host."""
        at = Target(self._name, path)
        number = 0 if path == "/index.html" else None
        if match := _PAGE.fullmatch(path):
            number = int(match[1])
        if number is not None:
            known = number < self._plan.pages and self._plan.target(number) == at
            return bulk_page(self._plan, number) if known else None
        if match := _TRAP.fullmatch(path):
            kind, number = match[1], int(match[2])
            known = number < self._plan.traps[kind] and self._plan.trap(kind, number) == at
            return trap_page(self._plan, kind, number) if known else None
        return None


def bulk_web(plan: BulkPlan, addresses: list[str], port: int) -> Web:
    """Return the web of ``plan`` on ``plan.hosts`` addresses."""
    sites: dict[str, Site] = {f"h{n}": BulkSite(plan, n) for n in range(plan.hosts)}
    hosts = dict(zip(sites, addresses, strict=True))
    return Web(sites=sites, hosts=hosts, home=plan.target(0), port=port)


def trap_page(plan: BulkPlan, kind: str, number: int) -> Page:
    """Return what is behind a trap that has something behind it."""
    at = plan.trap(kind, number)
    if kind == "old":
        return moved(at, plan.target(plan.redirect_goal(number)))
    if kind == "private":
        closed = plan.traps["private"]
        on = [Link(plan.trap(kind, (number * 3 + n) % closed), f"closed {n}") for n in range(5)]
        return Page(at=at, title=f"Closed page {number}", blocks=(Prose(tuple(on)),))
    draw = dice(plan.seed, kind, number)
    if kind == "files":
        pdf = b"%PDF-1.4\n" + draw.randbytes(100_000)
        return Page(at=at, answer=Answer(media_type="application/pdf", body=pdf))
    body = draw.randbytes(60_000)
    return Page(at=at, answer=Answer(media_type="application/octet-stream", body=body))


def bulk_page(plan: BulkPlan, number: int) -> Page:
    """Return page ``number``."""
    draw = dice(plan.seed, "page", number)
    title = f"{headline(draw, _SECTIONS[number % len(_SECTIONS)])} (no. {number})"
    nav = tuple(
        Link(plan.target(n), "Start" if n == 0 else f"Section {n}")
        for n in range(min(NAV, plan.open_pages))
    )
    links = _links(plan, draw, number)
    size = min(150_000, max(4_000, int(MEDIAN_BYTES * math.exp(draw.gauss(0, 0.5)))))
    return Page(
        at=plan.target(number),
        title=title,
        summary=f"{draw.choice(PLACES)}, {draw.choice(PLACES)} and {draw.choice(PLACES)}",
        nav=nav,
        canonical=plan.target(number),
        blocks=tuple(_blocks(plan, draw, links, size)),
        heavy=True,
    )


def _links(plan: BulkPlan, draw: random.Random, number: int) -> list[Link]:
    first = CHILDREN * number + 1
    children = range(first, min(first + CHILDREN, plan.open_pages))
    links = [Link(plan.target(child), f"part {child}") for child in children]
    if number < plan.behind_redirects:
        links.append(Link(plan.trap("old", number), "moved"))
    for kind, count in plan.traps.items():
        if draw.random() < 0.2:
            links.append(Link(plan.trap(kind, draw.randrange(count)), kind))
    wanted = draw.randint(40, 80) - NAV
    while len(links) < wanted:
        links.append(_filler(plan, draw, number))
    draw.shuffle(links)
    return links


def _filler(plan: BulkPlan, draw: random.Random, number: int) -> Link:
    """Return a link to a near or far page, one in seven in a second spelling."""
    chance, last = draw.random(), plan.open_pages - 1
    if chance < 0.07:
        return Link(plan.target(draw.randint(0, last)), "passage", Spelling.FRAGMENT)
    if chance < 0.14:
        # Only every tenth page, so that who does not fold "?" fetches a tenth twice at most.
        tenth = draw.randint(0, last // 10) * 10
        return Link(plan.target(tenth), "question", Spelling.QUESTION)
    if chance < 0.74:
        near = min(last, max(0, number + draw.randint(-200, 200)))
        return Link(plan.target(near), "near by")
    return Link(plan.target(draw.randint(0, last)), "far away")


def _blocks(plan: BulkPlan, draw: random.Random, links: list[Link], size: int) -> list[Block]:
    pool, blocks = plan.sentences, list[Block]()
    written, per_paragraph = _DRESS_BYTES + 60 * len(links), max(1, len(links) // 14)
    while links or written < size:
        text = draw.choices(pool, k=draw.randint(2, 5)) if written < size else []
        parts: list[str | Link] = []
        for link in links[:per_paragraph]:
            parts += (link, Markup(" "))
        del links[:per_paragraph]
        blocks.append(Prose((*text, *parts)))
        written += sum(map(len, text)) + 8
        if draw.random() < 0.05:
            blocks.append(Table((("key", "value"), *_CELLS)))
        if draw.random() < 0.08:
            image = draw.randrange(40)
            blocks.append(Raw(f'<img src="/img/{image}.svg" alt="" width="320" height="200">'))
    return blocks
