"""One URL's life, hop by hop, on the real frontier over a table of pages."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, HeldFetcher, Web, by_url, make_job

from skitter.clock import SystemClock
from skitter.crawl.ordering import DOUBTFUL_RANK
from skitter.crawl.travel import MAX_HOP_WAIT_MS, ROBOTS_TRIES
from skitter.errors import (
    AddressRefused,
    BodyTooLarge,
    ConnectError,
    DnsError,
    ReadTimeout,
    StoreUnavailable,
    TlsError,
)
from skitter.fetch.base import Response
from skitter.frontier.model import MAX_LOST, Result, UrlState
from skitter.job.spec import Job
from skitter.parse.document import parse_page
from skitter.parse.page import ParsedPage
from skitter.testing.fake_fetcher import page
from skitter.types import HostKey

OTHER = "http://other.test"
NO_ROBOTS = {"robots": False}

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

    async def make(job: Job | None = None, **fields: Any) -> CrawlRig:
        rig = CrawlRig(tmp_path, web, job or make_job(**fields))
        rigs.append(rig)
        await rig.open()
        return rig

    yield make
    for rig in rigs:
        await rig.close()


# A page


@pytest.mark.parametrize(
    ("rules", "keeps"),
    [
        ({}, False),
        ({"links": [{"allow": ["/"]}]}, False),
        ({"links": [{"restrict_css": ["main"]}]}, True),
        ({"detail": {"fields": {"name": "//h1"}}}, True),
    ],
)
async def test_a_page_is_only_kept_in_memory_for_rules_that_read_it(
    web: Web,
    make_rig: MakeRig,
    monkeypatch: pytest.MonkeyPatch,
    rules: dict[str, Any],
    keeps: bool,
) -> None:
    parsed: list[ParsedPage] = []

    def noting(*given: Any, **named: Any) -> ParsedPage:
        parsed.append(parse_page(*given, **named))
        return parsed[-1]

    monkeypatch.setattr("skitter.crawl.visit.parse_page", noting)
    web.html(HOME, "<h1>One</h1>", "/a")
    rig = await make_rig(**rules)
    assert (rig.equipment.extraction is not None) is ("detail" in rules)
    await rig.visit(HOME)
    [page] = parsed
    assert (page.document is not None) is keeps


async def test_a_page_gives_a_record_its_links_and_frees_its_host(
    web: Web, make_rig: MakeRig
) -> None:
    web.html(HOME, '<html lang="fr"><p>bon</p>', "/a", "b", etag='"7"', last_modified="yesterday")
    rig = await make_rig(labels={"desk": "one"})
    visit = await rig.visit(HOME)
    assert visit.result is Result.DONE
    assert [link.url for link in visit.links] == [f"{SITE}/a", f"{SITE}/b"]
    assert {link.depth for link in visit.links} == {1}
    assert {link.referrer for link in visit.links} == {HOME}
    assert [freed.host for freed in rig.freed] == ["site.test"]
    record = visit.record
    assert record is not None
    assert (record.outcome, record.status, record.title) == ("ok", 200, HOME)
    assert (record.url, record.final_url, record.redirects) == (HOME, HOME, [])
    assert (record.etag, record.last_modified, record.n_links) == ('"7"', "yesterday", 2)
    assert (record.job, record.visit, record.depth) == ("job", 1, 0)
    assert record.labels == {"desk": "one"}
    assert record.fetched_at == "2025-06-15T15:06:40.000Z"
    body = web[HOME]
    assert isinstance(body, Response)
    assert record.bytes == len(body.body)


async def test_a_whole_site_is_fetched_once_each_with_its_referrer(
    web: Web, make_rig: MakeRig
) -> None:
    web.html(HOME, "", "/a", "/b", f"{OTHER}/out", "/picture.png")
    web.html(f"{SITE}/a", "a", "/", "/b")
    web.html(f"{SITE}/b", "b", "/a", "#top")
    rig = await make_rig()
    found = by_url(await rig.crawl())
    assert set(found) == {HOME, f"{SITE}/a", f"{SITE}/b"}
    assert found[f"{SITE}/b"]["referrer"] == HOME
    assert sorted(rig.asked) == sorted(found)
    assert (await rig.counts()).pending == 0


async def test_an_error_status_ends_the_visit_without_another_try(
    web: Web, make_rig: MakeRig
) -> None:
    web.status(HOME, 404)
    rig = await make_rig()
    [record] = await rig.crawl()
    assert (record["outcome"], record["status"]) == ("http_error", 404)
    assert "404" in record["error"]
    assert rig.asked == [HOME]
    assert (await rig.look(HOME)).state is UrlState.DEAD


async def test_a_type_that_is_not_wanted_is_skipped_with_status_and_type(
    web: Web, make_rig: MakeRig
) -> None:
    web.status(HOME, 200, content_type="image/png")
    rig = await make_rig()
    [record] = await rig.crawl()
    assert (record["outcome"], record["status"]) == ("skipped", 200)
    assert record["content_type"] == "image/png"
    assert "image/png" in record["error"]
    assert (await rig.totals()).refused == 1


async def test_an_address_that_is_not_allowed_is_a_refusal(web: Web, make_rig: MakeRig) -> None:
    web[HOME] = AddressRefused(HOME, "10.0.0.1 is a private address")
    rig = await make_rig()
    [record] = await rig.crawl()
    assert record["outcome"] == "refused"
    assert "10.0.0.1" in record["error"]
    assert rig.asked == [HOME]
    assert dict((await rig.totals()).errors) == {"address": 1}


# Redirects


async def test_a_redirect_is_followed_and_its_chain_kept(web: Web, make_rig: MakeRig) -> None:
    web.moved(HOME, "/b")
    web.moved(f"{SITE}/b", f"{SITE}/c#part")
    web.html(f"{SITE}/c", "", "d")
    web.html(f"{SITE}/d", "d")
    rig = await make_rig()
    found = by_url(await rig.crawl())
    assert found[HOME]["redirects"] == [HOME, f"{SITE}/b"]
    assert found[HOME]["final_url"] == f"{SITE}/c"
    assert found[HOME]["status"] == 200
    assert found[f"{SITE}/d"]["referrer"] == f"{SITE}/c"
    assert set(found) == {HOME, f"{SITE}/d"}


async def test_a_link_to_where_a_redirect_led_is_not_fetched_again(
    web: Web, make_rig: MakeRig
) -> None:
    web.moved(HOME, "/c")
    web.html(f"{SITE}/c", "", "/", "/c", "/d")
    web.html(f"{SITE}/d", "d", "/c", "/")
    rig = await make_rig()
    await rig.crawl()
    assert rig.asked == [HOME, f"{SITE}/c", f"{SITE}/d"]


async def test_a_redirect_to_another_host_passes_its_gate_and_frees_both(
    web: Web, make_rig: MakeRig
) -> None:
    web.html(HOME, "", f"{SITE}/away")
    web.moved(f"{SITE}/away", f"{OTHER}/here")
    web.html(f"{OTHER}/here", "here")
    rig = await make_rig(scope="any")
    await rig.commit(await rig.visit(HOME))
    visit = await rig.visit()
    assert [freed.host for freed in rig.freed] == ["site.test", "other.test"]
    assert [hop.host for hop in visit.hops] == ["other.test"]
    await rig.commit(visit)
    assert (await rig.look(f"{OTHER}/here")).state is UrlState.DONE
    assert await rig.claim() == []


async def test_a_hop_waits_while_another_request_is_under_way_at_its_host(
    web: Web, make_rig: MakeRig
) -> None:
    web.moved(HOME, f"{OTHER}/here")
    web.html(f"{OTHER}/here", "here")
    rig = await make_rig(scope="any", polite=NO_ROBOTS)
    await rig.offer(HOME, f"{OTHER}/first")
    home, first = sorted(await rig.claim(2), key=lambda lease: lease.host, reverse=True)
    waiting = asyncio.create_task(rig.visitor.visit(home))
    for _ in range(5):
        await asyncio.sleep(0)
    assert rig.asked == [HOME]
    web.html(f"{OTHER}/first", "first")
    await rig.commit(await rig.visitor.visit(first))
    assert await rig.claim() == []
    visit = await waiting
    assert rig.asked == [HOME, f"{OTHER}/first", f"{OTHER}/here"]
    assert visit.record is not None
    assert visit.record.final_url == f"{OTHER}/here"


async def test_the_target_of_a_hop_to_a_host_that_rests_for_long_is_left_to_the_queue(
    web: Web, make_rig: MakeRig
) -> None:
    web.moved(HOME, f"{OTHER}/here")
    web.html(f"{OTHER}/here", "here")
    rig = await make_rig(scope="any", polite=NO_ROBOTS)
    await rig.offer(f"{OTHER}/first")
    rest_ms = rig.clock.now_ms() + MAX_HOP_WAIT_MS + 1
    await rig.frontier.set_host(HostKey("other.test"), not_before_ms=rest_ms)
    visit = await rig.visit(HOME)
    assert visit.result is Result.DONE
    await rig.commit(visit)
    assert (await rig.look(f"{OTHER}/here")).state is UrlState.QUEUED
    found = by_url(await rig.crawl(HOME))
    assert found[HOME]["outcome"] == "duplicate"
    assert found[HOME]["duplicate_of"] == f"{OTHER}/here"
    assert found[HOME]["redirects"] == [HOME]
    assert found[f"{OTHER}/here"]["outcome"] == "ok"
    assert found[f"{OTHER}/here"]["depth"] == 0


async def test_redirects_in_a_circle_fail(web: Web, make_rig: MakeRig) -> None:
    web.moved(HOME, "/b")
    web.moved(f"{SITE}/b", "/")
    rig = await make_rig()
    [record] = await rig.crawl()
    assert record["outcome"] == "failed"
    assert "circle" in record["error"]
    assert rig.asked == [HOME, f"{SITE}/b"]


async def test_a_redirect_to_itself_fails_after_one_request(web: Web, make_rig: MakeRig) -> None:
    web.moved(HOME, HOME)
    rig = await make_rig()
    [record] = await rig.crawl()
    assert record["outcome"] == "failed"
    assert rig.asked == [HOME]


@pytest.mark.parametrize("limit", [0, 1, 3])
async def test_as_many_redirects_as_allowed_are_followed_and_not_one_more(
    web: Web, make_rig: MakeRig, limit: int
) -> None:
    for n in range(limit + 1):
        web.moved(f"{SITE}/{n}", f"/{n + 1}")
        web.moved(f"{SITE}/x{n}", f"/x{n + 1}")
    web.html(f"{SITE}/{limit + 1}", "the end of the long one")
    web.html(f"{SITE}/x{limit + 1}", "one too far")
    rig = await make_rig(http={"max_redirects": limit})
    found = by_url(await rig.crawl(f"{SITE}/1", f"{SITE}/x0"))
    assert found[f"{SITE}/1"]["outcome"] == "ok"
    assert len(found[f"{SITE}/1"]["redirects"]) == limit
    assert found[f"{SITE}/x0"]["outcome"] == "failed"
    assert f"more than {limit} redirects" in found[f"{SITE}/x0"]["error"]
    assert f"{SITE}/x{limit + 1}" not in rig.asked


async def test_a_redirect_into_a_forbidden_area_is_refused_unasked(
    web: Web, make_rig: MakeRig
) -> None:
    web.robots("User-agent: *\nDisallow: /private/")
    web.moved(HOME, "/private/diary")
    web.html(f"{SITE}/private/diary", "secret")
    rig = await make_rig()
    [record] = await rig.crawl()
    assert record["outcome"] == "refused"
    assert "robots.txt line 2" in record["error"]
    assert rig.asked == [HOME]


async def test_the_rules_of_the_redirects_own_host_count(web: Web, make_rig: MakeRig) -> None:
    web.robots("User-agent: *\nDisallow: /", OTHER)
    web.moved(HOME, f"{OTHER}/here")
    web.html(f"{OTHER}/here", "here")
    rig = await make_rig(scope="any")
    [record] = await rig.crawl()
    assert record["outcome"] == "refused"
    assert rig.asked == [HOME]


async def test_a_redirect_out_of_scope_is_refused_and_says_where_to(
    web: Web, make_rig: MakeRig
) -> None:
    web.html(HOME, "", "/away")
    web.moved(f"{SITE}/away", f"{OTHER}/here")
    web.html(f"{OTHER}/here", "here")
    rig = await make_rig()
    record = by_url(await rig.crawl())[f"{SITE}/away"]
    assert record["outcome"] == "refused"
    assert f"{OTHER}/here" in record["error"]
    assert "scope" in record["error"]
    assert f"{OTHER}/here" not in rig.asked
    assert dict((await rig.totals()).errors) == {"scope": 1}


@pytest.mark.parametrize(
    ("target", "fields"),
    [("/film.mp4", {}), ("/login", {"exclude": ["/login"]})],
)
async def test_a_redirect_to_what_is_never_followed_is_refused(
    web: Web, make_rig: MakeRig, target: str, fields: dict[str, Any]
) -> None:
    web.moved(HOME, target)
    web.html(f"{SITE}{target}", "here")
    rig = await make_rig(**fields)
    [record] = await rig.crawl()
    assert record["outcome"] == "refused"
    assert rig.asked == [HOME]


async def test_a_redirect_to_a_known_url_is_a_duplicate_of_it(web: Web, make_rig: MakeRig) -> None:
    web.html(HOME, "", "/old", "/new")
    web.moved(f"{SITE}/old", "/new")
    web.html(f"{SITE}/new", "new")
    rig = await make_rig()
    record = by_url(await rig.crawl())[f"{SITE}/old"]
    assert (record["outcome"], record["status"]) == ("duplicate", 301)
    assert record["duplicate_of"] == record["final_url"] == f"{SITE}/new"
    assert rig.asked.count(f"{SITE}/new") == 1
    assert (await rig.totals()).duplicates == 1


async def test_two_redirects_to_one_page_at_the_same_time_fetch_it_once(
    web: Web, make_rig: MakeRig
) -> None:
    for name in ("a", "b"):
        web.moved(f"{SITE}/{name}", "/c")
    web.html(f"{SITE}/c", "c")
    rig = await make_rig(polite={"per_host": 2})
    await rig.offer(f"{SITE}/a", f"{SITE}/b")
    leases = await rig.claim(2)
    visits = await asyncio.gather(*map(rig.visitor.visit, leases))
    await rig.commit(*visits)
    assert rig.asked.count(f"{SITE}/c") == 1
    assert sorted(record["outcome"] for record in rig.sink.records) == ["duplicate", "ok"]


@pytest.mark.parametrize("location", ["", "gopher://old.test/", "http://[broken/"])
async def test_a_redirect_to_nowhere_fails_with_its_status(
    web: Web, make_rig: MakeRig, location: str
) -> None:
    web.moved(HOME, location, 302)
    rig = await make_rig()
    [record] = await rig.crawl()
    assert (record["outcome"], record["status"]) == ("failed", 302)
    assert record["error"]
    assert (await rig.totals()).errors == {"redirect": 1}


async def test_a_redirect_to_a_url_that_is_too_long_fails(web: Web, make_rig: MakeRig) -> None:
    web.moved(HOME, "/" + "x" * 5000)
    rig = await make_rig()
    [record] = await rig.crawl()
    assert (record["outcome"], record["status"]) == ("failed", 301)


async def test_where_an_entry_redirects_to_belongs_to_the_crawl(
    web: Web, make_rig: MakeRig
) -> None:
    web.moved(HOME, f"{OTHER}/")
    web.html(f"{OTHER}/", "", "/a", f"{SITE}/b", "http://third.test/")
    web.html(f"{OTHER}/a", "a")
    web.html(f"{SITE}/b", "b")
    rig = await make_rig()
    found = by_url(await rig.crawl())
    assert set(found) == {HOME, f"{OTHER}/a", f"{SITE}/b"}
    assert found[HOME]["outcome"] == "ok"
    marks = await rig.frontier.marks(f"scope:{rig.number}:")
    assert list(marks) == [f"scope:{rig.number}:{OTHER}/"]


async def test_headers_of_a_job_go_to_its_own_domains_only(web: Web, make_rig: MakeRig) -> None:
    web.moved(HOME, f"{OTHER}/")
    web.html(f"{OTHER}/", "", "/a", f"{SITE}/b")
    web.html(f"{OTHER}/a", "a")
    web.html(f"{SITE}/b", "b")
    rig = await make_rig(http={"headers": {"Cookie": "secret"}})
    await rig.crawl()
    sent = {request.url: "Cookie" in request.headers for request in rig.fetcher.requests}
    assert sent[HOME]
    assert sent[f"{SITE}/b"]
    assert not sent[f"{OTHER}/"]
    assert not sent[f"{OTHER}/a"]


async def test_a_page_met_before_an_entry_widens_the_scope_gives_its_links_again(
    web: Web, make_rig: MakeRig
) -> None:
    web.html(f"{SITE}/one", "", f"{OTHER}/a")
    web.html(f"{SITE}/two", "", f"{OTHER}/a")
    web.moved(f"{SITE}/three", f"{OTHER}/")
    web.html(f"{OTHER}/", "nothing here")
    web.html(f"{OTHER}/a", "a")
    rig = await make_rig()
    await rig.crawl(f"{SITE}/one", f"{SITE}/three")
    assert f"{OTHER}/a" not in rig.asked
    await rig.crawl(f"{SITE}/two")
    assert f"{OTHER}/a" in rig.asked


async def test_an_entry_that_redirects_to_an_error_widens_nothing(
    web: Web, make_rig: MakeRig
) -> None:
    web.moved(HOME, f"{OTHER}/")
    web.status(f"{OTHER}/", 404)
    rig = await make_rig()
    visit = await rig.visit(HOME)
    assert visit.wider_scope == []
    assert not rig.judge.scope.contains(f"{OTHER}/")


async def test_a_redirect_that_fails_for_now_is_tried_again_from_its_beginning(
    web: Web, make_rig: MakeRig
) -> None:
    web.moved(HOME, "/b")
    web[f"{SITE}/b"] = ReadTimeout(f"{SITE}/b", "no answer within 20 s")
    rig = await make_rig()
    visit = await rig.visit(HOME)
    assert visit.result is Result.RETRY
    assert visit.hops == []
    await rig.commit(visit)
    web.html(f"{SITE}/b", "b")
    [record] = await rig.crawl(HOME)
    assert (record["outcome"], record["final_url"]) == ("ok", f"{SITE}/b")
    assert rig.asked == [HOME, f"{SITE}/b", HOME, f"{SITE}/b"]


async def test_a_link_to_a_hop_under_way_waits_and_goes_on_when_the_hop_is_put_off(
    web: Web, tmp_path: Path
) -> None:
    web.moved(f"{SITE}/old", "/new")
    web[f"{SITE}/new"] = ReadTimeout(f"{SITE}/new", "no answer")
    web.html(HOME, "", "/new")
    rig = CrawlRig(tmp_path, web, make_job(polite={"per_host": 2}))
    held = HeldFetcher(rig.fetcher)
    await rig.open(held)
    held.hold(f"{SITE}/new")
    hop = asyncio.create_task(rig.visit(f"{SITE}/old"))
    await held.asked(f"{SITE}/new")
    await rig.commit(await rig.visit(HOME))
    assert (await rig.look(f"{SITE}/new")).state is UrlState.UNKNOWN
    held.let_go(f"{SITE}/new")
    await rig.commit(await hop)
    assert (await rig.look(f"{SITE}/old")).state is UrlState.SCHEDULED
    assert (await rig.look(f"{SITE}/new")).state is UrlState.QUEUED
    await rig.close()


async def test_a_link_to_a_hop_under_way_is_settled_by_it(web: Web, tmp_path: Path) -> None:
    web.moved(f"{SITE}/old", "/new")
    web.html(f"{SITE}/new", "new")
    web.html(HOME, "", "/new")
    rig = CrawlRig(tmp_path, web, make_job(polite={"per_host": 2}))
    held = HeldFetcher(rig.fetcher)
    await rig.open(held)
    held.hold(f"{SITE}/new")
    hop = asyncio.create_task(rig.visit(f"{SITE}/old"))
    await held.asked(f"{SITE}/new")
    await rig.commit(await rig.visit(HOME))
    held.let_go(f"{SITE}/new")
    await rig.commit(await hop)
    assert await rig.claim() == []
    assert (await rig.look(f"{SITE}/new")).state is UrlState.DONE
    assert rig.asked.count(f"{SITE}/new") == 1
    await rig.close()


# Robots


async def test_what_robots_txt_forbids_is_recorded_as_refused_and_never_asked_for(
    web: Web, make_rig: MakeRig
) -> None:
    web.robots("User-agent: *\nDisallow: /closed")
    web.html(HOME, "", "/closed", "/open")
    web.html(f"{SITE}/open", "open")
    rig = await make_rig()
    found = by_url(await rig.crawl())
    refused = found[f"{SITE}/closed"]
    assert (refused["outcome"], refused["status"]) == ("refused", None)
    assert "robots.txt line 2" in refused["error"]
    assert "/closed" in refused["error"]
    assert rig.asked == [HOME, f"{SITE}/open"]
    assert rig.asked_all.count(f"{SITE}/robots.txt") == 1


async def test_the_rules_for_our_own_agent_are_obeyed(web: Web, make_rig: MakeRig) -> None:
    web.robots("User-agent: harbour\nDisallow: /\n\nUser-agent: *\nDisallow:")
    web.html(HOME)
    rig = await make_rig(http={"agent": "Harbour/2.0 (+https://harbour.test)"})
    [record] = await rig.crawl()
    assert record["outcome"] == "refused"


@pytest.mark.parametrize("status", [401, 404, 410])
async def test_a_site_without_robots_txt_is_open(web: Web, make_rig: MakeRig, status: int) -> None:
    web.status(f"{SITE}/robots.txt", status)
    web.html(HOME)
    rig = await make_rig()
    [record] = await rig.crawl()
    assert record["outcome"] == "ok"


async def test_robots_is_not_asked_for_where_the_job_says_so(web: Web, make_rig: MakeRig) -> None:
    web.robots("User-agent: *\nDisallow: /")
    web.html(HOME)
    rig = await make_rig(polite=NO_ROBOTS)
    [record] = await rig.crawl()
    assert record["outcome"] == "ok"
    assert rig.asked_all == [HOME]


async def test_a_site_whose_robots_txt_breaks_is_tried_again_and_then_refused(
    web: Web, make_rig: MakeRig
) -> None:
    web.status(f"{SITE}/robots.txt", 503)
    web.html(HOME)
    rig = await make_rig()
    [record] = await rig.crawl()
    assert record["outcome"] == "refused"
    assert "503" in record["error"]
    assert rig.asked_all == [f"{SITE}/robots.txt"] * ROBOTS_TRIES


async def test_a_site_whose_robots_txt_comes_back_is_fetched(web: Web, make_rig: MakeRig) -> None:
    web.status(f"{SITE}/robots.txt", 500)
    web.html(HOME)
    rig = await make_rig()
    visit = await rig.visit(HOME)
    assert visit.result is Result.RETRY
    assert visit.at_ms is not None
    assert visit.at_ms > rig.clock.now_ms()
    await rig.commit(visit)
    web.robots("User-agent: *\nDisallow: /elsewhere")
    [record] = await rig.crawl()
    assert record["outcome"] == "ok"


async def test_a_site_that_cannot_be_reached_for_its_robots_txt_fails(
    web: Web, make_rig: MakeRig
) -> None:
    del web[f"{SITE}/robots.txt"]
    web.html(HOME)
    rig = await make_rig()
    [record] = await rig.crawl()
    assert record["outcome"] == "failed"
    assert "robots.txt" in record["error"]
    assert rig.asked == []


async def test_the_delay_passes_between_robots_txt_and_the_first_page(
    web: Web, make_rig: MakeRig
) -> None:
    web.html(HOME)
    rig = await make_rig(polite={"delay": 2.0})
    visit = await rig.visit(HOME)
    assert visit.result is Result.DEFER
    await rig.commit(visit)
    assert rig.asked_all == [f"{SITE}/robots.txt"]
    assert await rig.claim() == []
    rig.clock.advance(1.999)
    assert await rig.claim() == []
    rig.clock.advance(0.001)
    [record] = await rig.crawl()
    assert record["outcome"] == "ok"
    assert rig.asked_all == [f"{SITE}/robots.txt", HOME]


async def test_the_crawl_delay_of_robots_txt_holds_between_pages(
    web: Web, make_rig: MakeRig
) -> None:
    web.robots("User-agent: *\nCrawl-delay: 5")
    web.html(HOME, "", "/a")
    web.html(f"{SITE}/a", "a")
    rig = await make_rig()
    await rig.commit(await rig.visit(HOME))
    rig.clock.advance(5)
    await rig.commit(await rig.visit())
    assert rig.asked == [HOME]
    rig.clock.advance(4.999)
    assert await rig.claim() == []
    rig.clock.advance(0.001)
    assert [lease.url for lease in await rig.claim()] == [f"{SITE}/a"]


async def test_rules_kept_by_an_earlier_run_are_used_without_asking(
    web: Web, make_rig: MakeRig
) -> None:
    web.robots("User-agent: *\nDisallow: /closed")
    web.html(HOME)
    rig = await make_rig()
    await rig.crawl()
    await rig.close()
    again = await make_rig()
    await again.crawl(f"{SITE}/closed")
    assert [record["outcome"] for record in again.sink.records] == ["refused"]
    assert again.asked_all == []


# Spacing of requests, robots.txt and hops included


GAP_S = 0.16
LEAST_GAP_S = GAP_S / 2
"""A process that was held up for a moment makes a request a little late, and the next in time."""


async def timed_crawl(tmp_path: Path, web: Web, **fields: Any) -> HeldFetcher:
    """Crawl by the machine's clock; answers who was asked when."""
    polite = {"delay": GAP_S, **fields.pop("polite", {})}
    rig = CrawlRig(tmp_path, web, make_job(polite=polite, **fields))
    timed = HeldFetcher(rig.fetcher)
    await rig.open(timed, SystemClock())
    await rig.run()
    await rig.close()
    return timed


