"""What a reader sees: the text of a link, and the beginning of a page's own text."""

from collections.abc import Iterator
from itertools import islice

from turbohtml import Document, Element, Text

MAX_ANCHOR_CHARS = 200
_MAX_FRAMES = 64
_MAX_NODES = 256
_MAX_IMAGES = 8
_SILENT = frozenset(("script", "style", "template", "noscript"))
_LABELLED = frozenset(("area", "frame", "iframe", "link"))

# Links inside links make reading every text whole quadratic, and a script is no text: where a
# document has either, texts are read node by node.
_ODD = "a a,a script,a style,a template,a noscript"
_FRAME = "script,style,template,noscript,nav,footer"


def link_texts(document: Document, elements: list[Element]) -> list[str]:
    """Return what each link element says, on one line: its text, or the label it has instead."""
    read = _plain_text if document.select_one(_ODD) is None else _careful_text
    return [
        ("" if element.tag in _LABELLED else read(element)) or _first(_labels(element))
        for element in elements
    ]


def text_sample(document: Document, chars: int) -> str:
    """Return the first ``chars`` characters of the text that is the page's own.

    The texts of links and of the site's frame (navigation, footer) speak of other pages, and stand
    on those that have nothing to do with them.
    """
    left_out = _foreign_strings(document)
    parts: list[str] = []
    size = 0
    body = document.select_one("body")
    for string in body.strings if body is not None else ():
        if size >= chars:
            break
        if string not in left_out and (part := string[:chars].strip()):
            parts.append(part)
            size += len(part) + 1
    return " ".join(" ".join(parts).split())[:chars]


def _foreign_strings(document: Document) -> set[str]:
    """Return the strings that are not the page's own; nesting must not make this quadratic."""
    elements = document.select(_FRAME)[:_MAX_FRAMES]
    if document.select_one("a a") is None:
        elements += document.select("a")
    strings = set[str]()
    for element in elements:
        strings.update(element.strings)
    return strings


def _plain_text(link: Element) -> str:
    return _collapsed(link.text) or _first(_alts(link.iter_elements("img")))


def _careful_text(link: Element) -> str:
    nodes = list(islice(link.descendants, _MAX_NODES))
    text = "".join(node.data for node in nodes if isinstance(node, Text) and _is_read(node))
    images = (node for node in nodes if isinstance(node, Element) and node.tag == "img")
    return _collapsed(text) or _first(_alts(images))


def _is_read(node: Text) -> bool:
    parent = node.parent
    return not (isinstance(parent, Element) and parent.tag in _SILENT)


def _alts(images: Iterator[Element]) -> Iterator[str]:
    return (image.attr("alt") or image.attr("title") or "" for image in islice(images, _MAX_IMAGES))


def _labels(element: Element) -> Iterator[str]:
    return (element.attr(name) or "" for name in ("alt", "aria-label", "title"))


def _first(texts: Iterator[str]) -> str:
    return next(filter(None, map(_collapsed, texts)), "")


def _collapsed(text: str) -> str:
    return " ".join(text[: 4 * MAX_ANCHOR_CHARS].split())[:MAX_ANCHOR_CHARS]
