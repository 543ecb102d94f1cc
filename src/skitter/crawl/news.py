"""News jobs: articles are told from the pages that lead to them, and read.

Where the job says what an article's address looks like, that decides. Else a page is judged by what
it says; the judgement is remembered for its URL template, so that links can be told apart before
they are fetched, and corrected when pages contradict it.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from skitter.clock import Clock
from skitter.crawl.judge import Judge
from skitter.crawl.traps.shape import template_of
from skitter.crawl.trip import Visit
from skitter.frontier.model import Lease
from skitter.job.spec import Job, Kind
from skitter.parse.article.missing import beginning, says_missing
from skitter.parse.page import ParsedPage
from skitter.parse.simhash import visible_texts
from skitter.pipeline.record import PageRecord
from skitter.types import JobNumber, Outcome, PageClass

SURE: Final = 4
"""Judgements of a template, one way more than the other, that outweigh one doubtful page."""
KNOWN: Final = 2
"""The same before its links are told by it."""
_MOST: Final = 8
_CERTAIN: Final = 0.75
MOST_TEMPLATES: Final = 20_000
STORE_EVERY_S: Final = 20.0
ARTICLE: Final = "article"
_TOLD: Final = ("title", "text", "author", "published")


class Templates:
    """What pages of each URL template turned out to be: above 0 articles, below 0 lists."""

    def __init__(self) -> None:
        self._scores: dict[str, int] = {}
        self._stored_at: float | None = None
        self._changed = False
        self.mark_name = ""
        """Under which the scores of this process are stored."""

    def of(self, url: str) -> int:
        """Return the score of the template of a URL; 0 for one that is not known."""
        return self._scores.get(template_of(url), 0)

    def saw(self, url: str, page_class: PageClass, *, sure: bool) -> None:
        """Take in what a page turned out to be."""
        template = template_of(url)
        step = 2 if sure else 1
        before = self._scores.get(template, 0)
        score = before + (step if page_class is PageClass.DATA else -step)
        if len(self._scores) >= MOST_TEMPLATES and template not in self._scores:
            del self._scores[next(iter(self._scores))]
        self._scores[template] = max(-_MOST, min(_MOST, score))
        self._changed = self._changed or self._scores[template] != before

    def take_mark(self, now_s: float, *, force: bool = False) -> dict[str, bytes]:
        """Return what is to be stored with the next ack: nothing, or the scores now and then."""
        due = force or self._stored_at is None or now_s - self._stored_at >= STORE_EVERY_S
        if not self._changed or not due:
            return {}
        self._stored_at, self._changed = now_s, False
        return {self.mark_name: msgspec.msgpack.encode(self._scores)}

    def restore(self, stored: Mapping[str, bytes]) -> None:
        """Take up what earlier runs and other members have learned."""
        for value in stored.values():
            for template, score in msgspec.msgpack.decode(value, type=dict[str, int]).items():
                known = self._scores.get(template, 0)
                if template in self._scores or len(self._scores) < MOST_TEMPLATES:
                    self._scores[template] = max(known, score, key=abs)


class News:
    """Tells the pages of one news job apart."""

    def __init__(self, job: Job, judge: Judge, clock: Clock) -> None:
        self._judge = judge
        self._articles = judge.articles
        self._clock = clock
        self.templates = Templates()

    @classmethod
    def of(cls, job: Job, judge: Judge, clock: Clock) -> "News | None":
        """Return what a news job goes by; None for any other."""
        return cls(job, judge, clock) if job.kind is Kind.NEWS else None

    def class_of_link(self, url: str) -> PageClass:
        """Return the queue for a link: that for articles where it is surely one."""
        if self._articles is not None:
            is_article = self._articles.refusal(url) is None
        else:
            is_article = self.templates.of(url) >= KNOWN
        return PageClass.DATA if is_article else PageClass.NAV

    def read(self, visit: Visit, page: ParsedPage, lease: Lease, *, noindex: bool) -> None:
        """Say in the record what kind of page it is, and what an article tells."""
        record = visit.record
        if record is None or page.document is None:
            return
        page_class = self._class(page, record.final_url or record.url, lease)
        record.page_class = page_class.name.lower()
        if noindex:
            return
        if page_class is PageClass.NAV:
            _set_aside(visit, beginning(visible_texts(page.document)))
            return
        _set_aside(visit, self._read_article(record, page))
        told = (name for name in _TOLD if getattr(record, name))
        visit.filled = (ARTICLE, *told)

    def leaning(self, url: str) -> bytes:
        """Return a sign for what is thought of pages of this template; another = look again."""
        return b"+" if self._articles is None and self.templates.of(url) >= SURE else b""

    def _class(self, page: ParsedPage, url: str, lease: Lease) -> PageClass:
        ruling = self._judge.ruling(lease.url, lease.host)
        if ruling is not None and ruling.page_class is not None:
            return ruling.page_class
        # An article does not come again: it was a page of links until now.
        again = lease.visit > 1
        if lease.depth == 0 or (again and not self.leaning(lease.url)):
            return PageClass.NAV
        if self._articles is not None:
            return self.class_of_link(lease.url)
        from skitter.parse.article.kind import judge_class  # noqa: PLC0415  takes long to load

        assert page.document is not None
        judged = judge_class(page.document, url)
        page_class = PageClass[judged.page_class.upper()]
        if again:
            return page_class
        score = self.templates.of(url)
        sure = judged.confidence >= _CERTAIN
        self.templates.saw(url, page_class, sure=sure)
        if not sure and abs(score) >= SURE:
            return PageClass.DATA if score > 0 else PageClass.NAV
        return page_class

    def _read_article(self, record: PageRecord, page: ParsedPage) -> str:
        """Fill in what an article tells; answers its text."""
        from skitter.parse.article.extract import extract_article  # noqa: PLC0415  takes long

        assert page.document is not None
        url = record.final_url or record.url
        article = extract_article(page.document, url, now=self._clock.now_ms() / 1000)
        record.title = article.title or record.title
        record.text = article.text or None
        record.author = article.author
        record.published = article.published
        record.description = article.description or record.description
        record.image = article.image or record.image
        record.language = article.language or record.language
        return article.text


def _set_aside(visit: Visit, text: str) -> None:
    """Set the record of a page aside that only says that there is nothing."""
    assert visit.record is not None
    why = says_missing(visit.record.title, text)
    if why is not None:
        visit.says_missing = True
        visit.record.outcome = Outcome.REJECTED
        visit.record.error = f"rule {ARTICLE}: field text: {why}"


def templates_mark(job: JobNumber, member: str = "") -> str:
    """Return the name under which what templates turned out to be is stored, by each member."""
    return f"templates:{job}:{member}"
