"""From raw hrefs to links: what is remembered, what is forgotten, what is cut."""

from typing import Any

import pytest
from crawl_rig import HOME, SITE, make_job
from hypothesis import given
from hypothesis import strategies as st

from skitter.crawl import discover
from skitter.crawl.discover import LinkFinder
from skitter.crawl.judge import Judge
from skitter.crawl.news import News
from skitter.crawl.relevance import Relevance
from skitter.frontier.model import Link
from skitter.parse.document import parse_page
from skitter.parse.follow import FollowOptions
from skitter.parse.page import ParsedPage
from skitter.politeness.decision import Code
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import HostKey, JobNumber
from skitter.url.canonical import CanonicalRules
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser
from skitter.url.partition import SLOTS
from skitter.url.scope import Scope

NORMALISER = Normaliser(CanonicalRules(), Fingerprinter(bytes(16)))


def make_finder(**fields: Any) -> LinkFinder:
    job = make_job(**fields)
    return LinkFinder(job, JobNumber(3), Judge(job, Scope(job.scope, job.entries)), NORMALISER)


def page(*hrefs: str, encoding: str = "utf-8", refresh: str | None = None) -> ParsedPage:
    return ParsedPage(encoding=encoding, hrefs=list(hrefs), refresh=refresh)


def urls(links: list[Link]) -> list[str]:
    return [link.url for link in links]


def test_links_come_in_the_order_of_the_page_each_once() -> None:
    finder = make_finder()
    found = finder.links(page("/b", "c", "/a", "/b", "c"), f"{SITE}/x/", 0)
    assert urls(found) == [f"{SITE}/b", f"{SITE}/x/c", f"{SITE}/a"]


def test_a_link_says_where_it_was_found_how_deep_and_for_which_job() -> None:
    finder = make_finder(priority=8)
    [link] = finder.links(page("/a"), HOME, 4)
    assert (link.depth, link.referrer, link.job, link.priority) == (5, HOME, 3, 8)
    assert link.host == "site.test"
    assert 0 <= link.slot < SLOTS


def test_the_target_of_a_refresh_is_a_link_too() -> None:
    finder = make_finder()
    assert urls(finder.links(page(refresh="/next"), HOME, 0)) == [f"{SITE}/next"]


def test_a_path_of_the_same_origin_is_given_once() -> None:
    finder = make_finder()
    finder.links(page("/a", "/b"), HOME, 0)
    assert urls(finder.links(page("/a", "/c", "/b"), f"{SITE}/deep/down", 3)) == [f"{SITE}/c"]


def test_the_same_path_on_another_origin_is_another_link() -> None:
    finder = make_finder(scope="any")
    finder.links(page("/a"), HOME, 0)
    for origin in ("http://other.test", "https://site.test", "http://site.test:81"):
        assert urls(finder.links(page("/a"), f"{origin}/", 0)) == [f"{origin}/a"]


def test_a_relative_link_is_another_on_every_page() -> None:
    finder = make_finder()
    finder.links(page("a"), f"{SITE}/one/", 0)
    assert urls(finder.links(page("a"), f"{SITE}/two/", 0)) == [f"{SITE}/two/a"]


def test_an_absolute_link_is_given_once_whatever_page_has_it() -> None:
    finder = make_finder(scope="any")
    finder.links(page("http://other.test/a"), HOME, 0)
    assert finder.links(page("http://other.test/a"), "http://third.test/", 0) == []


def test_a_link_without_scheme_follows_the_scheme_of_its_page() -> None:
    finder = make_finder(scope="any")
    finder.links(page("//other.test/a"), HOME, 0)
    found = finder.links(page("//other.test/a"), "https://site.test/", 0)
    assert urls(found) == ["https://other.test/a"]


@pytest.mark.parametrize("href", ["http-basics.html", "https-guide", "httpd/", "http:sub/page"])
def test_a_relative_link_that_begins_like_a_scheme_is_relative(href: str) -> None:
    finder = make_finder()
    [one] = finder.links(page(href), f"{SITE}/one/", 0)
    [two] = finder.links(page(href), f"{SITE}/two/", 0)
    assert (one.url.startswith(f"{SITE}/one/"), two.url.startswith(f"{SITE}/two/")) == (True, True)


def test_the_same_text_in_another_encoding_is_another_link() -> None:
    finder = make_finder()
    [utf8] = finder.links(page("/?q=é"), HOME, 0)
    [latin] = finder.links(page("/?q=é", encoding="windows-1252"), HOME, 0)
    assert utf8.url == f"{SITE}/?q=%C3%A9"
    assert latin.url == f"{SITE}/?q=%E9"


def test_what_was_forgotten_is_given_again() -> None:
    finder = make_finder(scope="any")
    hrefs = page("/a", "http://other.test/a")
    first = finder.links(hrefs, HOME, 0)
    assert finder.links(hrefs, HOME, 0) == []
    finder.forget()
    assert finder.links(hrefs, HOME, 0) == first


