"""Small pieces every site is built with."""

from collections.abc import Iterator, Mapping, Sequence

from skitter.demo.model import Answer, Link, Page, Target
from skitter.demo.web import Robots


class FixedSite:
    """A site small enough to be kept as it is."""

    def __init__(self, pages: Sequence[Page], robots: Robots) -> None:
        self.robots = robots
        self._pages: Mapping[str, Page] = {page.at.path: page for page in pages}

    def __iter__(self) -> Iterator[Page]:
        return iter(self._pages.values())

    def page(self, path: str) -> Page | None:
        """Return the page at ``path``."""
        return self._pages.get(path)


def moved(at: Target, to: Target | None, status: int = 301, *, written: str | None = None) -> Page:
    """Return a redirect; ``written`` is its Location header where the plain URL is not wanted."""
    return Page(at=at, answer=Answer(status=status, location=to, location_as=written))


def steps(number: int, last: int) -> list[int]:
    """Return the pages a pager at ``number`` offers: neighbours, first, last, and leaps between.

    The leaps keep the last page of a long list a few clicks away.
    """
    leaps = {number + far for far in (-100, -10, -1, 1, 10, 100)}
    return sorted(n for n in {1, last} | leaps if 1 <= n <= last and n != number)


def link_row(site: str, rows: Mapping[str, str]) -> tuple[Link, ...]:
    """Return links to paths of one site, from a mapping of path to text."""
    return tuple(Link(Target(site, path), text) for path, text in rows.items())
