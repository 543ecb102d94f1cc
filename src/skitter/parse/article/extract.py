"""The article of a page, put together: one walk over its tree, one look at what it states."""

import time
from collections.abc import Iterator
from itertools import islice

from turbohtml import Document, Element

from skitter.parse.article.authors import find_author
from skitter.parse.article.blocks import Survey
from skitter.parse.article.choose import Choice, choose_text
from skitter.parse.article.language import find_language
from skitter.parse.article.model import Article
from skitter.parse.article.pictures import find_image
from skitter.parse.article.published import find_published
from skitter.parse.article.stated import read_stated
from skitter.parse.article.survey import survey
from skitter.parse.article.titles import article_title, find_title
from skitter.parse.clean import clean
from skitter.parse.metadata import collapse

_LINES_BEFORE = 8
_LINES_AFTER = 12
_LINES_AT_END = 6


def extract_article(document: Document, url: str, *, now: float | None = None) -> Article:
    """Return the article of ``document``, found at ``url``; never raises.

    ``now`` is the time in seconds since the epoch after which nothing can have been published;
    the machine's own by default.
    """
    now = time.time() if now is None else now
    found = survey(document)
    stated = read_stated(document, with_marks=not found.is_cut)
    title = find_title(found, stated)
    choice = choose_text(document, found, stated, title)
    heading = found.blocks[title].text if title >= 0 else None
    near = _near(found, choice, title)
    language = find_language(stated, document.root, choice.text or heading or "")
    return Article(
        title=article_title(stated, heading),
        text=clean(choice.text),
        author=find_author(stated, near, chinese=language == "zh"),
        published=find_published(stated, near, url, now),
        description=stated.head.description or collapse(stated.text("description")),
        image=find_image(stated, _pictures(found, choice), url),
        language=language,
        method=choice.method,
    )


def _near(found: Survey, choice: Choice, title: int) -> list[str]:
    """Return the lines around the title and the beginning of the text, then those at its end."""
    start = choice.ranges[0][0] if choice.ranges else max(title, 0)
    end = choice.ranges[-1][1] if choice.ranges else 0
    places = [(start - _LINES_BEFORE, start + 3)]
    if title >= 0:
        places.insert(0, (title - _LINES_BEFORE // 2, title + _LINES_AFTER))
    places.append((max(start, end - _LINES_AT_END), end + _LINES_AT_END))
    lines: dict[str, None] = {}
    for first, last in places:
        lines.update((block.text, None) for block in found.blocks[max(0, first) : max(0, last)])
        lines.update((text, None) for number, text in found.remarks if first <= number <= last)
    return list(lines)


def _pictures(found: Survey, choice: Choice) -> Iterator[Element]:
    """Yield the images of the text."""
    ranges = choice.ranges[:_LINES_AFTER]
    inside = (
        picture
        for number, picture in found.pictures
        if any(first <= number <= last for first, last in ranges)
    )
    return islice(inside, _LINES_AFTER)
