"""One document, parsed once: the facts and links the crawl needs of it."""

from turbohtml import Document, parse

from skitter.errors import UrlError
from skitter.parse.anchor import text_sample
from skitter.parse.encoding import read_text, sniff_encoding, unread_places
from skitter.parse.follow import (
    DEFAULT,
    EXTRA_TAGS,
    FollowOptions,
    links_to_follow,
    links_with_texts,
)
from skitter.parse.media import read_content_type
from skitter.parse.metadata import HEAD_TAGS, Head, collapse, read_head
from skitter.parse.page import ParsedPage
from skitter.parse.simhash import page_sketch
from skitter.url.parse import Base

_FACT_TAGS = (*HEAD_TAGS, *EXTRA_TAGS)
_MAX_HEADINGS = 8

MAX_PARSED_CHARS = 16 * 1024 * 1024
"""Text beyond this is not parsed: hostile markup of this size takes about a second already."""


def parse_page(
    body: bytes, content_type: str | None, url: str, *, follow: FollowOptions = DEFAULT
) -> ParsedPage:
    """Return the facts of a page; never raises, whatever the bytes.

    ``url`` is where the page was found in the end. A body whose type is not HTML has an encoding
    and nothing else.
    """
    media = read_content_type(content_type)
    if not media.is_html:
        return ParsedPage(encoding=sniff_encoding(body, content_type))
    encoding, text = read_text(body, media)
    page = read_document(parse_document(text), encoding, url, follow=follow)
    page.cut = len(text) > MAX_PARSED_CHARS
    page.unread = unread_places(body, text, encoding)
    return page


def parse_document(text: str) -> Document:
    """Return the tree of ``text``, with the content of declarative shadow roots in place."""
    text = text[:MAX_PARSED_CHARS]
    return parse(text, positions=False, allow_declarative_shadow_roots=False)


def read_document(
    document: Document, encoding: str, url: str, *, follow: FollowOptions = DEFAULT
) -> ParsedPage:
    """Return the facts of a document that is already parsed."""
    head = read_head(document.iter_elements(_FACT_TAGS))
    page = ParsedPage(
        encoding=encoding,
        title=head.title or collapse(head.statements.get("og:title")) or _heading(document),
        description=head.description,
        language=head.language(document.root),
        robots=frozenset(head.directives()) if head.robots else frozenset(),
    )
    _find_links(page, document, head, follow)
    _resolve(page, head, url, follow.max_href_chars)
    if follow.sample:
        page.sample = text_sample(document, follow.sample)
    if follow.sketch:
        page.sketch = page_sketch(document, url)
    if follow.keep:
        page.document = document
    return page


def _find_links(page: ParsedPage, document: Document, head: Head, follow: FollowOptions) -> None:
    has_base = head.base is not None
    if follow.texts:
        page.hrefs, page.texts, page.n_links = links_with_texts(
            document, options=follow, has_base=has_base
        )
        return
    page.hrefs, page.n_links = links_to_follow(
        document,
        options=follow,
        has_extras=head.others > 0 or head.has_pagination,
        has_base=has_base,
    )


def _heading(document: Document) -> str | None:
    headings = (collapse(found.text) for found in document.find_all("h1", limit=_MAX_HEADINGS))
    return next(filter(None, headings), None)


def _resolve(page: ParsedPage, head: Head, url: str, max_chars: int) -> None:
    """Fill in the facts that are URLs, joined to the document's base."""
    try:
        base = Base(url, page.encoding)
        own = base.url
        stated = _joined(base, head.base, max_chars)
        if stated is not None and stated != own:
            base = Base(stated, page.encoding)
            page.base = stated
    except UrlError:
        return
    page.joiner = base
    page.canonical = _joined(base, head.relations.get("canonical"), max_chars)
    page.image = _joined(base, head.image, max_chars)
    refresh = head.refresh_target()
    target = _joined(base, refresh, max_chars)
    if target is not None and _page_of(target) != _page_of(own):
        page.refresh = refresh


def _joined(base: Base, href: str | None, max_chars: int) -> str | None:
    return base.join(href) if href and len(href) <= max_chars else None


def _page_of(url: str) -> str:
    return url.partition("#")[0]
