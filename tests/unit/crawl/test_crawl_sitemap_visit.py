"""The visit of one sitemap: what it lists is queued, whatever becomes of the visit."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, HeldFetcher, Web, make_job

from skitter.crawl.sitemap_visit import MAX_UNREAD, OFFERED_AT_ONCE
from skitter.crawl.sitemaps import ENTRY, FIRST_PER_SITE, MAX_LEVELS
from skitter.crawl.trip import Visit
from skitter.errors import BodyTooLarge, ReadTimeout, StoreUnavailable
from skitter.fetch.base import Fetcher, Request, Response
from skitter.frontier.model import Freed, Lease, Link, Receipt, Result, UrlState
from skitter.politeness.decision import Code
from skitter.testing.fake_fetcher import page
from skitter.types import Role

OTHER = "http://other.test"
MAP = f"{SITE}/sitemap.xml"
NAMED = f"{SITE}/robots.txt"
"""Referrer of a sitemap that robots.txt names."""

MakeRig = Callable[..., Awaitable[CrawlRig]]


@pytest.fixture
def web() -> Web:
    found = Web()
    found.robots("")
    found.robots("", OTHER)
    return found


@pytest.fixture
async def make_rig(tmp_path: Path, web: Web) -> AsyncIterator[MakeRig]:
    rigs: list[CrawlRig] = []

    async def make(fetcher: Fetcher | None = None, **fields: Any) -> CrawlRig:
        rig = CrawlRig(tmp_path, web, make_job(**{"sitemaps": "auto", **fields}))
        rigs.append(rig)
        await rig.open(fetcher)
        rig.judge.scope.add(HOME)
        return rig

    yield make
    for rig in rigs:
        await rig.close()


async def visit(rig: CrawlRig, url: str = MAP, *, level: int = 0, referrer: str = NAMED) -> Visit:
    """Visit ``url`` as a sitemap."""
    await rig.frontier.offer([rig.equipment.sitemaps.link(rig.normal(url), level, referrer)])
    [lease] = [one for one in await rig.claim(100) if one.role is Role.SITEMAP]
    return await rig.visitor.visit(lease)


async def queued(rig: CrawlRig) -> list[str]:
    """Return what waits, in the order in which it is handed out."""
    return [lease.url for lease in await leases(rig)]


async def leases(rig: CrawlRig) -> list[Lease]:
    """Lease everything that waits, one after the other."""
    found: list[Lease] = []
    while more := await rig.claim(1):
        found += more
        rig.freed += [Freed(lease.id, lease.host) for lease in more]
    return found


class Broken:
    """Hands on a part of the body, then fails; waits for ``go`` before it does."""

    def __init__(self, body: str, error: Exception) -> None:
        self._body = body
        self._error = error
        self.go = asyncio.Event()
        self.go.set()

    async def fetch(self, request: Request) -> Response:
        assert request.stream is not None
        request.stream(self._body.encode())
        await self.go.wait()
        raise self._error

    async def close(self) -> None:
        """Do nothing."""


# What it lists


async def test_what_a_sitemap_lists_waits_in_the_queue_before_the_visit_ends(
    web: Web, make_rig: MakeRig
) -> None:
    web.sitemap(MAP, f"{SITE}/a", f"{SITE}/b", "http://elsewhere.test/", "mailto:x")
    rig = await make_rig()
    ended = await visit(rig)
    assert ended.result is Result.DONE
    assert (await rig.counts()).queued == 2
    sighting = await rig.look(f"{SITE}/a")
    assert sighting.link is not None
    assert (sighting.link.depth, sighting.link.referrer) == (1, MAP)
    assert ended.record is not None
    assert (ended.record.page_class, ended.record.n_links) == ("sitemap", 2)
    assert ended.page is None


async def test_many_entries_are_offered_some_at_a_time(
    web: Web, make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 2 * OFFERED_AT_ONCE + 1
    web.sitemap(MAP, *(f"{SITE}/{n}" for n in range(count)))
    rig = await make_rig()
    sizes: list[int] = []
    offer = rig.frontier.offer

    async def watched(links: Sequence[Link]) -> Receipt:
        sizes.append(len(links))
        return await offer(links)

    monkeypatch.setattr(rig.frontier, "offer", watched)
    await visit(rig)
    assert sum(sizes[1:]) == count
    assert max(sizes) <= OFFERED_AT_ONCE


async def test_a_server_waits_while_much_of_its_sitemap_is_not_read(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    piece = f"{SITE}/a\n".encode() * 10_000
    waits: list[int] = []
    writing = asyncio.Event()

    class Fast:
        async def fetch(self, request: Request) -> Response:
            assert request.stream is not None
            for number in range(40):
                full = request.stream(piece)
                if full is not None:
                    waits.append(number)
                    writing.set()
                    await full
            return page(request.url)

        async def close(self) -> None:
            """Do nothing."""

    rig = await make_rig(Fast(), polite={"robots": False})
    await rig.frontier.offer([rig.equipment.sitemaps.link(rig.normal(MAP), 0, NAMED)])
    lease = await rig.lease()
    offer = rig.frontier.offer

    async def slow(links: Sequence[Link]) -> Receipt:
        await writing.wait()
        return await offer(links)

    monkeypatch.setattr(rig.frontier, "offer", slow)
    ended = await rig.visitor.visit(lease)
    assert ended.record is not None
    assert ended.record.n_links == 40 * 10_000
    ahead = MAX_UNREAD // len(piece) + 1
    assert waits
    assert all(later - sooner <= ahead for sooner, later in pairwise([0, *waits]))


async def test_an_index_leads_to_its_sitemaps_which_go_before_pages(
    web: Web, make_rig: MakeRig
) -> None:
    web.index(MAP, f"{SITE}/one.xml", f"{SITE}/two.xml", "mailto:x")
    rig = await make_rig()
    await rig.offer_links(1, f"{SITE}/page")
    await rig.commit(await visit(rig))
    assert await queued(rig) == [f"{SITE}/one.xml", f"{SITE}/two.xml", f"{SITE}/page"]
    again = await rig.look(f"{SITE}/one.xml", as_sitemap=True)
    assert again.state is UrlState.LEASED
    assert (await rig.look(f"{SITE}/one.xml")).state is UrlState.UNKNOWN


async def test_an_index_leads_to_no_host_but_its_own_and_those_of_the_scope(
    web: Web, make_rig: MakeRig
) -> None:
    named = f"{OTHER}/index.xml"
    web.index(named, f"{OTHER}/a.xml", f"{SITE}/b.xml", "http://victim.test/c.xml")
    rig = await make_rig()
    await rig.commit(await visit(rig, named))
    assert set(await queued(rig)) == {f"{OTHER}/a.xml", f"{SITE}/b.xml"}
    assert rig.finder.cut == {Code.SCOPE: 1}


async def test_the_first_sitemaps_of_an_index_go_before_pages_and_the_others_take_turns(
    web: Web, make_rig: MakeRig
) -> None:
    maps = [f"{SITE}/{n}.xml" for n in range(FIRST_PER_SITE + 2)]
    web.index(MAP, *maps)
    rig = await make_rig()
    await rig.offer_links(1, f"{SITE}/known")
    await rig.commit(await visit(rig))
    await rig.offer_links(1, f"{SITE}/later")
    assert await queued(rig) == [
        *maps[:FIRST_PER_SITE],
        f"{SITE}/known",
        *maps[FIRST_PER_SITE:],
        f"{SITE}/later",
    ]


async def test_indexes_of_indexes_end_at_some_level(web: Web, make_rig: MakeRig) -> None:
    web.index(MAP, f"{SITE}/deeper.xml")
    rig = await make_rig()
    await rig.commit(await visit(rig, level=MAX_LEVELS - 1))
    [deeper] = await leases(rig)
    assert deeper.depth == MAX_LEVELS
    web.index(f"{SITE}/deeper.xml", f"{SITE}/too-deep.xml")
    await rig.commit(await rig.visitor.visit(deeper))
    assert (await rig.look(f"{SITE}/too-deep.xml", as_sitemap=True)).state is UrlState.UNKNOWN


async def test_an_index_that_lists_itself_is_read_once(web: Web, make_rig: MakeRig) -> None:
    web.index(MAP, MAP, f"{SITE}/other.xml")
    web.index(f"{SITE}/other.xml", MAP)
    rig = await make_rig()
    await rig.commit(await visit(rig))
    [other] = await leases(rig)
    await rig.commit(await rig.visitor.visit(other))
    assert await queued(rig) == []
    assert rig.asked == [MAP, f"{SITE}/other.xml"]


async def test_a_listed_page_that_a_redirect_is_fetching_is_not_queued_beside_it(
    web: Web, make_rig: MakeRig
) -> None:
    web.sitemap(MAP, f"{SITE}/new")
    rig = await make_rig()
    assert rig.reservations.reserve(rig.normal(f"{SITE}/new").fp)
    await visit(rig)
    assert (await rig.look(f"{SITE}/new")).state is UrlState.UNKNOWN
    assert [link.url for link in rig.reservations.release(rig.normal(f"{SITE}/new").fp)] == [
        f"{SITE}/new"
    ]


# Ways to fail


@pytest.mark.parametrize(
    ("body", "kind"),
    [("<html><body>Not here</body></html>", "text/html"), ("", "application/xml")],
)
async def test_a_sitemap_without_one_url_fails_and_says_why(
    web: Web, make_rig: MakeRig, body: str, kind: str
) -> None:
    web.text(MAP, body, kind)
    rig = await make_rig()
    ended = await visit(rig)
    assert ended.record is not None
    assert (ended.record.outcome, ended.result) == ("failed", Result.DEAD)
    assert ended.record.error


async def test_a_sitemap_cut_off_keeps_what_it_listed_and_says_so(
    web: Web, make_rig: MakeRig
) -> None:
    web.text(MAP, f"<urlset><url><loc>{SITE}/a</loc></url><url><loc>{SITE}/b", "text/xml")
    rig = await make_rig()
    ended = await visit(rig)
    assert ended.record is not None
    assert (ended.record.outcome, ended.record.n_links) == ("ok", 1)
    assert ended.record.error
    assert (await rig.look(f"{SITE}/a")).state is UrlState.QUEUED


async def test_a_sitemap_that_answers_for_now_with_an_error_is_tried_again(
    web: Web, make_rig: MakeRig
) -> None:
    web.status(MAP, 503)
    rig = await make_rig()
    ended = await visit(rig)
    assert (ended.result, ended.record) == (Result.RETRY, None)


@pytest.mark.parametrize("robots", ["Disallow: /sitemap", "Disallow: /"])
async def test_a_sitemap_that_robots_txt_forbids_is_not_asked_for(
    web: Web, make_rig: MakeRig, robots: str
) -> None:
    web.robots(f"User-agent: *\n{robots}")
    rig = await make_rig()
    ended = await visit(rig)
    assert rig.asked == []
    assert ended.record is not None
    assert (ended.record.outcome, ended.record.page_class) == ("refused", "sitemap")


async def test_a_sitemap_that_cannot_be_reached_is_no_page_in_the_index(make_rig: MakeRig) -> None:
    rig = await make_rig(http={"tries": 1})
    await rig.commit(await visit(rig))
    note = (await rig.look(MAP, as_sitemap=True)).note
    assert json.loads(note)["page_class"] == "sitemap"
    assert rig.sink.records == []


@pytest.mark.parametrize("error", [ReadTimeout(MAP, "slow"), BodyTooLarge(MAP, "too large")])
async def test_what_came_before_a_sitemap_broke_off_is_queued(
    make_rig: MakeRig, error: Exception
) -> None:
    listed = f"<urlset><url><loc>{SITE}/a</loc></url>"
    rig = await make_rig(Broken(listed, error), polite={"robots": False}, http={"tries": 1})
    ended = await visit(rig)
    assert (await rig.look(f"{SITE}/a")).state is UrlState.QUEUED
    assert ended.record is not None
    assert (ended.record.outcome, ended.record.n_links) == ("failed", 1)


async def test_the_sitemaps_of_an_index_that_broke_off_are_queued_too(make_rig: MakeRig) -> None:
    listed = f"<sitemapindex><sitemap><loc>{SITE}/a.xml</loc></sitemap>"
    broken = Broken(listed, BodyTooLarge(MAP, "too large"))
    rig = await make_rig(broken, polite={"robots": False})
    await rig.commit(await visit(rig))
    assert (await rig.look(f"{SITE}/a.xml", as_sitemap=True)).state is UrlState.QUEUED


async def test_a_store_that_cannot_be_written_ends_the_visit_while_the_sitemap_still_arrives(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a large one would pile up in memory for minutes."""
    fed_to_the_end: list[bool] = []

    class Endless:
        async def fetch(self, request: Request) -> Response:
            assert request.stream is not None
            for _ in range(1000):
                request.stream(f"{SITE}/a\n".encode() * 1000)
                await asyncio.sleep(0)
            fed_to_the_end.append(True)
            raise ReadTimeout(request.url, "slow")

        async def close(self) -> None:
            """Do nothing."""

    async def full(*_: object) -> Receipt:
        raise StoreUnavailable("No space left on device")

    rig = await make_rig(Endless(), polite={"robots": False})
    await rig.frontier.offer([rig.equipment.sitemaps.link(rig.normal(MAP), 0, NAMED)])
    lease = await rig.lease()
    monkeypatch.setattr(rig.frontier, "offer", full)
    with pytest.raises(StoreUnavailable):
        await rig.visitor.visit(lease)
    assert not fed_to_the_end


