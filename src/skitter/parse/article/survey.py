"""One walk over a document, which finds its blocks and containers.

The walk is linear, visits a bounded number of nodes and keeps a bounded amount of text.
"""

import re
from collections.abc import Iterable

from turbohtml import Document, Element, Node, Text

from skitter.parse.article.blocks import Block, Container, Survey, measure, weigh
from skitter.parse.article.names import Name, Names

MAX_NODES = 20_000
"""Nodes beyond this are not looked at: articles are shorter, and time is bounded."""
MAX_CHARS = 500_000
"""Text beyond this is not kept."""
MAX_PICTURES = 100
MAX_REMARKS = 200
MAX_REMARK_CHARS = 200

_SILENT = frozenset((
    "script", "style", "noscript", "template", "svg", "math", "button", "input", "select",
    "textarea", "option", "optgroup", "canvas", "audio", "video", "object", "embed", "applet",
    "map", "head", "title", "iframe", "meter", "progress", "datalist", "dialog", "figcaption",
    "nav", "footer", "menu", "link", "meta", "base",
))  # fmt: skip
_CONTAINERS = frozenset((
    "html", "body", "div", "section", "article", "main", "td", "center", "form", "fieldset",
    "header", "hgroup", "details", "figure", "aside",
))  # fmt: skip
_BLOCKS = frozenset((
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "blockquote", "pre", "dt", "dd", "address",
    "summary", "caption", "ul", "ol", "dl", "table", "tbody", "thead", "tfoot", "tr", "th", "hr",
    "legend",
))  # fmt: skip
_MARKS = frozenset(("br", "img"))
_LISTS = frozenset(("ul", "ol", "dl"))
_ROOTS = frozenset(("html", "body"))
_APART = frozenset(("header", "figure", "aside"))
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_STYLE_CHARS = 1_000
_BREAK = "\0"
"""Stands for a <br>: the parser leaves no such character in a text."""


def survey(document: Document) -> Survey:
    """Walk ``document`` once."""
    walk = _Walk()
    if document.root is not None:
        walk.run(document.root)
    return walk.found


