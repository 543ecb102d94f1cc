"""Tries the rules of a job on one page, fetched or from a file: what they take, and which links."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skitter.config import RunOptions
from skitter.crawl.fitted import DETAIL, LIST
from skitter.crawl.judge import Judge, entry_class
from skitter.crawl.link_rules import Ruling
from skitter.errors import ConfigError, UrlError
from skitter.job.pattern import LinkFilter
from skitter.job.rules import NOTHING
from skitter.job.spec import Job, Kind
from skitter.parse.article.extract import extract_article
from skitter.parse.article.kind import judge_class
from skitter.parse.article.missing import beginning, says_missing
from skitter.parse.article.model import Article
from skitter.parse.document import parse_page
from skitter.parse.follow import FollowOptions
from skitter.parse.page import ParsedPage
from skitter.parse.rules.ruleset import Fields, Listed, ListPage, Picked, make_sight
from skitter.parse.simhash import visible_texts
from skitter.types import PageClass
from skitter.url.fingerprint import Fingerprinter
from skitter.url.host import host_key
from skitter.url.normalise import Normaliser
from skitter.url.scope import Scope
from skitter.wiring.trial_page import fetched

_SECRET = bytes(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedLink:
    """One link of the page, and what becomes of it."""

    url: str
    follow: bool
    page_class: str | None
    why: str
    """The rule that decided, or what forbids it."""


@dataclass(slots=True, kw_only=True)
class Trial:
    """What the rules of a job made of one page."""

    url: str
    rule: str
    page_class: str
    looks_like: str
    """The class that the page's content speaks for, and why."""
    picked: Picked = field(default_factory=Picked)
    listed: Listed | None = None
    links: list[TriedLink] = field(default_factory=list)
    article: Article = field(default_factory=Article)

    @property
    def missing(self) -> list[str]:
        """Required fields that are empty, on the page or in an item of its list."""
        items = self.listed.items if self.listed is not None else []
        found = [*self.picked.missing, *(name for one in items for name in one.picked.missing)]
        return list(dict.fromkeys(found))


async def try_rules(job: Job, target: str, options: RunOptions, rule: str | None) -> Trial:
    """Fetch or read ``target`` and try the job's rules on it; ``rule`` names the set to use."""
    if target.startswith(("http://", "https://")):
        url, body, media = await fetched(job, target, options)
    else:
        url = job.entries[0] if job.entries else "http://page.test/"
        body, media = page_in(Path(target)), "text/html"
    return try_page(job, url, (body, media), rule)


def try_page(job: Job, url: str, content: tuple[bytes, str | None], rule: str | None) -> Trial:
    """Try the rules on a page that is there: its bytes and its media type."""
    body, media = content
    page = parse_page(body, media, url, follow=FollowOptions(keep=True))
    if page.document is None or page.joiner is None:
        raise ConfigError(f"{url}: {media or 'no media type'}; wanted a page of HTML")
    judge = Judge(job, Scope(job.scope, job.entries))
    judged = judge_class(page.document, url)
    page_class = _class_of(job, judge, url, PageClass[judged.page_class.upper()])
    if page_class is PageClass.DATA and _goes_on(job, judge, page, judged.page_class):
        page_class = PageClass.NAV
    rule = rule or _rule_of(job, judge, url, page_class)
    trial = Trial(
        url=url,
        rule=rule,
        page_class=page_class.name.lower(),
        looks_like="",
    )
    _pick(trial, job, page)
    missing = says_missing(page.title, beginning(visible_texts(page.document)))
    told = f"{judged.page_class}: {judged.why}"
    trial.looks_like = told if missing is None else missing.removeprefix("looks like ")
    trial.article = extract_article(page.document, url)
    trial.links = _links(job, judge, page, trial)
    return trial