def test_a_link_refused_before_the_scope_grew_is_given_after() -> None:
    job = make_job()
    judge = Judge(job, Scope(job.scope, job.entries))
    finder = LinkFinder(job, JobNumber(1), judge, NORMALISER)
    assert finder.links(page("http://other.test/a"), HOME, 0) == []
    assert judge.scope.add("http://other.test/")
    finder.forget()
    assert urls(finder.links(page("http://other.test/a"), HOME, 0)) == ["http://other.test/a"]


def test_memory_is_bounded_over_many_origins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "REMEMBERED", 20)
    finder = make_finder(scope="any")
    finder.links(page("/a"), HOME, 0)
    for n in range(30):
        finder.links(page("/a", "/b"), f"http://host-{n}.test/", 0)
    assert urls(finder.links(page("/a"), HOME, 0)) == [f"{SITE}/a"]


def test_memory_is_bounded_on_one_large_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "REMEMBERED", 20)
    finder = make_finder()
    finder.links(page("/first"), HOME, 0)
    for n in range(30):
        finder.links(page(f"/{n}/a", f"/{n}/b"), HOME, 0)
    assert urls(finder.links(page("/first"), HOME, 0)) == [f"{SITE}/first"]


def test_pages_at_the_greatest_depth_give_no_links_and_are_not_remembered() -> None:
    finder = make_finder(depth=2)
    assert finder.links(page("/a"), HOME, 2) == []
    assert [link.depth for link in finder.links(page("/a"), HOME, 1)] == [2]


def test_a_job_of_depth_zero_follows_nothing() -> None:
    assert make_finder(depth=0).links(page("/a"), HOME, 0) == []


def test_depth_first_ranks_deeper_links_before_others() -> None:
    finder = make_finder(order="dfs")
    [shallow] = finder.links(page("/a"), HOME, 0)
    [deep] = finder.links(page("/b"), HOME, 7)
    assert deep.rank < shallow.rank
    [one, two] = make_finder().links(page("/a", "/b"), HOME, 7)
    assert one.rank == two.rank


def test_what_is_cut_is_counted_by_reason() -> None:
    finder = make_finder(exclude=["secret"])
    hrefs = page("mailto:a@b.test", "http://[", "http://other.test/", "/a.png", "/secret", "/ok")
    assert urls(finder.links(hrefs, HOME, 0)) == [f"{SITE}/ok"]
    assert finder.cut == {Code.SCHEME: 2, Code.SCOPE: 1, Code.SUFFIX: 1, Code.EXCLUDE: 1}


def test_spellings_of_one_page_have_one_fingerprint() -> None:
    finder = make_finder()
    hrefs = page("/a", "/a#top", "/./a", f"{SITE}:80/a", "//SITE.test/a", "/a?utm_source=x")
    assert len({link.fp for link in finder.links(hrefs, HOME, 0)}) == 1


@pytest.mark.parametrize("partition", ["host", "domain", "subsite", "shared"])
def test_urls_of_one_host_share_a_slot(partition: str) -> None:
    finder = make_finder(partition=partition)
    found = finder.links(page("/a", "/b", "/c?d=e"), HOME, 0)
    assert len({link.slot for link in found}) == 1


def test_a_job_partitioned_by_url_spreads_one_host_over_slots() -> None:
    finder = make_finder(partition="url")
    found = finder.links(page(*(f"/{n}" for n in range(50))), HOME, 0)
    assert len({link.slot for link in found}) > 10
    [same] = make_finder(partition="url").links(page("/7#x"), HOME, 0)
    assert same.slot == found[7].slot


HREFS = st.sampled_from(
    ["/a", "/b", "c", "../d", "?e", "#f", "//site.test/g", f"{SITE}/h", "http://other.test/i",
     "HTTP://site.test/j", "/k.png", "mailto:x", "\\l", "/\\site.test/m", " /n ", ""]
)  # fmt: skip
BASES = st.sampled_from([HOME, f"{SITE}/x/y", f"{SITE}/x/z/", "https://site.test/", f"{SITE}/x?q"])


@given(st.lists(st.tuples(BASES, st.lists(HREFS, max_size=6)), max_size=8))
def test_remembering_loses_no_link_whatever_the_pages(pages: list[tuple[str, list[str]]]) -> None:
    finder, found, wanted = make_finder(), set[int](), set[int]()
    for base, hrefs in pages:
        found.update(link.fp for link in finder.links(page(*hrefs), base, 0))
        wanted.update(link.fp for link in make_finder().links(page(*hrefs), base, 0))
    assert found == wanted


def best_finder(**fields: Any) -> LinkFinder:
    job = make_job(order="best", keywords=["election"], **fields)
    judge = Judge(job, Scope(job.scope, job.entries))
    relevance = Relevance(job.keywords)
    return LinkFinder(job, JobNumber(3), judge, NORMALISER, relevance=relevance)


def told(*links: tuple[str, str], title: str = "") -> ParsedPage:
    hrefs, texts = zip(*links, strict=True)
    return ParsedPage(encoding="utf-8", title=title, hrefs=list(hrefs), texts=texts)