async def test_the_stores_fault_is_told_when_the_fetch_fails_too(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> Receipt:
        raise StoreUnavailable("No space left on device")

    listed = f"<urlset><url><loc>{SITE}/a</loc></url>"
    rig = await make_rig(Broken(listed, ReadTimeout(MAP, "slow")), polite={"robots": False})
    await rig.frontier.offer([rig.equipment.sitemaps.link(rig.normal(MAP), 0, NAMED)])
    lease = await rig.lease()
    monkeypatch.setattr(rig.frontier, "offer", full)
    with pytest.raises(StoreUnavailable):
        await rig.visitor.visit(lease)


async def test_a_cancelled_visit_leaves_nothing_running_and_the_sitemap_queued(
    web: Web, make_rig: MakeRig, tmp_path: Path
) -> None:
    web.sitemap(MAP, f"{SITE}/a")
    inner = CrawlRig(tmp_path, web, make_job()).fetcher
    held = HeldFetcher(inner)
    held.hold(MAP)
    rig = await make_rig(held, polite={"robots": False})
    visiting = asyncio.create_task(visit(rig))
    await held.asked(MAP)
    before = asyncio.all_tasks()
    visiting.cancel()
    await asyncio.gather(visiting, return_exceptions=True)
    assert visiting.cancelled()
    assert asyncio.all_tasks() < before
    assert asyncio.all_tasks() == {asyncio.current_task()}


# Redirects


async def test_a_sitemap_may_lie_on_another_host_and_its_pages_are_judged_all_the_same(
    web: Web, make_rig: MakeRig
) -> None:
    web.moved(MAP, f"{OTHER}/map.xml")
    web.sitemap(f"{OTHER}/map.xml", f"{SITE}/a", f"{OTHER}/b", "/relative")
    rig = await make_rig()
    ended = await visit(rig)
    assert ended.record is not None
    assert (ended.record.outcome, ended.record.final_url) == ("ok", f"{OTHER}/map.xml")
    assert (await rig.look(f"{SITE}/a")).state is UrlState.QUEUED
    assert (await rig.look(f"{OTHER}/b")).state is UrlState.UNKNOWN
    # It is relative to where the list was found.
    assert (await rig.look(f"{SITE}/relative")).state is UrlState.UNKNOWN
    assert {freed.host for freed in rig.freed} == {"site.test", "other.test"}


async def test_a_sitemap_that_an_index_lists_does_not_lead_out_of_the_scope(
    web: Web, make_rig: MakeRig
) -> None:
    web.moved(MAP, f"{OTHER}/map.xml")
    web.sitemap(f"{OTHER}/map.xml", f"{SITE}/a")
    rig = await make_rig()
    ended = await visit(rig, level=1)
    assert rig.asked == [MAP]
    assert ended.record is not None
    assert (ended.record.outcome, ended.record.final_url) == ("refused", f"{OTHER}/map.xml")
    assert "scope" in str(ended.record.error)


async def test_a_sitemap_that_an_index_lists_may_move_within_its_host(
    web: Web, make_rig: MakeRig
) -> None:
    web.moved(f"{OTHER}/old.xml", f"{OTHER}/map.xml")
    web.sitemap(f"{OTHER}/map.xml", f"{SITE}/a")
    rig = await make_rig()
    await visit(rig, f"{OTHER}/old.xml", level=1)
    assert (await rig.look(f"{SITE}/a")).state is UrlState.QUEUED


@pytest.mark.parametrize("circle", [[MAP], [f"{SITE}/b.xml", MAP]])
async def test_a_sitemap_that_redirects_in_a_circle_is_asked_once_each(
    web: Web, make_rig: MakeRig, circle: list[str]
) -> None:
    for place, target in zip([MAP, *circle], circle, strict=False):
        web.moved(place, target)
    rig = await make_rig()
    ended = await visit(rig)
    assert ended.record is not None
    assert ended.record.outcome == "failed"
    assert "circle" in str(ended.record.error)
    assert len(rig.asked) == len(circle)


async def test_a_sitemap_that_redirects_to_a_page_fails_and_the_page_stays_unknown(
    web: Web, make_rig: MakeRig
) -> None:
    web.moved(MAP, HOME)
    web.html(HOME, "", "/a")
    rig = await make_rig()
    await rig.commit(await visit(rig))
    assert (await rig.look(HOME)).state is UrlState.UNKNOWN
    assert (await rig.look(f"{SITE}/a")).state is UrlState.UNKNOWN
    assert (await rig.look(MAP, as_sitemap=True)).state is UrlState.DEAD


async def test_two_names_of_one_sitemap_bring_it_once(web: Web, make_rig: MakeRig) -> None:
    web.moved(MAP, f"{SITE}/real.xml")
    web.sitemap(f"{SITE}/real.xml", f"{SITE}/a")
    rig = await make_rig(polite={"per_host": 2})
    await rig.commit(await visit(rig, f"{SITE}/real.xml"))
    ended = await visit(rig)
    assert ended.record is not None
    assert (ended.record.outcome, ended.record.duplicate_of) == (
        "duplicate",
        f"{SITE}/real.xml",
    )
    assert rig.asked.count(f"{SITE}/real.xml") == 1


async def test_a_redirect_to_a_resting_host_leaves_the_sitemap_to_the_queue(
    web: Web, make_rig: MakeRig
) -> None:
    web.moved(MAP, f"{OTHER}/map.xml")
    web.robots("User-agent: *\nCrawl-delay: 60", OTHER)
    web.html(f"{OTHER}/", "other")
    web.sitemap(f"{OTHER}/map.xml", f"{SITE}/a")
    rig = await make_rig(polite={"per_host": 2}, scope="any")
    await rig.crawl(f"{OTHER}/", steps=20)
    await rig.offer_links(1, f"{OTHER}/next")
    web.html(f"{OTHER}/next", "next")
    rig.clock.advance(3600)
    await rig.commit(await rig.visit())
    ended = await visit(rig)
    assert ended.record is not None
    assert ended.record.duplicate_of == f"{OTHER}/map.xml"
    [link] = ended.links
    assert (link.url, link.role, link.depth) == (f"{OTHER}/map.xml", Role.SITEMAP, 0)


# Guesses


async def test_a_guess_that_holds_nothing_leads_to_the_next_and_the_last_to_none(
    web: Web, make_rig: MakeRig
) -> None:
    for name in ("sitemap.xml", "sitemap_index.xml", "sitemap.xml.gz", "sitemap.txt"):
        web.status(f"{SITE}/{name}", 404)
    rig = await make_rig()
    await rig.commit(await visit(rig, referrer=""))
    for _ in range(3):
        [lease] = await leases(rig)
        await rig.commit(await rig.visitor.visit(lease))
    assert await queued(rig) == []
    assert len(set(rig.asked)) == len(rig.asked) == 4


@pytest.mark.parametrize("how", ["html", "down", "forbidden", "circle"])
async def test_however_a_guess_fails_the_next_is_made(
    web: Web, make_rig: MakeRig, how: str
) -> None:
    match how:
        case "html":
            web.html(MAP, "soft 404")
        case "down":
            web[MAP] = BodyTooLarge(MAP, "too large")
        case "forbidden":
            web.robots("User-agent: *\nDisallow: /sitemap.xml")
        case _:
            web.moved(MAP, MAP)
    rig = await make_rig()
    await rig.commit(await visit(rig, referrer=""))
    assert await queued(rig) == [f"{SITE}/sitemap_index.xml"]


async def test_a_guess_that_holds_something_is_the_last(web: Web, make_rig: MakeRig) -> None:
    web.sitemap(MAP, f"{SITE}/a")
    rig = await make_rig()
    await rig.commit(await visit(rig, referrer=""))
    assert await queued(rig) == [f"{SITE}/a"]


@pytest.mark.parametrize("referrer", [NAMED, ENTRY])
async def test_a_sitemap_that_somebody_named_is_not_replaced_by_guesses(
    web: Web, make_rig: MakeRig, referrer: str
) -> None:
    web.status(MAP, 404)
    rig = await make_rig()
    await rig.commit(await visit(rig, referrer=referrer))
    assert await queued(rig) == []


# Counting


async def test_totals_tell_sitemaps_read_from_those_broken_and_from_guesses(
    web: Web, make_rig: MakeRig
) -> None:
    web.sitemap(MAP, f"{SITE}/a", f"{SITE}/b")
    web.status(f"{SITE}/gone.xml", 404)
    web.status(f"{SITE}/guess.xml", 404)
    rig = await make_rig(polite={"per_host": 9})
    await rig.commit(
        await visit(rig),
        await visit(rig, f"{SITE}/gone.xml"),
        await visit(rig, f"{SITE}/guess.xml", referrer=""),
    )
    totals = await rig.totals()
    assert (totals.sitemaps, totals.sitemap_urls, totals.sitemap_faults) == (1, 2, 1)
    assert (totals.pages, totals.failed, totals.errors) == (0, 0, {})
