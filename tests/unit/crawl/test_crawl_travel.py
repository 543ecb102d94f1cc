"""The requests of visits: what goes along with them, and what they bring beside a page."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, Web, make_job

from skitter.errors import BodyTooLarge, ReadTimeout
from skitter.frontier.model import Link, Result
from skitter.types import Role

MAP = f"{SITE}/map.xml"
GUESS = f"{SITE}/sitemap.xml"
OTHER = "http://other.test"

MakeRig = Callable[..., Awaitable[CrawlRig]]


@pytest.fixture
def web() -> Web:
    found = Web()
    found.robots(f"Sitemap: {MAP}")
    found.robots("", OTHER)
    found.html(HOME, "home", "/a")
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


def sitemaps(links: list[Link]) -> list[str]:
    return [link.url for link in links if link.role is Role.SITEMAP]


# Sitemaps that are met on the way


async def test_the_first_page_of_a_site_brings_its_sitemaps(make_rig: MakeRig) -> None:
    rig = await make_rig(polite={"per_host": 2})
    first = await rig.visit(HOME)
    assert [link.url for link in first.links] == [MAP, f"{SITE}/a"]
    assert sitemaps((await rig.visit(f"{SITE}/b")).links) == []


async def test_a_page_that_waits_for_its_turn_after_robots_txt_brings_none_yet(
    make_rig: MakeRig,
) -> None:
    rig = await make_rig(polite={"delay": 5.0})
    waits = await rig.visit(HOME)
    assert (waits.result, waits.links) == (Result.DEFER, [])
    await rig.commit(waits)
    rig.clock.advance(5)
    assert sitemaps((await rig.visit()).links) == [MAP]


@pytest.mark.parametrize("how", ["status", "timeout", "too large", "circle", "error"])
async def test_however_the_first_page_ends_the_sitemaps_are_not_lost(
    web: Web, make_rig: MakeRig, how: str
) -> None:
    match how:
        case "status":
            web.status(HOME, 404)
        case "timeout":
            web[HOME] = ReadTimeout(HOME, "slow")
        case "too large":
            web[HOME] = BodyTooLarge(HOME, "too large")
        case "circle":
            web.moved(HOME, HOME)
        case _:
            web.status(HOME, 503)
    rig = await make_rig()
    assert sitemaps((await rig.visit(HOME)).links) == [MAP]


async def test_a_forbidden_page_brings_the_sitemaps_that_are_named_and_no_guess(
    web: Web, make_rig: MakeRig
) -> None:
    web.robots(f"Sitemap: {MAP}\nUser-agent: *\nDisallow: /")
    rig = await make_rig()
    refused = await rig.visit(HOME)
    assert refused.record is not None
    assert (refused.record.outcome, sitemaps(refused.links)) == ("refused", [MAP])
    web.robots("User-agent: *\nDisallow: /", OTHER)
    rig.clock.advance(1)
    await rig.commit(refused)
    refused = await rig.visit(f"{OTHER}/")
    assert sitemaps(refused.links) == []


async def test_a_site_whose_robots_txt_cannot_be_read_yet_brings_its_sitemaps_later(
    web: Web, make_rig: MakeRig
) -> None:
    web.status(f"{SITE}/robots.txt", 500)
    rig = await make_rig()
    visit = await rig.visit(HOME)
    assert (visit.result, visit.links) == (Result.RETRY, [])
    await rig.commit(visit)
    web.robots(f"Sitemap: {MAP}")
    rig.clock.advance(60)
    assert sitemaps((await rig.visit()).links) == [MAP]


async def test_a_redirect_left_to_the_queue_brings_target_and_sitemaps(
    web: Web, make_rig: MakeRig
) -> None:
    web.moved(HOME, f"{OTHER}/new")
    web.robots("User-agent: *\nCrawl-delay: 60", OTHER)
    web.html(f"{OTHER}/", "other")
    web.html(f"{OTHER}/new", "new")
    rig = await make_rig(polite={"per_host": 2}, scope="any")
    await rig.offer(f"{OTHER}/")
    await rig.commit(await rig.visit())
    rig.clock.advance(60)
    await rig.commit(*[await rig.visitor.visit(lease) for lease in await rig.claim(1)])
    visit = await rig.visit(HOME)
    assert visit.record is not None
    assert visit.record.outcome == "duplicate"
    assert [link.url for link in visit.links] == [MAP, f"{OTHER}/new"]


# Headers


async def test_headers_of_a_job_go_to_its_sitemaps_on_its_own_domain_alone(
    web: Web, make_rig: MakeRig
) -> None:
    web.robots(f"Sitemap: {MAP}\nSitemap: {OTHER}/map.xml")
    web.sitemap(MAP, HOME)
    web.sitemap(f"{OTHER}/map.xml", HOME)
    rig = await make_rig(http={"headers": {"Cookie": "hush"}})
    await rig.crawl()
    sent = {request.url: dict(request.headers) for request in rig.fetcher.requests}
    assert sent[MAP] == {"Cookie": "hush"}
    assert sent[f"{OTHER}/map.xml"] == {}


async def test_headers_of_a_job_do_not_follow_from_https_to_http(
    web: Web, make_rig: MakeRig
) -> None:
    secure = SITE.replace("http:", "https:")
    web.robots("", secure)
    web.moved(f"{secure}/", HOME)
    rig = await make_rig(http={"headers": {"Cookie": "hush"}})
    await rig.visit(f"{secure}/")
    sent = {request.url: dict(request.headers) for request in rig.fetcher.requests}
    assert (sent[f"{secure}/"], sent[HOME]) == ({"Cookie": "hush"}, {})


# What is asked of the fetcher


async def test_pages_are_asked_for_by_type_and_sitemaps_whatever_their_type(
    web: Web, make_rig: MakeRig
) -> None:
    web.text(MAP, f"{SITE}/a", "application/octet-stream")
    web.html(f"{SITE}/a", "a")
    rig = await make_rig()
    await rig.crawl()
    asked = {request.url: request for request in rig.fetcher.requests}
    assert asked[HOME].accept_types == rig.job.http.types
    assert (asked[HOME].stream, asked[HOME].keep_raw) == (None, False)
    assert asked[MAP].accept_types == ()
    assert asked[MAP].stream is not None
    assert (await rig.totals()).sitemap_urls == 1
