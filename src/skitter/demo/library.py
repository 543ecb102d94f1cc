"""The library: pages in topics, for a crawl that looks for some words and not for others.

Every topic has as many pages as the next and is built alike, so that a crawl without a preference
meets them in equal measure. Most pages of a topic hang together below its first page; the others
are outposts: small groups that only a page of another topic leads to.
"""

import random
import re
from typing import NamedTuple

from skitter.demo.model import Block, Link, LinkList, Page, Prose, Target
from skitter.demo.pages import link_row
from skitter.demo.topics import GENERIC, TOPICS, texts_of, title_of
from skitter.demo.web import Robots
from skitter.demo.words import dice, paragraph, slug

NAME = "library"
HALLS = ("east", "north", "west", "south")
OUTPOST = 4
"""Pages of an outpost, at most."""
_OUTPOST_SHARE = 0.25
_PLAIN_ANCHORS = 0.8
_HALL = re.compile(r"/hall/([a-z]+)")
_BOOK = re.compile(r"/(?:item/|read/[a-z0-9-]+-)(\d+)")
_NAV = link_row(NAME, {"/": "The library"})


class _Book(NamedTuple):
    topic: int
    place: int
    """Its number within the topic."""


class LibrarySite:
    """About ``pages`` pages, an eighth of them on each topic."""

    robots = Robots()

    def __init__(self, seed: int, pages: int) -> None:
        self._seed = seed
        self._each = max(OUTPOST * 2, (pages - 1 - len(HALLS)) // len(TOPICS))
        self._near = self._each - int(self._each * _OUTPOST_SHARE)
        self._hosted: dict[_Book, list[_Book]] = {}
        for topic in range(len(TOPICS)):
            for first in range(self._near, self._each, OUTPOST):
                self._hosted.setdefault(self._host_of(topic, first), []).append(_Book(topic, first))

    def page(self, path: str) -> Page | None:
        """Return the page at ``path``."""
        if path == "/":
            return self._home()
        if match := _HALL.fullmatch(path):
            return self._hall(match[1]) if match[1] in HALLS else None
        if match := _BOOK.fullmatch(path):
            book = _Book(*divmod(int(match[1]), self._each))
            known = book.topic < len(TOPICS) and self._path(book) == path
            return self._book(book) if known else None
        return None

    def _draw(self, *key: object) -> random.Random:
        return dice(self._seed, NAME, *key)

    def _title(self, book: _Book) -> str:
        return title_of(TOPICS[book.topic], self._draw("title", book))

    def _path(self, book: _Book) -> str:
        number = book.topic * self._each + book.place
        return f"/read/{slug(self._title(book))}-{number}" if number % 2 else f"/item/{number}"

    def _link(self, book: _Book, draw: random.Random) -> Link:
        plain = draw.random() < _PLAIN_ANCHORS
        text = self._title(book) if plain else draw.choice(GENERIC)
        return Link(Target(NAME, self._path(book)), text)

    def _home(self) -> Page:
        halls = link_row(NAME, {f"/hall/{hall}": f"The {hall} hall" for hall in HALLS})
        text = Prose((paragraph(self._draw("home"), sentences=3),))
        return Page(
            at=Target(NAME, "/"),
            title="The harbour library",
            summary="Eight shelves in four halls.",
            blocks=(text, LinkList("Halls", halls)),
        )

    def _hall(self, hall: str) -> Page:
        here = range(HALLS.index(hall), len(TOPICS), len(HALLS))
        shelves = tuple(
            Link(Target(NAME, self._path(_Book(t, 0))), TOPICS[t].phrase.capitalize()) for t in here
        )
        return Page(
            at=Target(NAME, f"/hall/{hall}"),
            title=f"The {hall} hall",
            nav=_NAV,
            blocks=(Prose((paragraph(self._draw(hall)),)), LinkList("Shelves", shelves)),
        )

    def _book(self, book: _Book) -> Page:
        draw = self._draw("book", book)
        title = self._title(book)
        blocks: list[Block] = [Prose((text,)) for text in texts_of(TOPICS[book.topic], draw)]
        near = [self._link(other, draw) for other in self._below(book)]
        if book.place < self._near:
            near += [self._link(self._anywhere(draw, book), draw) for _ in range(2)]
        for far in self._hosted.get(book, ()):
            about = f"On {TOPICS[far.topic].phrase} the library has something, too: "
            blocks.append(Prose((about, self._link(far, draw), ".")))
        return Page(
            at=Target(NAME, self._path(book)),
            title=f"{title} ({book.topic * self._each + book.place})",
            nav=_NAV,
            blocks=(*blocks, LinkList("Beside it", tuple(near))),
        )

    def _below(self, book: _Book) -> list[_Book]:
        """Return the pages of the same topic that this one leads to: two, or the next one."""
        topic, place = book
        if place >= self._near:
            following = place + 1
            within = (following - self._near) % OUTPOST and following < self._each
            return [_Book(topic, following)] if within else []
        return [_Book(topic, n) for n in (2 * place + 1, 2 * place + 2) if n < self._near]

    def _anywhere(self, draw: random.Random, book: _Book) -> _Book:
        """Return a page of the neighbouring shelf, or of this one."""
        topic = (book.topic + draw.choice((0, 1, len(TOPICS) - 1))) % len(TOPICS)
        return _Book(topic, draw.randrange(self._near))

    def _host_of(self, topic: int, first: int) -> _Book:
        """Return the page of another topic that alone leads to the outpost beginning there."""
        draw = self._draw("outpost", topic, first)
        other = (topic + draw.randrange(1, len(TOPICS))) % len(TOPICS)
        return _Book(other, draw.randrange(self._near))
