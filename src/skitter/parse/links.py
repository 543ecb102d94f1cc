"""Every link of a document, whatever element holds it, with its text.

``parse_page`` finds what a crawl follows; this is the whole report, for the jobs and people who
want to see all of it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from turbohtml import Element, Text

from skitter.errors import InvalidUrl
from skitter.parse.document import parse_document
from skitter.parse.encoding import read_text
from skitter.parse.media import read_content_type
from skitter.parse.metadata import HEAD_TAGS, collapse, read_head
from skitter.parse.srcset import srcset_urls
from skitter.url.parse import Base, parse

MAX_HREF_CHARS = 64 * 1024
"""Longer targets are left out."""

# A link inside a link inside a link …: reading each one's whole text would take quadratic time.
_MAX_TEXT_NODES = 256
_SILENT = frozenset(("script", "style"))

_ADDRESSES = {
    "base": ("href",),
    "frame": ("src", "longdesc"),
    "iframe": ("src", "longdesc"),
    "img": ("src", "longdesc"),
    "link": ("href",),
    "form": ("action",),
    "body": ("background",),
    "embed": ("src",),
    "object": ("data",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "source": ("src",),
    "track": ("src",),
    "script": ("src",),
    "input": ("src", "formaction"),
    "button": ("formaction",),
}
_SRCSETS = frozenset(("img", "source"))
_TAGS = ("a", "area", "meta", "applet", *_ADDRESSES)
_LABELS = {
    "area": "alt",
    "img": "alt",
    "input": "alt",
    "applet": "alt",
    "frame": "title",
    "iframe": "title",
    "link": "title",
}


@dataclass(frozen=True, slots=True)
class Link:
    """One link: where it leads, what it says, and the element that holds it."""

    url: str
    """Absolute, in WHATWG serialisation."""
    text: str
    """What a reader sees, on one line; the alternative text where that is an image."""
    rel: str
    """The rel attribute in lower case, with single spaces."""
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkReport:
    """All links in document order, and what the page says about its address and robots."""

    links: list[Link]
    base: str | None
    """Absolute base URL when a <base> gives one."""
    canonical: str | None
    robots: list[str]


def extract_links(html: str | bytes, url: str) -> LinkReport:
    """Report every http, https and ftp link of ``html``, a page found at ``url``.

    Raises ``UrlError`` when ``url`` itself is not an http or https URL.
    """
    encoding, text = _read(html)
    own = Base(url, encoding)
    document = parse_document(text)
    head = read_head(document.iter_elements(HEAD_TAGS))
    stated = own.join(head.base) if head.base and len(head.base) <= MAX_HREF_CHARS else None
    base = Base(stated, encoding) if stated else own
    return LinkReport(
        links=list(_links(document.iter_elements(_TAGS), own, base)),
        base=stated,
        canonical=_join(base, head.relations.get("canonical")),
        robots=head.directives(),
    )


def _read(html: str | bytes) -> tuple[str, str]:
    if isinstance(html, bytes):
        return read_text(html, read_content_type(None))
    try:
        html.encode()
    except UnicodeEncodeError:
        html = html.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return "utf-8", html


def _links(elements: Iterable[Element], own: Base, base: Base) -> Iterator[Link]:
    for element in elements:
        tag = element.tag
        urls = [
            url
            for target in _targets(element, tag)
            if (url := _join(own if tag == "base" else base, target)) is not None
        ]
        if urls:
            text, rel = _text(element, tag), " ".join((element.attr("rel") or "").lower().split())
            yield from (Link(url, text, rel, tag) for url in urls)


def _targets(element: Element, tag: str) -> Iterator[str | None]:
    """Yield the raw targets of one element; an anchor may lead to its own page, others not."""
    if tag == "a":
        href = element.attr("href")
        yield element.attr("xlink:href") if href is None else href
    elif tag == "area":
        yield element.attr("href")
    elif tag == "meta":
        yield read_head((element,)).refresh_target()
    elif tag == "applet":
        yield _applet_class(element)
    else:
        for name in _ADDRESSES[tag]:
            yield element.attr(name) or None
        if tag in _SRCSETS:
            yield from srcset_urls(element.attr("srcset") or "")


def _applet_class(element: Element) -> str | None:
    """Return an applet's code, which lies in the directory ``codebase`` names."""
    code, codebase = element.attr("code"), element.attr("codebase")
    return f"{codebase.rstrip('/')}/{code}" if code and codebase else code or None


def _join(base: Base, href: str | None) -> str | None:
    if href is None or len(href) > MAX_HREF_CHARS:
        return None
    joined = base.join(href)
    if joined is None and href.lstrip()[:4].lower() == "ftp:":
        try:
            return parse(href, base.url)
        except InvalidUrl:
            return None
    return joined


def _text(element: Element, tag: str) -> str:
    if tag == "a":
        return _anchor_text(element)
    label = _LABELS.get(tag)
    return (label and collapse(element.attr(label))) or ""


def _anchor_text(anchor: Element) -> str:
    nodes = list(islice(anchor.descendants, _MAX_TEXT_NODES))
    text = "".join(node.data for node in nodes if isinstance(node, Text) and _is_read(node))
    if seen := collapse(text):
        return seen
    images = (node for node in nodes if isinstance(node, Element) and node.tag == "img")
    return next(filter(None, (collapse(image.attr("alt")) for image in images)), "")


def _is_read(node: Text) -> bool:
    parent = node.parent
    return not (isinstance(parent, Element) and parent.tag in _SILENT)