async def test_a_redirect_within_a_host_waits_the_delay(tmp_path: Path, web: Web) -> None:
    web.moved(HOME, "/b")
    web.html(f"{SITE}/b", "", "c")
    web.html(f"{SITE}/c", "c")
    timed = await timed_crawl(tmp_path, web)
    assert len(timed.times["site.test"]) == 4
    assert timed.shortest_gap("site.test") >= LEAST_GAP_S


async def test_the_robots_txt_of_a_hops_host_and_its_page_keep_the_delay(
    tmp_path: Path, web: Web
) -> None:
    web.moved(HOME, f"{OTHER}/here")
    web.html(f"{OTHER}/here", "here")
    timed = await timed_crawl(tmp_path, web, scope="any")
    assert len(timed.times["other.test"]) == 2
    assert timed.shortest_gap("other.test") >= LEAST_GAP_S


async def test_the_robots_txt_of_the_other_scheme_keeps_the_delay(tmp_path: Path, web: Web) -> None:
    secure = "https://site.test/"
    web.robots("", "https://site.test")
    web.moved(HOME, secure)
    web.html(secure, "secure")
    timed = await timed_crawl(tmp_path, web)
    assert len(timed.times["site.test"]) == 4
    assert timed.shortest_gap("site.test") >= LEAST_GAP_S


