"""What a page states about its article in metas, JSON-LD and microdata."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from turbohtml import Document, Element

from skitter.parse.metadata import HEAD_TAGS, Head, read_head

MAX_METAS = 2_000
MAX_SCRIPTS = 1_000
MAX_JSON_CHARS = 500_000
MAX_JSON_NODES = 2_000
MAX_JSON_ITEMS = 100
_MAX_MARKED = 100
_MARKED = (
    'time[datetime],time[pubdate],[itemprop~="datePublished"],[itemprop~="author"],[rel~="author"],'
    "a.author,span.author,p.author,div.author,.byline,.byline-name,.c-byline,.author-name,"
    ".authorname,.post-author,.entry-author,.article-author,.article__author"
)
_JSON_LD = "application/ld+json"
_ARTICLE = re.compile(r"(?:Article|Posting|Report|Story|Review|Column|Recipe)$")
_OPENINGS = ("//", "<![CDATA[", "/*", "*/", "<!--")
_CLOSINGS = ("]]>", "-->", "//", "/*", "*/", ";")

Json = dict[str, object]


@dataclass(slots=True)
class Stated:
    """Statements of one page, in the order they are trusted."""

    head: Head
    metas: dict[str, str] = field(default_factory=dict)
    """First content of every meta, by its name, property or itemprop in lower case."""
    article: Json = field(default_factory=dict)
    """The JSON-LD object of the article; empty where there is none."""
    marked: list[Element] = field(default_factory=list)
    """Elements marked as date or author, in document order."""

    def meta(self, *names: str) -> str | None:
        """Return the first of ``names`` that is stated."""
        for name in names:
            if value := self.metas.get(name):
                return value
        return None

    def text(self, name: str) -> str | None:
        """Return a string of the article's JSON-LD object."""
        value = self.article.get(name)
        return value if isinstance(value, str) and value.strip() else None


def read_stated(document: Document, *, with_marks: bool) -> Stated:
    """Collect what ``document`` states; ``with_marks`` looks through the whole of it."""
    stated = Stated(read_head(document.iter_elements(HEAD_TAGS)))
    for count, element in enumerate(document.iter_elements("meta")):
        if count >= MAX_METAS:
            break
        name = element.attr("property") or element.attr("name") or element.attr("itemprop")
        content = element.attr("content")
        if name and content and content.strip():
            stated.metas.setdefault(name.strip().lower(), content.strip())
    stated.article = _article(document)
    if with_marks:
        stated.marked = document.select(_MARKED)[:_MAX_MARKED]
    return stated


def _article(document: Document) -> Json:
    """Return the article among the JSON-LD objects, else what says most like one."""
    best: Json = {}
    for node in _nodes(document):
        kinds = node.get("@type")
        names = kinds if isinstance(kinds, list) else [kinds]
        if any(isinstance(name, str) and _ARTICLE.search(name) for name in names):
            return node
        if not best and "datePublished" in node:
            best = node
    return best


def _nodes(document: Document) -> Iterator[Json]:
    """Yield the objects of all scripts, outer ones first."""
    left = MAX_JSON_CHARS
    nodes = 0
    scripts = islice(document.iter_elements("script"), MAX_SCRIPTS)
    for script in scripts:
        if (script.attr("type") or "").strip().lower() != _JSON_LD:
            continue
        text = script.text
        left -= len(text)
        if left < 0:
            return
        waiting = [_loaded(text)]
        for value in waiting:
            nodes += 1
            if nodes > MAX_JSON_NODES:
                return
            if isinstance(value, dict):
                yield value
                waiting.extend(v for v in value.values() if isinstance(v, dict | list))
            elif isinstance(value, list):
                waiting.extend(v for v in value[:MAX_JSON_ITEMS] if isinstance(v, dict | list))


def _loaded(text: str) -> object:
    try:
        return json.loads(_unwrapped(text), strict=False)
    except (ValueError, RecursionError):
        return None


def _unwrapped(text: str) -> str:
    """Return ``text`` without the comment marks that some put around JSON."""
    text = text.strip()
    for _ in range(len(_OPENINGS)):
        for mark in _OPENINGS:
            text = text.removeprefix(mark).lstrip()
    for _ in range(len(_CLOSINGS)):
        for mark in _CLOSINGS:
            text = text.removesuffix(mark).rstrip()
    return text