def test_best_first_ranks_what_is_told_to_be_relevant_before_other_links() -> None:
    page = told(("/a", "Garden"), ("/b", "Election night"), ("/election", ""), ("/c", ""))
    found = best_finder().links(page, HOME, 0, rank=1000)
    by_rank = sorted(found, key=lambda link: link.rank)
    assert urls(by_rank)[:2] == [f"{SITE}/b", f"{SITE}/election"]


def test_all_texts_of_one_target_count_together() -> None:
    page = told(("/a", ""), ("/b", "Election night"), ("/a#top", "The election"))
    [a, b, _] = best_finder().links(page, HOME, 0)
    assert a.rank == b.rank


def test_a_relevant_page_hands_its_relevance_down() -> None:
    plain = best_finder().links(told(("/a", "more")), HOME, 0, rank=1000)
    good = best_finder().links(told(("/a", "more"), title="Election"), HOME, 0, rank=1000)
    hub = best_finder().links(told(("/a", "more"), ("/b", "Election")), HOME, 0, rank=1000)
    assert good[0].rank < plain[0].rank
    assert hub[0].rank < plain[0].rank


def test_a_known_link_is_given_again_when_it_looks_better() -> None:
    finder = best_finder()
    [first] = finder.links(told(("/a", "more")), HOME, 0, rank=1000)
    assert finder.links(told(("/a", "more")), f"{SITE}/other", 0, rank=1000) == []
    [better] = finder.links(told(("/a", "Election night")), f"{SITE}/third", 0, rank=1000)
    assert (better.url, better.fp) == (first.url, first.fp)
    assert better.rank < first.rank
    assert finder.links(told(("/a", "Election night")), f"{SITE}/fourth", 0, rank=1000) == []


def test_a_link_that_was_too_deep_is_taken_when_a_page_nearer_has_it() -> None:
    finder = make_finder(dynamic_depth=2)
    assert finder.links(page("/list?p=2"), HOME, 5) == []
    [link] = finder.links(page("/list?p=2"), f"{SITE}/near", 1)
    assert link.url == f"{SITE}/list?p=2"


def test_a_page_counts_once_for_each_target_however_it_is_spelled() -> None:
    finder = make_finder()
    finder.links(page("/b", "b", f"{SITE}/b", "/c"), HOME, 0)
    finder.links(page("/b", f"{SITE}/b"), f"{SITE}/other", 0)
    counts = sorted(found.links for found in finder.linked.table().pages)
    assert counts == [1, 2]


def test_a_page_with_too_many_links_gives_the_first_and_counts_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("skitter.crawl.discover.MOST_LINKS", 3)
    finder = make_finder()
    found = finder.links(page("/a", "/b", "/c", "/d", "/e"), HOME, 0)
    assert urls(found) == [f"{SITE}/{name}" for name in "abc"]
    assert finder.cut[Code.CROWD] == 2


COUNTED: dict[str, Any] = {
    "kind": "news",
    "links": [{"allow": ["/a"], "restrict_css": ["main"]}, {"allow": ["/b"]}, {"allow": ["/c"]}],
    "jump": ["/jump"],
    "article": ["/b/"],
}


def test_rules_count_as_fitting_for_links_alone() -> None:
    job = make_job(**COUNTED)
    judge = Judge(job, Scope(job.scope, job.entries))
    finder = LinkFinder(job, JobNumber(3), judge, NORMALISER)
    finder.news = News.of(job, judge, VirtualClock())
    for path in ("/a", "/b/1", "/c", "/jump"):
        # An entry, a page that is visited and a URL that somebody asks about.
        normal = NORMALISER.absolute(f"{SITE}{path}")
        finder.make_link(normal, 0, ruling=finder.entry_ruling(normal))
        judge.ruling(normal.url, normal.host)
        judge.explain(normal.url, normal.host)
    assert judge.fitted.take() == set()
    # What a sitemap lists may be in no such part of any page.
    for path in ("/a", "/c"):
        assert judge.listed_refusal(f"{SITE}{path}", HostKey("site.test"), 1) is None
    assert judge.fitted.take() == {"links[2]"}
    finder.links(page("/a", "/b/1"), HOME, 0)
    assert judge.fitted.take() == {"links[1]", "article"}
    html = b'<a href="/jump?1">x</a><main><a href="/a?1">x</a></main>'
    read = parse_page(html, "text/html", HOME, follow=FollowOptions(keep=True))
    finder.links(read, HOME, 0)
    assert judge.fitted.take() == {"links[0]", "jump"}


def test_where_a_jump_link_leads_counts_as_a_link() -> None:
    job = make_job(**COUNTED)
    judge = Judge(job, Scope(job.scope, job.entries))
    finder = LinkFinder(job, JobNumber(3), judge, NORMALISER)
    finder.links(page("/jump?to=http://site.test/b/1"), HOME, 0)
    assert judge.fitted.take() == {"jump", "links[1]", "article"}
