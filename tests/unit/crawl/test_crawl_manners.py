"""How hosts are treated: what is asked for, remembered and kept."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from crawl_rig import HOME, SITE, CrawlRig, Web, make_job

from skitter.crawl import manners
from skitter.crawl.manners import ROBOTS_HOPS
from skitter.errors import (
    AddressRefused,
    BodyTooLarge,
    ConnectError,
    DnsError,
    ReadTimeout,
    TlsError,
)
from skitter.fetch.base import Request, Response
from skitter.testing.fake_fetcher import FakeFetcher, page
from skitter.types import HostKey

HOST = HostKey("site.test")
ROBOTS = f"{SITE}/robots.txt"


@pytest.fixture
def web() -> Web:
    return Web()


@pytest.fixture
async def rig(tmp_path: Path, web: Web) -> AsyncIterator[CrawlRig]:
    made = CrawlRig(tmp_path, web, make_job(polite={"delay": 1.0, "adaptive": True}))
    await made.open()
    yield made
    await made.close()


async def test_robots_txt_is_asked_once_and_then_at_hand(rig: CrawlRig, web: Web) -> None:
    web.robots("User-agent: *\nDisallow: /x\nCrawl-delay: 3")
    assert rig.manners.robots_at_hand(HOME) is None
    assert not (await rig.manners.ask_robots(f"{SITE}/x")).decide(f"{SITE}/x").allowed
    assert rig.manners.robots_at_hand(f"{SITE}/any") is not None
    assert rig.manners.robots_at_hand("https://site.test/") is None
    assert rig.manners.crawl_delay(HOME) == 3
    assert rig.asked_all == [ROBOTS]


async def test_what_was_asked_is_to_be_kept_once(rig: CrawlRig, web: Web) -> None:
    web.robots("")
    await rig.manners.ask_robots(HOME)
    assert list(rig.manners.take_marks()) == [f"robots:{SITE}"]
    assert rig.manners.take_marks() == {}


async def test_kept_rules_are_those_of_the_same_agent_only(
    rig: CrawlRig, web: Web, tmp_path: Path
) -> None:
    web.robots("User-agent: *\nDisallow: /")
    await rig.manners.ask_robots(HOME)
    await rig.frontier.ack([], marks=rig.manners.take_marks())
    await rig.close()
    other = CrawlRig(tmp_path, web, make_job(http={"agent": "Harbour/1.0"}))
    await other.open()
    assert await other.manners.robots_stored(HOME) is None
    await other.close()


async def test_redirects_of_robots_txt_are_followed_but_not_for_ever(
    rig: CrawlRig, web: Web
) -> None:
    web.moved(ROBOTS, "/robots-1")
    for n in range(1, ROBOTS_HOPS):
        web.moved(f"{SITE}/robots-{n}", f"/robots-{n + 1}")
    web[f"{SITE}/robots-{ROBOTS_HOPS}"] = page(SITE, "User-agent: *\nDisallow: /")
    robots = await rig.manners.ask_robots(HOME)
    assert not robots.decide(HOME).allowed
    assert len(rig.asked_all) == ROBOTS_HOPS + 1


async def test_robots_txt_that_redirects_for_ever_is_given_up(rig: CrawlRig, web: Web) -> None:
    web.moved(ROBOTS, "/robots.txt")
    assert (await rig.manners.ask_robots(HOME)).decide(HOME).allowed
    assert len(rig.asked_all) == ROBOTS_HOPS + 1


class CappedFetcher:
    """Refuses bodies beyond a small cap, as ``--max-bytes`` asks, unless they may be cut."""

    def __init__(self, inner: FakeFetcher, cap: int) -> None:
        self._inner = inner
        self._cap = cap

    async def fetch(self, request: Request) -> Response:
        response = await self._inner.fetch(request)
        if len(response.body) > max(self._cap, request.cut_bytes):
            raise BodyTooLarge(request.url, f"more than {self._cap} bytes")
        return response

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.parametrize("size", [2_000, 3_000_000])
async def test_a_long_robots_txt_is_read_as_far_as_needed_whatever_the_cap_on_pages(
    tmp_path: Path, web: Web, size: int
) -> None:
    web.robots("User-agent: *\nDisallow: /x\n" + "# filler\n" * (size // 9))
    rig = CrawlRig(tmp_path, web, make_job(http={"max_bytes": 1000}))
    await rig.open(CappedFetcher(rig.fetcher, 1000))
    robots = await rig.manners.ask_robots(HOME)
    await rig.close()
    assert not robots.unavailable
    assert [robots.decide(f"{SITE}{path}").allowed for path in ("/", "/x")] == [True, False]


async def test_a_job_that_ignores_robots_has_no_crawl_delay(tmp_path: Path, web: Web) -> None:
    web.robots("User-agent: *\nCrawl-delay: 9")
    rig = CrawlRig(tmp_path, web, make_job(polite={"robots": False}))
    await rig.open()
    await rig.manners.ask_robots(HOME)
    assert rig.manners.crawl_delay(HOME) is None
    assert not rig.manners.obeys_robots
    await rig.close()


async def test_a_site_at_a_refused_address_says_so_every_time(rig: CrawlRig, web: Web) -> None:
    web[ROBOTS] = AddressRefused(ROBOTS, "10.0.0.1 is a private address")
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
        await rig.manners.ask_robots(HOME)
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
        rig.manners.robots_at_hand(f"{SITE}/other")
    assert rig.manners.take_marks() == {}


def test_each_host_has_a_pace_of_its_own(rig: CrawlRig) -> None:
    assert rig.manners.pace(HOST) is rig.manners.pace(HOST)
    assert rig.manners.pace(HOST) is not rig.manners.pace(HostKey("other.test"))


def test_an_answer_waits_the_delay_and_a_slow_one_longer(rig: CrawlRig) -> None:
    now = rig.clock.now_ms()
    quick = rig.manners.answered(HOST, page(HOME, "x"))
    assert (quick.next_allowed_ms, quick.delay_ms) == (now + 1000, 1000)
    slow = msgspec.structs.replace(page(HOME, "x"), elapsed_ms=8000)
    assert rig.manners.answered(HOST, slow).delay_ms > 1000


def test_a_fault_of_one_url_teaches_nothing_about_its_host(rig: CrawlRig) -> None:
    verdict = rig.manners.faulted(HOST, TlsError(HOME, "why"))
    assert verdict.delay_ms == 1000
    assert rig.manners.pace(HOST).learned_ms == 0


@pytest.mark.parametrize("kind", [ConnectError, ReadTimeout, DnsError])
def test_a_fault_of_the_host_slows_it_down(rig: CrawlRig, kind: type[ConnectError]) -> None:
    assert rig.manners.faulted(HOST, kind(HOME, "why")).delay_ms > 1000


def test_a_host_that_keeps_failing_rests_and_one_answer_revives_it(rig: CrawlRig) -> None:
    now = rig.clock.now_ms()
    verdicts = [rig.manners.faulted(HOST, ConnectError(HOME, "refused")) for _ in range(5)]
    assert verdicts[3].next_allowed_ms < now + 60_000
    assert verdicts[4].next_allowed_ms >= now + 300_000
    assert rig.manners.dead.is_dead(HOST) is not None
    rig.manners.answered(HOST, page(HOME, "x"))
    assert rig.manners.dead.is_dead(HOST) is None


def test_a_url_that_times_out_does_not_make_its_host_dead(rig: CrawlRig) -> None:
    for _ in range(20):
        rig.manners.faulted(HOST, ReadTimeout(HOME, "slow"))
    assert rig.manners.dead.is_dead(HOST) is None


def test_paces_are_bounded(rig: CrawlRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manners, "PACES_KEPT", 3)
    first = rig.manners.pace(HostKey("0.test"))
    for n in range(1, 5):
        rig.manners.pace(HostKey(f"{n}.test"))
    assert rig.manners.pace(HostKey("0.test")) is not first
