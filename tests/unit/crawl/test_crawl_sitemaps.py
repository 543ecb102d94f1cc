"""Where sitemaps are looked for, and what becomes of the URLs they list."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, Web, make_job

from skitter.clock import SystemClock
from skitter.crawl import sitemaps as module
from skitter.crawl.ordering import LINK_RANK
from skitter.crawl.sitemaps import FIRST_PER_SITE, LISTED_DEPTH
from skitter.frontier.model import SCORED_RANKS, Link, UrlState
from skitter.parse.sitemap.model import SitemapEntry
from skitter.politeness.decision import Code
from skitter.types import HostKey, Role

MAP = f"{SITE}/map.xml"
WWW = "http://www.site.test"
GUESSES = [
    f"{SITE}/{name}"
    for name in ("sitemap.xml", "sitemap_index.xml", "sitemap.xml.gz", "sitemap.txt")
]

MakeRig = Callable[..., Awaitable[CrawlRig]]


@pytest.fixture
def web() -> Web:
    """A home page with one link, and a sitemap with two pages that robots.txt names."""
    found = Web()
    found.robots(f"Sitemap: {MAP}")
    found.html(HOME, "", "/linked")
    found.html(f"{SITE}/linked", "linked")
    found.sitemap(MAP, f"{SITE}/listed", HOME)
    found.html(f"{SITE}/listed", "listed", "/from-listed")
    found.html(f"{SITE}/from-listed", "from listed")
    for guess in GUESSES:
        found.status(guess, 404)
    return found


@pytest.fixture
async def make_rig(tmp_path: Path, web: Web) -> AsyncIterator[MakeRig]:
    rigs: list[CrawlRig] = []

    async def make(**fields: Any) -> CrawlRig:
        rig = CrawlRig(tmp_path, web, make_job(**{"sitemaps": "auto", **fields}))
        rigs.append(rig)
        await rig.open()
        return rig

    yield make
    for rig in rigs:
        await rig.close()


def paths(urls: list[str]) -> list[str]:
    return [url.removeprefix(SITE) for url in urls]


async def crawled(rig: CrawlRig, *entries: str) -> list[str]:
    return paths([record["url"] for record in await rig.crawl(*entries)])


# Which pages come


async def test_links_and_what_sitemaps_list_are_both_fetched(make_rig: MakeRig) -> None:
    rig = await make_rig()
    found = await crawled(rig)
    assert sorted(found) == ["/", "/from-listed", "/linked", "/listed"]
    assert rig.asked.count(MAP) == 1
    totals = await rig.totals()
    assert (totals.sitemaps, totals.sitemap_urls) == (1, 2)


async def test_only_what_sitemaps_list_is_fetched_beside_the_entries(make_rig: MakeRig) -> None:
    assert await crawled(await make_rig(sitemaps="only")) == ["/", "/listed"]


@pytest.mark.parametrize("fields", [{"sitemaps": "no"}, {"depth": 0}])
async def test_no_sitemap_is_read_where_none_is_wanted(
    make_rig: MakeRig, fields: dict[str, Any]
) -> None:
    rig = await make_rig(**fields)
    found = await crawled(rig)
    assert "/listed" not in found
    assert MAP not in rig.asked


async def test_what_a_sitemap_lists_is_as_deep_as_what_an_entry_links_to(make_rig: MakeRig) -> None:
    records = await (await make_rig(depth=1)).crawl()
    assert {record["url"]: record["depth"] for record in records} == {
        HOME: 0,
        f"{SITE}/linked": 1,
        f"{SITE}/listed": 1,
    }


@pytest.mark.parametrize("name", ["feed", "rss.xml", "map.xml"])
async def test_with_sitemaps_alone_an_entry_may_be_one_itself(
    web: Web, make_rig: MakeRig, name: str
) -> None:
    web.robots("")
    web.sitemap(f"{SITE}/{name}", f"{SITE}/listed")
    rig = await make_rig(sitemaps="only", depth=0)
    assert await crawled(rig, f"{SITE}/{name}") == ["/listed"]


async def test_in_a_crawl_that_follows_links_an_entry_is_a_page(make_rig: MakeRig) -> None:
    rig = await make_rig()
    assert rig.equipment.sitemaps.entry(rig.normal(MAP)).role is Role.PAGE


# Where they are looked for


async def test_the_usual_places_are_not_tried_where_robots_txt_names_sitemaps(
    make_rig: MakeRig,
) -> None:
    rig = await make_rig()
    await rig.crawl()
    assert not set(GUESSES) & set(rig.asked)


@pytest.mark.parametrize("robots", [True, False])
async def test_the_usual_places_are_tried_one_after_the_other_until_one_holds_something(
    web: Web, make_rig: MakeRig, robots: bool
) -> None:
    web.robots("" if robots else f"Sitemap: {MAP}")
    web.sitemap(GUESSES[2], f"{SITE}/listed")
    rig = await make_rig(polite={"robots": robots})
    found = await crawled(rig)
    assert "/listed" in found
    assert [url for url in rig.asked if url in GUESSES] == GUESSES[:3]
    assert MAP not in rig.asked
    assert (await rig.totals()).sitemap_faults == 0


async def test_a_site_without_sitemaps_is_crawled_all_the_same(web: Web, make_rig: MakeRig) -> None:
    web.robots("")
    rig = await make_rig()
    assert sorted(await crawled(rig)) == ["/", "/linked"]
    assert [url for url in rig.asked if url in GUESSES] == GUESSES
    totals = await rig.totals()
    assert (totals.sitemaps, totals.errors) == (0, {})


async def test_the_usual_places_are_tried_on_hosts_of_entries_alone(
    web: Web, make_rig: MakeRig
) -> None:
    web.html(HOME, "", f"{WWW}/")
    web.robots("", WWW)
    web.html(f"{WWW}/", "www")
    rig = await make_rig(scope="domain")
    await rig.crawl()
    assert [url for url in rig.asked if url.startswith(WWW)] == [f"{WWW}/"]


async def test_sitemaps_named_by_other_hosts_of_the_scope_are_read(
    web: Web, make_rig: MakeRig
) -> None:
    web.html(HOME, "", f"{WWW}/")
    web.robots(f"Sitemap: {WWW}/map.xml", WWW)
    web.html(f"{WWW}/", "www")
    web.html(f"{WWW}/listed", "listed there")
    web.sitemap(f"{WWW}/map.xml", f"{WWW}/listed")
    found = await crawled(await make_rig(scope="domain"))
    assert f"{WWW}/listed" in found


async def test_a_crawl_of_the_whole_web_reads_the_sitemaps_of_its_entries_alone(
    web: Web, make_rig: MakeRig
) -> None:
    web.html(HOME, "", "http://far.test/")
    web.robots("Sitemap: http://far.test/map.xml", "http://far.test")
    web.html("http://far.test/", "far")
    rig = await make_rig(scope="any", depth=2)
    found = await crawled(rig)
    assert "/listed" in found
    assert "http://far.test/map.xml" not in rig.asked


async def test_sitemaps_of_a_site_whose_entry_is_forbidden_are_read(
    web: Web, make_rig: MakeRig
) -> None:
    web.robots(f"Sitemap: {MAP}\nUser-agent: *\nDisallow: /$")
    rig = await make_rig()
    found = await crawled(rig)
    assert found == ["/", "/listed", "/from-listed"]
    assert HOME not in rig.asked


async def test_where_an_entry_leads_belongs_to_the_crawl_before_its_sitemap_is_read(
    web: Web, make_rig: MakeRig
) -> None:
    """A bare domain that redirects to www, with a delay between robots.txt and the page."""
    web.moved(HOME, f"{WWW}/")
    web.robots("", WWW)
    web.html(f"{WWW}/", "home")
    web.html(f"{WWW}/listed", "listed")
    web.sitemap(MAP, f"{WWW}/listed")
    rig = await make_rig(sitemaps="only", polite={"delay": 0.01})
    assert f"{WWW}/listed" in await crawled(rig)


async def test_what_a_lost_visit_announced_is_announced_again(make_rig: MakeRig) -> None:
    rig = await make_rig(polite={"per_host": 2})
    lost = await rig.visit(HOME)
    rig.clock.advance(121)
    await rig.commit(lost)
    assert (await rig.look(MAP, as_sitemap=True)).state is UrlState.UNKNOWN
    assert "/listed" in await crawled(rig)


async def test_memory_of_sites_is_bounded(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ORIGINS_KEPT", 3)
    finder = (await make_rig()).equipment.sitemaps
    for n in range(10):
        finder.starts.add(f"http://{n}.test/")
        assert finder.announced(f"http://{n}.test/", HostKey(f"{n}.test"), None)
    assert finder.announced("http://9.test/x", HostKey("9.test"), None) == []


# How many


def tree(web: Web, url: str, width: int, levels: int) -> None:
    """Put an index there that lists indexes, level by level."""
    below = [f"{url}/{n}" for n in range(width)] if levels else []
    web.index(url, *below)
    for place in below:
        tree(web, place, width, levels - 1)


async def test_sitemaps_of_a_site_are_read_up_to_a_number(
    web: Web, make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MAX_PER_SITE", 10)
    tree(web, MAP, 4, 3)
    rig = await make_rig()
    assert await crawled(rig) == ["/", "/linked"]
    assert len([url for url in rig.asked if url.startswith(MAP)]) == 10
    assert rig.finder.cut[Code.CROWD] > 10
    assert [row.getMessage() for row in caplog.records] == [
        "site.test has more than 10 sitemaps; the rest is left"
    ]


async def test_sitemaps_of_all_sites_are_read_up_to_a_number(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MAX_PER_JOB", 3)
    finder = (await make_rig(scope="any")).equipment.sitemaps
    maps = [f"http://{n}.test/map.xml" for n in range(9)]
    links = finder.children(maps, 1, MAP, HostKey("site.test"))
    assert [link.url for link in links] == maps[:3]
    assert finder.children(maps, 1, MAP, HostKey("site.test")) == links
    assert len(caplog.records) == 1


async def test_a_sitemap_named_twice_counts_once_and_keeps_its_rank(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PER_SITE", 8)
    rig = await make_rig()
    rig.judge.scope.add(HOME)
    maps = [f"{SITE}/{n}.xml" for n in range(8)]
    for _ in range(2):
        links = rig.equipment.sitemaps.children(maps, 1, MAP, HostKey("site.test"))
        assert [link.rank for link in links] == [0] * FIRST_PER_SITE + [LINK_RANK] * 3


async def test_what_lies_elsewhere_counts_for_the_site_that_names_it(
    web: Web, make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PER_SITE", 4)
    web.robots("".join(f"Sitemap: http://{n}.test/map.xml\n" for n in range(9)))
    for n in range(9):
        web.robots("", f"http://{n}.test")
    rig = await make_rig(http={"tries": 1})
    await rig.crawl()
    assert len([url for url in rig.asked if not url.startswith(SITE)]) == 4


async def test_depth_first_reads_many_sitemaps_after_what_is_deeper(make_rig: MakeRig) -> None:
    rig = await make_rig(order="dfs")
    rig.judge.scope.add(HOME)
    maps = [f"{SITE}/{n}.xml" for n in range(FIRST_PER_SITE + 1)]
    late = rig.equipment.sitemaps.children(maps, 3, MAP, HostKey("site.test"))[-1]
    deep, listed = (rig.finder.make_link(rig.normal(HOME), depth) for depth in (2, LISTED_DEPTH))
    assert deep.rank < late.rank == listed.rank


async def test_best_first_ranks_many_sitemaps_by_their_address(make_rig: MakeRig) -> None:
    rig = await make_rig(order="best", keywords=["llama"])
    rig.judge.scope.add(HOME)
    names = [*map(str, range(FIRST_PER_SITE)), "other", "llama"]
    maps = [f"{SITE}/{name}.xml" for name in names]
    links = rig.equipment.sitemaps.children(maps, 1, MAP, HostKey("site.test"))
    assert [link.rank for link in links[:-2]] == [0] * FIRST_PER_SITE
    assert 0 < links[-1].rank < links[-2].rank < SCORED_RANKS


async def test_a_run_ends_with_its_pages_although_sitemaps_wait(tmp_path: Path, web: Web) -> None:
    tree(web, MAP, 20, 2)
    web.html(HOME, "", *(f"/{n}" for n in range(9)))
    for n in range(9):
        web.html(f"{SITE}/{n}", str(n))
    rig = CrawlRig(tmp_path, web, make_job(sitemaps="auto"))
    await rig.open(clock=SystemClock())
    records = await rig.run(pages=6)
    waiting = (await rig.counts()).queued
    await rig.close()
    assert len(records) == 6
    assert len([url for url in rig.asked if url.startswith(MAP)]) < 50
    assert waiting > 3


# What is listed


async def listed(rig: CrawlRig, *entries: SitemapEntry) -> list[Link]:
    rig.judge.scope.add(HOME)
    return rig.equipment.sitemaps.listed(entries, MAP)


async def test_what_a_sitemap_lists_is_judged_as_links_are_and_counted(make_rig: MakeRig) -> None:
    rig = await make_rig(exclude=["secret"], dynamic_depth=0)
    urls = [
        f"{SITE}/a",
        f"{SITE}/b.png",
        f"{SITE}/secret",
        f"{SITE}/c?d=e",
        "http://far.test/",
        f"{SITE}/{'x' * 5000}",
    ]
    found = await listed(rig, *(SitemapEntry(url) for url in urls))
    assert [(link.url, link.depth, link.referrer) for link in found] == [
        (f"{SITE}/a", LISTED_DEPTH, MAP)
    ]
    assert rig.finder.cut == {Code.SUFFIX: 1, Code.EXCLUDE: 1, Code.DEPTH: 1, Code.SCOPE: 1}


async def test_what_a_site_calls_important_or_changed_lately_goes_before_its_links(
    web: Web, make_rig: MakeRig
) -> None:
    lately = "<lastmod>2026-01-02</lastmod>"
    web.sitemap(
        MAP,
        f"{SITE}/plain",
        f"{SITE}/dull <priority>0.1</priority>{lately}",
        f"{SITE}/old <lastmod>2001-01-01</lastmod>",
        f"{SITE}/lately {lately}",
        f"{SITE}/great <priority>0.9</priority>",
    )
    for name in ("plain", "dull", "old", "lately", "great"):
        web.html(f"{SITE}/{name}", name)
    found = await crawled(await make_rig())
    assert found == ["/", "/great", "/lately", "/old", "/linked", "/plain", "/dull"]


async def test_depth_first_goes_deeper_before_what_sitemaps_list(
    web: Web, make_rig: MakeRig
) -> None:
    web.sitemap(MAP, f"{SITE}/listed <priority>1.0</priority>", f"{SITE}/last")
    web.html(f"{SITE}/last", "last")
    found = await crawled(await make_rig(order="dfs"))
    assert found.index("/from-listed") < found.index("/last")


async def test_best_first_ranks_what_sitemaps_list_by_their_address(make_rig: MakeRig) -> None:
    rig = await make_rig(order="best", keywords=["llama"])
    urls = [SitemapEntry(f"{SITE}/other", priority=1.0), SitemapEntry(f"{SITE}/llama")]
    other, llama = await listed(rig, *urls)
    assert llama.rank < other.rank


async def test_a_second_run_does_not_read_sitemaps_again(tmp_path: Path, web: Web) -> None:
    for run in range(2):
        rig = CrawlRig(tmp_path, web, make_job(sitemaps="auto"))
        await rig.open()
        await rig.crawl()
        await rig.close()
        assert rig.asked.count(MAP) == (0 if run else 1)
