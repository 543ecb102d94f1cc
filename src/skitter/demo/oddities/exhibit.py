"""What one group of odd pages contributes to the cabinet."""

from dataclasses import dataclass

from skitter.demo.model import Answer, Block, Link, Page, Prose, Spelling, Target
from skitter.demo.words import dice, paragraph

NAME = "lab"
HOME = Target(NAME, "/")
BACK = (Link(HOME, "The cabinet"),)


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A group of pages: its title, its pages, and the links the cabinet shows for it."""

    title: str
    pages: tuple[Page, ...]
    links: tuple[Link, ...]


def at(path: str) -> Target:
    """Return a page's place in the cabinet."""
    return Target(NAME, path)


def link(path: str, text: str, spelling: Spelling = Spelling.PLAIN, rel: str = "") -> Link:
    """Return a link to a page of the cabinet."""
    return Link(at(path), text, spelling, rel)


def specimen(
    path: str, title: str, *blocks: Block, answer: Answer | None = None, robots_meta: str = ""
) -> Page:
    """Return a page with a text of its own, so that no two are equal by accident."""
    text = Prose((paragraph(dice(NAME, path), sentences=5),))
    return Page(
        at=at(path),
        title=title,
        nav=BACK,
        blocks=(text, *blocks),
        answer=answer or Answer(),
        robots_meta=robots_meta,
    )
