"""When an article was published."""

import re
from collections.abc import Iterable, Iterator

from skitter.parse.article.dates import has_time, read_date, read_stated_date, url_date
from skitter.parse.article.stated import Stated

_METAS = (
    "article:published_time", "og:article:published_time", "og:published_time", "datepublished",
    "parsely-pub-date", "sailthru.date", "pubdate", "publishdate", "publish_date", "publish-date",
    "article.published", "dc.date.issued", "dcterms.issued", "dc.date", "dcterms.date",
    "dcterms.created", "dc.date.created", "citation_publication_date", "date", "apub:time",
    "weibo: article:create_at", "og:release_date", "og:time", "article:create_at",
    "originalpublicationdate",
    "bt:pubdate", "date.issued", "published_at", "datecreated", "firstpublishedtime", "_pubtime",
)  # fmt: skip
_MAX_LINE = 200
_LABELLED = re.compile(
    r"发布(?:时间|日期|于)?|发表|时间|日期|更新|publi|posted|updated|veröffentlicht|publicad|publié|"
    r"pubblicat|опубликован|投稿|公開|작성|등록|입력",
    re.IGNORECASE,
)


def find_published(stated: Stated, near: Iterable[str], url: str, now: float) -> str | None:
    """Return the date of the most trusted place that has one.

    A day in the URL is believed before a line of the page, but a line that has the time of the
    same day knows more.
    """
    for text in _statements(stated):
        if date := read_stated_date(text, now):
            return date
    day = url_date(url, now)
    found = [date for text in _lines(near) if (date := read_date(text, now))]
    if day is None:
        return found[0] if found else None
    return next((date for date in found if date.startswith(day) and has_time(date)), day)


def _statements(stated: Stated) -> Iterator[str | None]:
    yield stated.text("datePublished")
    yield stated.text("dateCreated")
    yield from (stated.metas.get(name) for name in _METAS)
    for element in stated.marked:
        if element.tag == "time" or "datePublished" in (element.attr("itemprop") or ""):
            yield element.attr("datetime") or element.attr("content") or element.text[:_MAX_LINE]


def _lines(near: Iterable[str]) -> list[str]:
    """Return the short lines, those first that say what their date is."""
    lines = [line for line in near if len(line) <= _MAX_LINE]
    return sorted(lines, key=lambda line: _LABELLED.search(line) is None)
