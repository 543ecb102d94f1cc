"""The files that a page shows: pictures, films and sounds, in the order of the document."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from turbohtml import Document, Element

from skitter.parse.srcset import largest

IMAGE: Final = "image"
VIDEO: Final = "video"
AUDIO: Final = "audio"
_PLAYERS = frozenset((VIDEO, AUDIO))
_DOTS = frozenset(("0", "1"))
"""What is this wide and high is there to be counted, not to be seen."""


class Shown(NamedTuple):
    """One file, as the page names it."""

    kind: str
    href: str


def shown_files(document: Document) -> Iterator[Shown]:
    """Yield what a document shows; nothing is joined to a URL, and what is named twice comes twice.

    Of the sizes that a picture comes in the largest is taken, beside the one for old browsers.
    """
    for element in document.iter_elements(tuple(_READERS)):
        for shown in _READERS[element.tag](element):
            if shown.href:
                yield shown


def _of_img(element: Element) -> Iterator[Shown]:
    if _size(element, "width") in _DOTS and _size(element, "height") in _DOTS:
        return
    yield Shown(IMAGE, element.attr("src") or "")
    yield Shown(IMAGE, largest(element.attr("srcset") or "") or "")


def _of_source(element: Element) -> Iterator[Shown]:
    parent = element.parent
    tag = parent.tag if isinstance(parent, Element) else ""
    if tag == "picture":
        yield Shown(IMAGE, largest(element.attr("srcset") or "") or "")
    elif tag in _PLAYERS:
        yield Shown(tag, element.attr("src") or "")


def _of_player(element: Element) -> Iterator[Shown]:
    yield Shown(element.tag, element.attr("src") or "")


def _size(element: Element, name: str) -> str:
    return (element.attr(name) or "").strip().removesuffix("px")


_READERS: dict[str, Callable[[Element], Iterator[Shown]]] = {
    "img": _of_img,
    "source": _of_source,
    "video": _of_player,
    "audio": _of_player,
}