def page_in(path: Path) -> bytes:
    """Return the bytes of a file that holds a page."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; wanted a URL or a file of HTML") from error


def _class_of(job: Job, judge: Judge, url: str, judged: PageClass) -> PageClass:
    ruling = judge.ruling(url, host_key(url))
    if ruling is not None and ruling.page_class is not None:
        return ruling.page_class
    if job.kind is Kind.NEWS:
        if url in job.entries:
            return PageClass.NAV
        return _class_by_address(job, url) if job.article else judged
    if url in job.entries and not job.visits_all_again:
        return entry_class(job)
    return PageClass.DATA


def _goes_on(job: Job, judge: Judge, page: ParsedPage, judged: str) -> bool:
    """Tell whether a page is the next of a list: only its content says so, not its address."""
    if job.kind is not Kind.LIST or job.list_ is None or judge.links is not None:
        return False
    assert page.document is not None
    assert page.joiner is not None
    sight = make_sight(page.document, page.joiner, now=time.time())
    return judged == "nav" and bool(ListPage(job.list_).read(page.document, sight).items)


def _rule_of(job: Job, judge: Judge, url: str, page_class: PageClass) -> str:
    ruling = judge.ruling(url, host_key(url))
    if ruling is not None and ruling.extract is not None:
        return ruling.extract
    if page_class is PageClass.NAV and job.list_ is not None:
        return LIST
    named = ruling is not None and ruling.page_class is not None
    is_detail = page_class is PageClass.DATA or (job.kind is not Kind.NEWS and not named)
    return DETAIL if is_detail else NOTHING


def _pick(trial: Trial, job: Job, page: ParsedPage) -> None:
    assert page.document is not None
    assert page.joiner is not None
    sight = make_sight(page.document, page.joiner, now=time.time())
    if trial.rule == LIST and job.list_ is not None:
        trial.listed = ListPage(job.list_).read(page.document, sight)
        return
    sets: Mapping[str, object] = {DETAIL: job.detail, **job.rules}
    if trial.rule not in (*sets, NOTHING):
        wanted = ", ".join([*sets, *([LIST] if job.list_ is not None else [])])
        raise ConfigError(f"rule {trial.rule!r}: there is none; wanted one of {wanted}")
    if trial.rule != NOTHING:
        rules = job.detail if trial.rule == DETAIL else job.rules[trial.rule]
        trial.picked = Fields(rules.fields).read(page.document, sight)


def _class_by_address(job: Job, url: str) -> PageClass:
    is_article = LinkFilter(job.article, ()).refusal(url) is None
    return PageClass.DATA if is_article else PageClass.NAV


def _unruled(job: Job, judge: Judge, url: str, trial: Trial) -> TriedLink:
    """Return what becomes of a link that no link rule speaks of."""
    if not judge.follows_plain:
        why = "a list job without link rules follows only what [list] finds"
        return TriedLink(url=url, follow=False, page_class=None, why=why)
    if job.kind is Kind.NEWS and trial.page_class == "data":
        why = "links of an article are not followed"
        return TriedLink(url=url, follow=False, page_class=None, why=why)
    if judge.is_jump(url):
        return TriedLink(url=url, follow=True, page_class=None, why="where it leads is queued")
    if job.kind is not Kind.NEWS:
        return TriedLink(url=url, follow=True, page_class="data", why="")
    if job.article:
        name = _class_by_address(job, url).name.lower()
        return TriedLink(url=url, follow=True, page_class=name, why="by its address")
    return TriedLink(url=url, follow=True, page_class=None, why="told apart once it is fetched")


def _ruled(url: str, ruling: Ruling) -> TriedLink:
    """Return what becomes of a link that a link rule speaks of, or that none fits."""
    page_class = PageClass.DATA if ruling.page_class is None else ruling.page_class
    name = page_class.name.lower() if ruling.follow else None
    return TriedLink(url=url, follow=ruling.follow, page_class=name, why=ruling.sentence)


def _listed_links(
    job: Job, judge: Judge, normaliser: Normaliser, trial: Trial
) -> dict[str, TriedLink]:
    """Return the links that the rules for lists have found, by their addresses."""
    listed = trial.listed
    if listed is None or job.list_ is None:
        return {}
    found = dict.fromkeys(listed.next_urls, ("nav", "list.next"))
    if job.list_.continue_:
        found |= {one.url: ("data", "list.detail_url") for one in listed.items if one.url}
    links: dict[str, TriedLink] = {}
    for url, (name, why) in found.items():
        try:
            normal = normaliser.absolute(url)
        except UrlError:
            continue
        said = judge.explain(normal.url, normal.host, 1)
        links[normal.url] = TriedLink(
            url=normal.url,
            follow=said.allowed,
            page_class=name if said.allowed else None,
            why=why if said.allowed else said.sentence,
        )
    return links


def _links(job: Job, judge: Judge, page: ParsedPage, trial: Trial) -> list[TriedLink]:
    assert page.joiner is not None
    normaliser = Normaliser(job.urls.rules(), Fingerprinter(_SECRET))
    areas = None if judge.links is None else judge.links.areas(page.document)
    found = _listed_links(job, judge, normaliser, trial)
    for href in page.hrefs:
        try:
            normal = normaliser.link(page.joiner, href)
        except UrlError:
            continue
        if normal is None or normal.url in found or normal.url == trial.url:
            continue
        decision = judge.explain(normal.url, normal.host, 1)
        if not decision.allowed:
            found[normal.url] = TriedLink(
                url=normal.url, follow=False, page_class=None, why=decision.sentence
            )
            continue
        if judge.links is None or judge.is_jump(normal.url):
            found[normal.url] = _unruled(job, judge, normal.url, trial)
            continue
        ruling = judge.links.decide(normal.url, normal.host, href, areas)
        found[normal.url] = _ruled(normal.url, ruling)
    return list(found.values())
