"""The facts a document states about itself in title, base, meta and link elements.

``read_head`` takes those elements in document order, wherever the parser has put them, and keeps
the first statement of each kind. Nothing is joined to a URL here.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from turbohtml import Element, Namespace

from skitter.parse.clean import clean

HEAD_TAGS = ("title", "base", "meta", "link")
"""The elements ``read_head`` understands."""

MAX_TEXT_CHARS = 4096
"""Longer titles and descriptions are cut: no person wrote them for a reader."""

AGENT_NAMES = frozenset(("robots", "skitter"))
"""Whose meta directives bind this crawler."""

_DESCRIPTIONS = ("description", "og:description", "twitter:description", "dc.description")
_IMAGES = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src")
_STATEMENTS = frozenset(
    (*_DESCRIPTIONS, *_IMAGES, "og:title", "og:locale", "content-language", "refresh")
)
_RELATIONS = frozenset(("canonical", "image_src", "next", "prev", "previous"))
_PAGINATION = frozenset(("next", "prev", "previous"))
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,4}(?=[\s,;]|\Z)")
# HTML Standard, shared declarative refresh steps: a time, a separator, then "url=" or the bare URL.
_REFRESH = re.compile(
    r"""[\t\n\f\r ]*[0-9.]+(?:[\t\n\f\r ]*[;,][\t\n\f\r ]*|[\t\n\f\r ]+)"""
    r"""(?:url[\t\n\f\r ]*=[\t\n\f\r ]*)?(?:"([^"]*)|'([^']*)|(.*))""",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(slots=True)
class Head:
    """What was stated, as it was written."""

    title: str | None = None
    base: str | None = None
    statements: dict[str, str] = field(default_factory=dict)
    """First content of each meta that matters, by its name in lower case."""
    relations: dict[str, str] = field(default_factory=dict)
    """First href of each link relation that matters."""
    robots: list[str] = field(default_factory=list)
    others: int = 0
    """Number of elements passed over."""

    @property
    def description(self) -> str | None:
        """The description for people, collapsed."""
        return collapse(self._first(_DESCRIPTIONS))

    @property
    def image(self) -> str | None:
        """The address of the image that stands for the page."""
        return self._first(_IMAGES) or self.relations.get("image_src")

    @property
    def has_pagination(self) -> bool:
        """Whether a link element leads to the next or previous page."""
        return not _PAGINATION.isdisjoint(self.relations)

    def language(self, root: Element | None) -> str | None:
        """Return the language, from <html lang>, then the metas."""
        stated = (root.attr("lang") or root.attr("xml:lang")) if root is not None else None
        for value in (
            stated,
            self.statements.get("content-language"),
            self.statements.get("og:locale"),
        ):
            if value and (found := _LANGUAGE.match(value.strip())):
                return found[0].replace("_", "-")
        return None

    def directives(self) -> list[str]:
        """Return the robots directives in the order they stand, in lower case, each once."""
        found: dict[str, None] = {}
        for content in self.robots:
            for part in content.lower().split(","):
                if directive := part.strip():
                    found[directive] = None
        return list(found)

    def refresh_target(self) -> str | None:
        """Return where a meta refresh leads; None when it only reloads the page."""
        content = self.statements.get("refresh")
        match = _REFRESH.match(content) if content else None
        if match is None:
            return None
        target = next(group for group in match.groups() if group is not None).strip()
        return target or None

    def _first(self, names: tuple[str, ...]) -> str | None:
        statements = self.statements
        for name in names:
            if name in statements:
                return statements[name]
        return None


def read_head(elements: Iterable[Element]) -> Head:
    """Collect the facts of ``elements``; those not in ``HEAD_TAGS`` are only counted."""
    head = Head()
    for element in elements:
        reader = _READERS.get(element.tag)
        if reader is None:
            head.others += 1
        else:
            reader(head, element)
    return head


def collapse(text: str | None) -> str | None:
    """Return ``text`` on one line with single spaces, cut to a sane length; None when empty."""
    if not text:
        return None
    one_line = " ".join(text[: 4 * MAX_TEXT_CHARS].split())
    if not one_line.isascii() or not one_line.isprintable():
        one_line = " ".join(clean(one_line).split())
    return one_line[:MAX_TEXT_CHARS].rstrip() or None


def _read_title(head: Head, element: Element) -> None:
    # An <svg> has titles of its own.
    if head.title is None and element.namespace is Namespace.HTML:
        head.title = collapse(element.text)


def _read_base(head: Head, element: Element) -> None:
    if head.base is None:
        head.base = element.attr("href")


def _read_meta(head: Head, element: Element) -> None:
    name = element.attr("name") or element.attr("property") or element.attr("http-equiv")
    if not name:
        return
    name = name.strip().lower()
    if name in _STATEMENTS:
        content = element.attr("content")
        if content:
            head.statements.setdefault(name, content)
    elif name in AGENT_NAMES:
        head.robots.append(element.attr("content") or "")


def _read_link(head: Head, element: Element) -> None:
    relation = element.attr("rel")
    if not relation:
        return
    for name in relation.lower().split():
        if name in _RELATIONS and (href := element.attr("href")):
            head.relations.setdefault(name, href)


_READERS: dict[str, Callable[[Head, Element], None]] = {
    "title": _read_title,
    "base": _read_base,
    "meta": _read_meta,
    "link": _read_link,
}
