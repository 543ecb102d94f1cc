"""The docs site: chapters written with relative links, a reference under a <base>, old versions."""

import random
import re

from skitter.demo.model import Answer, Link, LinkList, Page, Prose, Raw, Spelling, Table, Target
from skitter.demo.pages import link_row, moved
from skitter.demo.web import Robots
from skitter.demo.words import dice, paragraph, sentence

NAME = "docs"
TOPICS = (
    "Installing", "First steps", "Configuration", "Sessions", "Storage", "Scheduling", "Queues",
    "Time zones", "Backups", "Plug-ins", "Security", "Logging", "Tracing", "Testing", "Upgrading",
)  # fmt: skip
ANGLES = ("in five minutes", "in depth", "for teams", "on small machines", "step by step",
          "by example", "and what can go wrong")  # fmt: skip
CALLS = ("open", "close", "read", "write", "seek", "flush", "merge", "split", "watch", "seal")
PER_CHAPTER = 8
HIDDEN_ANNEX = "/stable/annex/"
"""Linked from nowhere; another site redirects to it."""
_SECTION = re.compile(r"/stable/guide/ch(\d+)/s(\d+)\.html")
_CHAPTER = re.compile(r"/(stable|latest|v1)/guide/ch(\d+)/")
_CALL = re.compile(r"/stable/api/([a-z]+)\.html")
_NAV = link_row(NAME, {"/": "Docs", "/stable/guide/": "Guide", "/stable/api/": "Reference"})


class DocsSite:
    """``sections`` sections in chapters of eight, and ten reference pages."""

    robots = Robots(disallow=("/search",), moved_to="/meta/robots.txt")

    def __init__(self, seed: int, sections: int) -> None:
        self._seed = seed
        self._sections = sections
        self._chapters = -(-sections // PER_CHAPTER)

    def page(self, path: str) -> Page | None:
        """Return the page at ``path``."""
        if fixed := self._fixed(path):
            return fixed
        if match := _SECTION.fullmatch(path):
            number = (int(match[1]) - 1) * PER_CHAPTER + int(match[2]) - 1
            known = number < self._sections and self._path(number) == path
            return self._section(number) if known else None
        if match := _CHAPTER.fullmatch(path):
            return self._chapter(path, match[1], int(match[2]))
        if (match := _CALL.fullmatch(path)) and match[1] in CALLS:
            return self._call(match[1])
        return None

    def _fixed(self, path: str) -> Page | None:
        makers = {
            "/stable/": self._index,
            "/stable/guide/": self._guide,
            "/stable/api/": self._reference,
            HIDDEN_ANNEX: self._annex,
        }
        if path in makers:
            return makers[path]()
        if path == "/":
            return moved(Target(NAME, path), Target(NAME, "/stable/"), 307)
        if path.startswith("/search"):
            return Page(at=Target(NAME, path), title="Search", nav=_NAV)
        return None

    def _annex(self) -> Page:
        text = Prose((paragraph(self._draw("annex")),))
        return Page(at=Target(NAME, HIDDEN_ANNEX), title="Annex", nav=_NAV, blocks=(text,))

    def _draw(self, *key: object) -> random.Random:
        return dice(self._seed, NAME, *key)

    def _path(self, number: int) -> str:
        chapter, section = divmod(number, PER_CHAPTER)
        return f"/stable/guide/ch{chapter + 1:02d}/s{section + 1}.html"

    def _title(self, number: int) -> str:
        return f"{TOPICS[number % len(TOPICS)]} {ANGLES[number // 3 % len(ANGLES)]}"

    def _link(self, number: int, spelling: Spelling = Spelling.RELATIVE) -> Link:
        return Link(Target(NAME, self._path(number)), self._title(number), spelling)

    def _index(self) -> Page:
        return Page(
            at=Target(NAME, "/stable/"),
            title="Tidewater documentation",
            summary="How to run a program that was never written.",
            nav=_NAV,
            blocks=(
                Prose((paragraph(self._draw("index"), sentences=3),)),
                LinkList("Start here", (self._link(0), self._link(min(1, self._sections - 1)))),
                LinkList(
                    "Other versions",
                    link_row(NAME, {"/latest/guide/ch01/": "Latest", "/v1/guide/ch01/": "1.x"}),
                ),
                LinkList("Find", link_row(NAME, {"/search?q=lease": "Search for leases"})),
            ),
        )

    def _guide(self) -> Page:
        chapters = tuple(
            Link(Target(NAME, f"/stable/guide/ch{n:02d}/"), f"Chapter {n}", Spelling.RELATIVE)
            for n in range(1, self._chapters + 1)
        )
        blocks = (LinkList("Chapters", chapters),)
        return Page(at=Target(NAME, "/stable/guide/"), title="Guide", nav=_NAV, blocks=blocks)

    def _chapter(self, path: str, version: str, chapter: int) -> Page | None:
        known = 1 <= chapter <= self._chapters and path.endswith(f"/ch{chapter:02d}/")
        if not known:
            return None
        current = Target(NAME, f"/stable/guide/ch{chapter:02d}/")
        if version == "latest":
            return moved(Target(NAME, path), current, 302)
        first = (chapter - 1) * PER_CHAPTER
        numbers = range(first, min(first + PER_CHAPTER, self._sections))
        old = version == "v1"
        return Page(
            at=Target(NAME, path),
            title=f"Chapter {chapter}" + (" (version 1)" if old else ""),
            nav=_NAV,
            robots_meta="noindex" if old else "",
            canonical=current,
            blocks=(LinkList("Sections", tuple(map(self._link, numbers))),),
        )

    def _section(self, number: int) -> Page:
        draw = self._draw("section", number)
        target = Target(NAME, self._path(number))
        here = tuple(
            Link(target, f"{self._title(number)}: {part}", Spelling.FRAGMENT)
            for part in ("overview", "example")
        )
        around = [n for n in (number - 1, number + 1) if 0 <= n < self._sections]
        call = draw.choice(CALLS)
        return Page(
            at=target,
            title=f"{number + 1}. {self._title(number)}",
            summary=sentence(draw),
            nav=_NAV,
            answer=Answer(coding=(None, "gzip", "br", "zstd")[number % 4]),
            blocks=(
                LinkList("On this page", here),
                Prose((paragraph(draw), " See ", _call_link(call, Spelling.FRAGMENT), ".")),
                Raw(f"<pre><code>$ tidewater {call} --section {number + 1}</code></pre>"),
                Prose((paragraph(draw),)),
                LinkList("Continue", tuple(map(self._link, around))),
            ),
        )

    def _reference(self) -> Page:
        links = tuple(_call_link(call, Spelling.RELATIVE) for call in CALLS)
        blocks = (LinkList("Calls", links),)
        return Page(at=Target(NAME, "/stable/api/"), title="Reference", nav=_NAV, blocks=blocks)

    def _call(self, call: str) -> Page:
        draw = self._draw("call", call)
        # The base is the folder above: who ignores it ends in /stable/api/api/ and meets 404s.
        others = tuple(_call_link(other, Spelling.RELATIVE) for other in draw.sample(CALLS, 3))
        rows = (("Parameter", "Meaning"), ("path", sentence(draw)), ("limit", sentence(draw)))
        return Page(
            at=Target(NAME, f"/stable/api/{call}.html"),
            title=f"{call}()",
            nav=_NAV,
            base="/stable/",
            blocks=(Prose((paragraph(draw),)), Table(rows), LinkList("See also", others)),
        )


def _call_link(call: str, spelling: Spelling) -> Link:
    return Link(Target(NAME, f"/stable/api/{call}.html"), f"{call}()", spelling)
