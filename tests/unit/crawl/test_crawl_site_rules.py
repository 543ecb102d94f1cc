"""What an operator sets for sites, as the visits of a job go by it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, Web, by_url, make_job

from skitter.crawl.site_rules import SiteRates, SiteRules
from skitter.crawl.visit import UNGATED_MS, Visitor
from skitter.frontier.model import Freed, Result, UrlState
from skitter.job.rate import Rate
from skitter.politeness.decision import Code
from skitter.politeness.settings.live import LiveSettings
from skitter.politeness.settings.table import Row, Table
from skitter.politeness.settings.values import Value, parse_changes
from skitter.politeness.windows import NO_RATES, Rates
from skitter.types import HostKey

OTHER = "http://other.test"
HOST, OTHER_HOST = HostKey("site.test"), HostKey("other.test")


class SetRig(CrawlRig):
    """A crawl whose settings a test changes."""

    live: LiveSettings

    async def begin(self) -> None:
        await self.open()
        self.live = LiveSettings()
        sites = SiteRules(self.job, self.live)
        self.judge.sites = self.manners.sites = sites
        self.visitor = Visitor(self.equipment, self.freed.append)

    def set(self, **rows: str) -> None:
        """Let nothing but this be set, by patterns whose dots are underscores."""
        self.live.use(
            Table(_row(pattern.replace("_", "."), words) for pattern, words in rows.items())
        )


def _row(pattern: str, words: str) -> Row:
    values: Mapping[str, Value] = parse_changes(words.split(" "))
    return Row(pattern=pattern, values=values)


MakeRig = Callable[..., Awaitable[SetRig]]


@pytest.fixture
def web() -> Web:
    found = Web()
    found.robots("")
    found.robots("", OTHER)
    return found


@pytest.fixture
async def make_rig(tmp_path: Path, web: Web) -> AsyncIterator[MakeRig]:
    rigs: list[SetRig] = []

    async def make(**fields: Any) -> SetRig:
        rig = SetRig(tmp_path, web, make_job(**fields))
        rigs.append(rig)
        await rig.begin()
        return rig

    yield make
    for rig in rigs:
        await rig.close()


# The blacklist


async def test_a_queued_url_of_a_blacklisted_site_ends_unasked(make_rig: MakeRig) -> None:
    rig = await make_rig()
    await rig.offer(HOME)
    rig.set(site_test="blacklist=true")
    visit = await rig.visit()
    assert (visit.result, visit.reason) == (Result.DEAD, "blacklist")
    assert visit.record is not None
    assert visit.record.outcome == "refused"
    assert visit.record.error == "site.test is blacklisted by the setting for site.test"
    assert rig.asked_all == []
    assert rig.freed == [Freed(visit.lease.id, HOST, drains=True, unasked=True)]


async def test_a_blacklisted_site_is_drained_without_its_delay(make_rig: MakeRig) -> None:
    rig = await make_rig(polite={"delay": 60.0})
    await rig.offer(*(f"{SITE}/{n}" for n in range(50)))
    rig.set(site_test="blacklist=true")
    began_ms = rig.clock.now_ms()
    records = await rig.crawl(HOME)
    assert {record["outcome"] for record in records} == {"refused"}
    assert len(records) == 51
    assert rig.clock.now_ms() == began_ms


async def test_links_to_a_blacklisted_site_are_not_queued_but_counted(
    make_rig: MakeRig, web: Web
) -> None:
    web.html(HOME, "", f"{OTHER}/a", f"{OTHER}/b", "/c")
    web.html(f"{SITE}/c")
    rig = await make_rig(scope="any")
    rig.set(_other_test="blacklist=true")
    assert by_url(await rig.crawl()).keys() == {HOME, f"{SITE}/c"}
    assert rig.finder.cut[Code.BLACKLIST] == 2
    assert (await rig.look(f"{OTHER}/a")).state is UrlState.UNKNOWN


async def test_links_are_followed_again_when_a_site_is_taken_off_the_list(
    make_rig: MakeRig, web: Web
) -> None:
    web.html(HOME, "", f"{OTHER}/a", f"{SITE}/next")
    web.html(f"{SITE}/next", "", f"{OTHER}/a")
    web.html(f"{OTHER}/a")
    rig = await make_rig(scope="any")
    rig.set(other_test="blacklist=true")
    await rig.commit(await rig.visit(HOME))
    rig.set()
    # A change is news, and news make a process forget what it has met.
    rig.finder.forget()
    assert f"{OTHER}/a" in by_url(await rig.crawl())


async def test_a_redirect_does_not_lead_to_a_blacklisted_site(make_rig: MakeRig, web: Web) -> None:
    web.moved(HOME, f"{OTHER}/a")
    rig = await make_rig(scope="any")
    rig.set(other_test="blacklist=true")
    visit = await rig.visit(HOME)
    assert visit.record is not None
    assert (visit.record.outcome, visit.reason) == ("refused", "blacklist")
    assert rig.asked == [HOME]


async def test_robots_txt_is_not_looked_for_on_a_blacklisted_site(
    make_rig: MakeRig, web: Web
) -> None:
    web.moved(f"{SITE}/robots.txt", f"{OTHER}/robots.txt")
    rig = await make_rig()
    rig.set(other_test="blacklist=true")
    await rig.visit(HOME)
    assert rig.asked_all == [f"{SITE}/robots.txt"]


async def test_sitemaps_of_a_blacklisted_site_are_not_read(make_rig: MakeRig, web: Web) -> None:
    web.robots(f"Sitemap: {OTHER}/map.xml\nSitemap: {SITE}/map.xml")
    web.html(HOME)
    rig = await make_rig(sitemaps="auto")
    rig.set(other_test="blacklist=true")
    await rig.crawl()
    assert f"{SITE}/map.xml" in rig.asked
    assert f"{OTHER}/map.xml" not in rig.asked
    assert rig.finder.cut[Code.BLACKLIST] == 1


async def test_a_url_that_came_without_a_gate_is_not_asked_for(make_rig: MakeRig, web: Web) -> None:
    web.html(HOME)
    web.html(f"{SITE}/a")
    rig = await make_rig()
    await rig.offer(HOME, f"{SITE}/a")
    rig.set(site_test="blacklist=true")
    await rig.commit(await rig.visit())
    rig.set()
    lease = await rig.lease()
    assert not lease.gated
    visit = await rig.visitor.visit(lease)
    assert (visit.result, visit.at_ms) == (Result.DEFER, rig.clock.now_ms() + UNGATED_MS)
    assert rig.asked_all == []


# Depth


async def test_links_beyond_the_depth_that_is_set_are_not_queued(
    make_rig: MakeRig, web: Web
) -> None:
    web.html(HOME, "", "/a", f"{OTHER}/x")
    web.html(f"{SITE}/a", "", "/b", f"{OTHER}/y")
    web.html(f"{OTHER}/x")
    web.html(f"{OTHER}/y")
    rig = await make_rig(scope="any")
    rig.set(site_test="depth=1")
    found = by_url(await rig.crawl())
    assert found.keys() == {HOME, f"{SITE}/a", f"{OTHER}/x", f"{OTHER}/y"}
    assert rig.finder.cut[Code.DEPTH] == 1


async def test_a_url_that_was_queued_deeper_ends_refused_and_unasked(make_rig: MakeRig) -> None:
    rig = await make_rig()
    await rig.offer_links(3, f"{SITE}/deep")
    rig.set(site_test="depth=2")
    visit = await rig.visit()
    assert visit.record is not None
    assert (visit.record.outcome, visit.reason) == ("refused", "depth")
    assert visit.record.error == "it is 3 links away, and the depth set for site.test is 2"
    assert rig.freed == [Freed(visit.lease.id, HOST, unasked=True)]


async def test_no_depth_that_is_set_lets_a_job_go_deeper_than_it_wants(
    make_rig: MakeRig, web: Web
) -> None:
    web.html(HOME, "", "/a")
    rig = await make_rig(depth=0)
    rig.set(site_test="depth=5")
    assert by_url(await rig.crawl()).keys() == {HOME}


# Types and names


async def test_what_is_taken_of_a_site_and_by_what_name_it_is_asked(
    make_rig: MakeRig, web: Web
) -> None:
    web.robots("User-agent: gentle\nDisallow: /no\n\nUser-agent: *\nDisallow: /")
    web.html(f"{SITE}/yes")
    web.html(f"{SITE}/no")
    rig = await make_rig(http={"headers": {"X-Own": "1"}})
    rig.set(site_test="agent=Gentle/2 types=text/html,application/pdf")
    found = by_url(await rig.crawl(f"{SITE}/yes", f"{SITE}/no"))
    assert found[f"{SITE}/yes"]["outcome"] == "ok"
    assert found[f"{SITE}/no"]["outcome"] == "refused"
    robots, page = rig.fetcher.requests
    assert robots.headers["User-Agent"] == "Gentle/2"
    assert page.headers == {"X-Own": "1", "User-Agent": "Gentle/2"}
    assert page.accept_types == ("text/html", "application/pdf")


async def test_without_settings_a_job_is_as_it_says(make_rig: MakeRig, web: Web) -> None:
    web.html(HOME)
    rig = await make_rig()
    await rig.crawl()
    assert [dict(request.headers) for request in rig.fetcher.requests] == [{}, {}]
    assert rig.fetcher.requests[1].accept_types == rig.job.http.types


# Pace


async def test_the_delay_that_is_set_counts_in_place_of_the_jobs(make_rig: MakeRig) -> None:
    rig = await make_rig(polite={"delay": 2.0})
    rig.set(site_test="delay=7 per_host=3")
    assert rig.manners.pace(HOST).effective_delay_ms() == 7_000
    assert rig.manners.pace(OTHER_HOST).effective_delay_ms() == 2_000
    assert (rig.manners.per_host(HOST), rig.manners.per_host(OTHER_HOST)) == (3, 1)
    rig.set(site_test="delay=0")
    assert rig.manners.pace(HOST).effective_delay_ms() == 0
    rig.set()
    assert rig.manners.pace(HOST).effective_delay_ms() == 2_000


async def test_no_delay_that_is_set_goes_below_what_robots_txt_asks_for(
    make_rig: MakeRig, web: Web
) -> None:
    web.robots("User-agent: *\nCrawl-delay: 4")
    web.html(HOME)
    rig = await make_rig()
    rig.set(site_test="delay=9")
    await rig.manners.ask_robots(HOME)
    await rig.visit(HOME)
    [freed] = rig.freed
    assert (freed.delay_ms, freed.floor_ms) == (9_000, 4_000)


async def test_what_was_told_before_a_change_was_heard_of_is_told_anew(
    make_rig: MakeRig, web: Web
) -> None:
    web.html(HOME)
    web.html(f"{OTHER}/")
    rig = await make_rig(scope="any", polite={"robots": False})
    rig.set(site_test="delay=100")
    await rig.visit(HOME)
    await rig.visit(f"{OTHER}/")
    rig.set(site_test="delay=1")
    assert list(rig.manners.retuned()) == [Freed(0, HOST, 1_000, retuned=True)]
    assert list(rig.manners.retuned()) == []


async def test_an_answer_tells_how_many_requests_are_set_and_a_change_is_told_anew(
    make_rig: MakeRig, web: Web
) -> None:
    web.html(HOME)
    web.html(f"{OTHER}/")
    rig = await make_rig(scope="any", polite={"robots": False, "per_host": 2})
    rig.set(site_test="per_host=5")
    told = []
    for url in (HOME, f"{OTHER}/"):
        await rig.visit(url)
        told += [freed.per_host for freed in rig.freed]
    assert told == [5, None]
    rig.set()
    assert list(rig.manners.retuned()) == [Freed(0, HOST, per_host=2)], "the job's"
    assert list(rig.manners.retuned()) == []


async def test_what_was_told_long_ago_is_left_to_who_made_the_change(
    make_rig: MakeRig, web: Web
) -> None:
    web.html(HOME)
    web.html(f"{OTHER}/")
    rig = await make_rig(scope="any", polite={"robots": False})
    rig.set(site_test="delay=100")
    await rig.visit(HOME)
    rig.clock.advance(60)
    await rig.visit(f"{OTHER}/")
    rig.set(site_test="delay=1")
    assert list(rig.manners.retuned()) == []


# Rates


def test_rates_are_what_is_set_else_the_jobs_and_none_for_a_blacklisted_site() -> None:
    job = make_job(polite={"rate": "9/9s"})
    rows = [
        _row("site.test", "rate=20/60s rate_ip=10/60s"),
        _row("bad.test", "rate=1/60s blacklist=on"),
    ]
    sites = SiteRules(job, LiveSettings(Table(rows)))
    rates = SiteRates(job, sites)
    assert rates(HOST) == Rates(Rate(20, 60_000), Rate(10, 60_000))
    assert rates(OTHER_HOST) == Rates(Rate(9, 9_000), None)
    assert rates(HostKey("bad.test")) == NO_RATES


# How many at once


async def test_an_engine_has_as_much_under_way_as_is_set(make_rig: MakeRig, web: Web) -> None:
    for n in range(30):
        web.html(f"{SITE}/{n}")
    rig = await make_rig(polite={"robots": False, "per_host": 50})
    rig.live.use(Table([_row("*", "concurrency=9")]))
    await rig.offer(*(f"{SITE}/{n}" for n in range(30)))
    engine = rig.engine(concurrency=2)
    await engine.run()
    assert engine._most == 9
    assert len(rig.sink.records) == 30