async def test_the_robots_txt_of_a_hops_host_is_not_asked_beside_another_request(
    tmp_path: Path, web: Web
) -> None:
    secure = "https://other.test"
    web.robots("", secure)
    web.moved(HOME, f"{secure}/here")
    web.html(f"{secure}/here", "here")
    web.html(f"{OTHER}/slow", "slow")
    rig = CrawlRig(tmp_path, web, make_job(scope="any"))
    held = HeldFetcher(rig.fetcher)
    await rig.open(held)
    held.hold(f"{OTHER}/slow")
    slow = asyncio.create_task(rig.visit(f"{OTHER}/slow"))
    await held.asked(f"{OTHER}/slow")
    home = asyncio.create_task(rig.visit(HOME))
    for _ in range(50):
        await asyncio.sleep(0)
    beside = [url for url in rig.asked_all if url.startswith(secure)]
    held.let_go(f"{OTHER}/slow")
    await rig.commit(await slow)
    await rig.claim()
    visit = await home
    await rig.close()
    assert visit.record is not None
    assert visit.record.final_url == f"{secure}/here"
    assert beside == [], "asked while the host answered another request"


@pytest.mark.parametrize("delay", [5, 15])
@pytest.mark.parametrize("said_by", ["job", "robots.txt"])
async def test_redirects_to_a_host_with_a_long_delay_get_there_without_asking_again_and_again(
    tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch, delay: int, said_by: str
) -> None:
    for n in range(3):
        web.moved(f"{SITE}/old-{n}", f"{OTHER}/new-{n}")
        web.html(f"{OTHER}/new-{n}", f"new {n}")
    web.html(HOME, "", *(f"/old-{n}" for n in range(3)))
    web.html(f"{OTHER}/", "", *(f"/{n}" for n in range(5)))
    for n in range(5):
        web.html(f"{OTHER}/{n}", f"page {n}")
    if said_by == "robots.txt":
        web.robots(f"User-agent: *\nCrawl-delay: {delay}", OTHER)
    polite = {"delay": float(delay)} if said_by == "job" else {}
    rig = CrawlRig(tmp_path, web, make_job(scope="any", polite=polite))
    await rig.open()
    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        rig.clock.advance(seconds)
        await real_sleep(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    found = by_url(await rig.crawl(HOME, f"{OTHER}/", steps=300))
    await rig.close()
    assert {found[f"{SITE}/old-{n}"]["final_url"] for n in range(3)} == {
        f"{OTHER}/new-{n}" for n in range(3)
    }
    assert max(rig.asked.count(f"{SITE}/old-{n}") for n in range(3)) <= 3


# Failures


async def test_a_broken_page_is_given_up_after_the_tries_of_the_job(
    web: Web, make_rig: MakeRig
) -> None:
    web.status(HOME, 500)
    rig = await make_rig(http={"tries": 3})
    [record] = await rig.crawl()
    assert (record["outcome"], record["status"]) == ("http_error", 500)
    assert rig.asked == [HOME] * 3
    assert (await rig.look(HOME)).state is UrlState.DEAD


async def test_each_further_try_waits_longer(web: Web, make_rig: MakeRig) -> None:
    web.status(HOME, 500)
    rig = await make_rig(http={"tries": 4})
    await rig.offer(HOME)
    waits = []
    for _ in range(3):
        visit = await rig.visit()
        assert visit.at_ms is not None
        waits.append(visit.at_ms - rig.clock.now_ms())
        await rig.commit(visit)
        assert await rig.claim() == []
        rig.clock.advance(waits[-1] / 1000)
    assert waits == sorted(waits)
    assert waits[0] >= 1000
    assert waits[2] > 2 * waits[0]


async def test_a_page_that_recovers_is_fetched_and_counts_once(web: Web, make_rig: MakeRig) -> None:
    web.status(HOME, 502)
    rig = await make_rig()
    await rig.commit(await rig.visit(HOME))
    assert rig.sink.records == []
    web.html(HOME)
    [record] = await rig.crawl()
    assert (record["outcome"], record["visit"]) == ("ok", 1)
    assert (await rig.totals()).pages == 1


@pytest.mark.parametrize("kind", [ConnectError, ReadTimeout, DnsError])
async def test_a_passing_fault_is_tried_again(
    web: Web, make_rig: MakeRig, kind: type[ConnectError]
) -> None:
    web[HOME] = kind(HOME, "not this time")
    rig = await make_rig(http={"tries": 2})
    [record] = await rig.crawl()
    assert (record["outcome"], record["error"]) == ("failed", "not this time")
    assert rig.asked == [HOME] * 2
    assert (await rig.totals()).errors == {kind.__name__: 1}


@pytest.mark.parametrize("kind", [TlsError, BodyTooLarge])
async def test_a_lasting_fault_is_not_tried_again(
    web: Web, make_rig: MakeRig, kind: type[TlsError]
) -> None:
    web[HOME] = kind(HOME, "never")
    rig = await make_rig()
    [record] = await rig.crawl()
    assert record["outcome"] == "failed"
    assert rig.asked == [HOME]


async def test_a_host_that_asks_for_rest_is_left_alone_as_long_as_it_says(
    web: Web, make_rig: MakeRig
) -> None:
    web.status(HOME, 429, retry_after="120")
    web.html(f"{SITE}/other", "other")
    rig = await make_rig()
    await rig.commit(await rig.visit(HOME))
    await rig.offer(f"{SITE}/other")
    rig.clock.advance(119)
    assert await rig.claim() == []
    web.html(HOME)
    found = by_url(await rig.crawl())
    assert found[HOME]["outcome"] == found[f"{SITE}/other"]["outcome"] == "ok"


async def test_a_host_that_asks_for_weeks_is_given_up(web: Web, make_rig: MakeRig) -> None:
    web.status(HOME, 503, retry_after=str(30 * 86_400))
    rig = await make_rig()
    visit = await rig.visit(HOME)
    assert visit.result is Result.DEAD
    assert visit.record is not None
    assert visit.record.outcome == "http_error"
    assert visit.record.status == 503
    assert "Retry-After" in (visit.record.error or "")


async def test_a_url_that_was_lost_too_often_is_buried_unasked(web: Web, make_rig: MakeRig) -> None:
    web.html(HOME)
    rig = await make_rig()
    await rig.offer(HOME)
    for lost in range(MAX_LOST):
        [lease] = await rig.claim()
        assert lease.lost == lost
        rig.clock.advance(121)
    [record] = await rig.crawl()
    assert record["outcome"] == "failed"
    assert "given up" in record["error"]
    assert rig.asked == []
    assert (await rig.totals()).errors == {"poison": 1}


async def test_a_page_that_killed_its_reader_several_times_is_buried_and_others_go_on(
    web: Web, make_rig: MakeRig
) -> None:
    web.html(HOME)
    web.html(f"{SITE}/a", "a")
    rig = await make_rig()
    await rig.offer(HOME)
    for _ in range(MAX_LOST):
        rig.blackbox.note(await rig.lease())
        await rig.close()
        rig = await make_rig()
    found = by_url(await rig.crawl(HOME, f"{SITE}/a"))
    assert found[HOME]["outcome"] == "failed"
    assert found[f"{SITE}/a"]["outcome"] == "ok"
    assert rig.asked == [f"{SITE}/a"]


# What a page says of itself


@pytest.mark.parametrize(
    ("meta", "header", "outcome", "follows"),
    [
        ("noindex", None, "noindex", True),
        ("nofollow", None, "ok", False),
        ("none", None, "noindex", False),
        ("", "noindex", "noindex", True),
        ("", "nofollow", "ok", False),
        ("", "skitter: none", "noindex", False),
        ("", "otherbot: none", "ok", True),
        ("noindex", "nofollow", "noindex", False),
        ("index, follow", "all", "ok", True),
    ],
)
async def test_a_page_may_ask_not_to_be_kept_or_followed(
    web: Web, make_rig: MakeRig, meta: str, header: str | None, outcome: str, *, follows: bool
) -> None:
    headers = {"x_robots_tag": header} if header else {}
    web.html(HOME, f'<meta name=robots content="{meta}">', "/a", **headers)
    rig = await make_rig()
    visit = await rig.visit(HOME)
    assert visit.record is not None
    assert visit.record.outcome == outcome
    assert (visit.record.title is None) == (outcome == "noindex")
    assert [link.url for link in visit.links] == ([f"{SITE}/a"] if follows else [])
    assert visit.result is Result.DONE


async def test_directives_do_not_count_where_the_job_ignores_robots(
    web: Web, make_rig: MakeRig
) -> None:
    web.html(HOME, "<meta name=robots content=none>", "/a", x_robots_tag="none")
    rig = await make_rig(polite=NO_ROBOTS)
    visit = await rig.visit(HOME)
    assert visit.record is not None
    assert visit.record.outcome == "ok"
    assert visit.record.title == HOME
    assert [link.url for link in visit.links] == [f"{SITE}/a"]


async def test_equal_bodies_name_the_first_that_had_them(web: Web, make_rig: MakeRig) -> None:
    for name in ("a", "b", "c", "d"):
        web[f"{SITE}/{name}"] = page(f"{SITE}/{name}", "<p>the same</p>")
    web[f"{SITE}/d"] = page(f"{SITE}/d", "<p>another</p>")
    rig = await make_rig(polite={"per_host": 4})
    await rig.offer(f"{SITE}/a", f"{SITE}/b")
    await rig.commit(*[await rig.visitor.visit(lease) for lease in await rig.claim(2)])
    found = by_url(await rig.crawl(f"{SITE}/c", f"{SITE}/d"))
    assert found[f"{SITE}/a"]["duplicate_of"] is None
    assert found[f"{SITE}/b"]["duplicate_of"] == f"{SITE}/a"
    assert found[f"{SITE}/c"]["duplicate_of"] == f"{SITE}/a"
    assert found[f"{SITE}/d"]["duplicate_of"] is None
    assert {record["outcome"] for record in found.values()} == {"ok"}
    totals = await rig.totals()
    assert (totals.duplicates, totals.ok) == (2, 4)


async def test_empty_bodies_are_not_duplicates_of_each_other(web: Web, make_rig: MakeRig) -> None:
    for name in ("a", "b"):
        web[f"{SITE}/{name}"] = page(f"{SITE}/{name}", b"")
    rig = await make_rig()
    records = await rig.crawl(f"{SITE}/a", f"{SITE}/b")
    assert [record["duplicate_of"] for record in records] == [None, None]


# Faults of the program itself


async def test_a_fault_of_our_own_ends_the_visit_and_not_the_crawl(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.html(HOME, "", "/a")
    web.html(f"{SITE}/a", "poison")
    rig = CrawlRig(tmp_path, web, make_job())
    await rig.open(clock=SystemClock())

    def parse(body: bytes, *rest: Any, **named: Any) -> ParsedPage:
        if b"poison" in body:
            raise ValueError("the parser has a bug")
        return parse_page(body, *rest, **named)

    monkeypatch.setattr("skitter.crawl.visit.parse_page", parse)
    found = by_url(await rig.run())
    await rig.close()
    assert found[HOME]["outcome"] == "ok"
    assert found[f"{SITE}/a"]["outcome"] == "failed"
    assert "the parser has a bug" in found[f"{SITE}/a"]["error"]


async def test_a_redirect_that_ends_by_a_fault_of_our_own_lets_its_target_go(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.moved(f"{SITE}/old", "/new")
    web.html(f"{SITE}/new", "poison")
    web.html(HOME, "", "/new")
    rig = CrawlRig(tmp_path, web, make_job(polite={"robots": False}))
    await rig.open(clock=SystemClock())
    faults = [ValueError("the parser has a bug")]

    def parse(*arguments: Any, **named: Any) -> ParsedPage:
        if faults:
            raise faults.pop()
        return parse_page(*arguments, **named)

    monkeypatch.setattr("skitter.crawl.visit.parse_page", parse)
    found = by_url(await rig.run(f"{SITE}/old", HOME, concurrency=1))
    await rig.close()
    assert found[f"{SITE}/old"]["outcome"] == "failed"
    # Either the redirect's record accounts for the target, or the link to it is followed.
    assert f"{SITE}/new" in {record["final_url"] for record in found.values()}


async def test_a_store_that_cannot_be_read_ends_the_crawl_and_buries_no_page(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.moved(HOME, "/new")
    web.html(f"{SITE}/new", "new")
    rig = CrawlRig(tmp_path, web, make_job(polite={"robots": False}))
    await rig.open(clock=SystemClock())

    async def seen(*_: object) -> list[bool]:
        raise StoreUnavailable("the frontier's disk cannot be read: Input/output error")

    monkeypatch.setattr(rig.frontier, "seen", seen)
    with pytest.raises(ExceptionGroup) as caught:
        await rig.run()
    assert caught.group_contains(StoreUnavailable)
    assert rig.sink.records == []
    assert (await rig.look(HOME)).state is not UrlState.DEAD
    await rig.close()


async def test_a_duplicate_names_the_spelling_its_page_is_recorded_under(tmp_path: Path) -> None:
    web = Web()
    recorded = f"{SITE}/page?utm_source=mail"
    web.html(recorded, "page")
    web.moved(f"{SITE}/old", "/page")
    rig = CrawlRig(tmp_path, web, make_job(polite={"robots": False}))
    await rig.open()
    await rig.crawl(recorded)
    records = by_url(await rig.crawl(f"{SITE}/old"))
    await rig.close()
    assert records[f"{SITE}/old"]["duplicate_of"] == recorded


async def test_doubtful_pages_beyond_a_few_are_put_off_and_keep_no_worker_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skitter.crawl.visit.MOST_WAITING", 1)
    web = Web()
    for n in (1, 2):
        web.html(f"{SITE}/{n}", f"page {n}")
    rig = CrawlRig(tmp_path, web, make_job(polite={"robots": False, "per_host": 2}))
    held = HeldFetcher(rig.fetcher)
    await rig.open(held)
    links = [
        rig.finder.make_link(rig.normal(f"{SITE}/{n}"), 1, HOME, DOUBTFUL_RANK) for n in (1, 2)
    ]
    await rig.frontier.offer(links)
    held.hold(f"{SITE}/1")
    one, two = await rig.claim(2)
    first = asyncio.create_task(rig.visitor.visit(one))
    await held.asked(f"{SITE}/1")
    put_off = await rig.visitor.visit(two)
    assert (put_off.result, put_off.record) == (Result.DEFER, None)
    held.let_go(f"{SITE}/1")
    assert (await first).record is not None
    await rig.close()