class _Walk:
    """The state of a walk: what is open, and the block that grows."""

    def __init__(self) -> None:
        self.found = Survey()
        self._names = Names()
        self._chars = 0
        self._container = -1
        self._kinds = ["div"]
        self._lists = [-1]
        self._n_lists = 0
        self._rows = [-1]
        self._n_rows = 0
        self._in_link = 0
        self._breaks = 0
        self._parts: list[str] = []
        self._linked: list[str] = []

    def run(self, root: Element) -> None:
        """Visit the nodes under ``root`` in document order; what is open is closed by its mark."""
        stack: list[Node | str] = [root]
        left = MAX_NODES
        while stack and left and self._chars < MAX_CHARS:
            node = stack.pop()
            if type(node) is Text:
                left -= 1
                self._take(node.data[:MAX_CHARS])
            elif type(node) is Element:
                left -= 1
                mark = self._open(node)
                if mark is not None:
                    if mark:
                        stack.append(mark)
                    stack.extend(_children(node, left))
            elif type(node) is str:
                self._close(node)
        self.found.is_cut = bool(stack)
        self.found.name_chars = self._names.chars
        for node in reversed(stack):
            if type(node) is str:
                self._close(node)
        self._flush()

    def _take(self, data: str) -> None:
        if self._breaks and not data.isspace():
            if self._breaks > 1:
                self._flush()
            self._breaks = 0
        self._chars += len(data)
        self._parts.append(data)
        if self._in_link:
            self._linked.append(data)

    def _open(self, element: Element) -> str | None:
        """Enter an element; return the mark that closes it, empty for none, None to pass it by."""
        tag = element.tag
        if tag in _SILENT or (tag not in _ROOTS and _is_hidden(element)):
            return None
        if tag in _MARKS:
            self._pass(element, tag)
            return None
        if tag in _CONTAINERS:
            return self._open_container(element, tag)
        is_apart = self._names.judge(self._names.read(element)) < 0
        if tag in _BLOCKS:
            return self._open_container(element, tag) if is_apart else self._open_block(tag)
        if is_apart:
            self._note(element)
            return None
        return self._open_inline(tag)

    def _note(self, element: Element) -> None:
        """Keep a line that is no part of the text it stands in."""
        if len(self.found.remarks) < MAX_REMARKS:
            text = element.text
            if len(text) <= MAX_REMARK_CHARS:
                self.found.remarks.append((len(self.found.blocks), " ".join(text.split())))

    def _pass(self, element: Element, tag: str) -> None:
        if tag == "br":
            self._breaks += 1
            self._parts.append(_BREAK)
        elif len(self.found.pictures) < MAX_PICTURES:
            self.found.pictures.append((len(self.found.blocks), element))

    def _open_inline(self, tag: str) -> str:
        if tag != "a":
            return ""
        self._in_link += 1
        return "a"

    def _open_block(self, tag: str) -> str:
        self._flush()
        self._kinds.append(tag)
        if tag in _LISTS:
            self._n_lists += 1
            self._lists.append(self._n_lists)
            return "list"
        if tag == "tr":
            self._n_rows += 1
            self._rows.append(self._n_rows)
            return "row"
        return "block"

    def _open_container(self, element: Element, tag: str) -> str:
        self._flush()
        self._kinds.append(tag)
        containers = self.found.containers
        number, parent = len(containers), self._container
        name = self._names.read(element)
        judged = self._judged(element, tag, name)
        around = containers[parent].article if parent >= 0 else -1
        article = number if tag == "article" else around
        first = len(self.found.blocks)
        containers.append(Container(tag, name, parent, first, judged, article))
        self._container = number
        return "container"

    def _judged(self, element: Element, tag: str, name: str) -> Name:
        """Return what tag and name say of a container; those of the root are of the whole page."""
        if tag in _ROOTS:
            return Name.NEUTRAL
        if element.attr("itemprop") == "articleBody":
            return Name.BODY
        judged = self._names.judge(name)
        return min(judged, Name.FRAME) if tag in _APART else judged

    def _close(self, mark: str) -> None:
        if mark == "a":
            self._in_link -= 1
            return
        self._flush()
        self._kinds.pop()
        if mark == "list":
            self._lists.pop()
        elif mark == "row":
            self._rows.pop()
        elif mark == "container":
            container = self.found.containers[self._container]
            container.last = len(self.found.blocks)
            self._container = container.parent

    def _flush(self) -> None:
        """End the block that grows."""
        self._breaks = 0
        if not self._parts:
            return
        kind = self._kinds[-1]
        text = _tidy("".join(self._parts), keep=kind == "pre")
        linked = " ".join("".join(self._linked).split())
        self._parts.clear()
        self._linked.clear()
        if not text:
            return
        size = measure(text)
        inside = min(size, measure(linked))
        self.found.blocks.append(
            Block(
                text=text,
                kind=kind,
                container=self._container,
                listing=self._lists[-1],
                row=self._rows[-1],
                size=size,
                linked=inside,
                link_share=inside / size,
                prose=weigh(size, inside),
            )
        )


def _is_hidden(element: Element) -> bool:
    if element.attr("hidden") is not None or element.attr("aria-hidden") == "true":
        return True
    style = element.attr("style")
    return style is not None and _HIDDEN.search(style, 0, _STYLE_CHARS) is not None


def _children(element: Element, limit: int) -> Iterable[Node]:
    """Return the children, last one first; of a great many only the first ``limit``.

    A list of all of them is made at once, which takes long where there are millions.
    """
    if len(element) <= limit:
        return reversed(element.children)
    first: list[Node] = []
    node: Node | None = element[0]
    while node is not None and len(first) < limit:
        first.append(node)
        node = node.next_sibling
    return reversed(first)


def _tidy(text: str, *, keep: bool) -> str:
    """Return ``text`` with single spaces and its line breaks, or as it is."""
    if keep:
        return text.replace(_BREAK, "\n").strip("\n")
    if _BREAK not in text:
        return " ".join(text.split())
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split(_BREAK))))
