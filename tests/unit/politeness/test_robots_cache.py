import asyncio
from collections.abc import Callable

import pytest

from skitter.errors import ConnectError
from skitter.politeness.decision import ALLOWED, Code
from skitter.politeness.robots_cache import RobotsCache, RobotsOptions
from skitter.politeness.robots_entry import AgentRobots
from skitter.politeness.robots_reply import RobotsReply
from skitter.testing.virtual_clock import VirtualClock

ORIGIN = "https://example.com"
AGENT = "Skitter/0.1 (+https://example.org)"
RULES = b"User-agent: *\nDisallow: /x\nCrawl-delay: 3\nSitemap: https://example.com/s.xml\n"
DAY_S = 24 * 3600


class Site:
    """Answers for robots.txt as told, and counts the questions."""

    def __init__(self, *replies: RobotsReply) -> None:
        self.replies = list(replies) or [RobotsReply(status=200, body=RULES)]
        self.asked: list[str] = []
        self.gate: asyncio.Event | None = None

    async def __call__(self, url: str) -> RobotsReply:
        self.asked.append(url)
        if self.gate is not None:
            await self.gate.wait()
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


MakeCache = Callable[..., RobotsCache]


@pytest.fixture
def make(clock: VirtualClock) -> MakeCache:
    def build(site: Site, **options: float) -> RobotsCache:
        return RobotsCache(site, AGENT, clock, RobotsOptions(**options))  # type: ignore[arg-type]

    return build


async def test_an_answer_is_asked_for_once_and_kept_for_a_day(
    make: MakeCache, clock: VirtualClock
) -> None:
    site = Site()
    cache = make(site)
    assert cache.peek(ORIGIN) is None
    entry = await cache.get(ORIGIN)
    clock.advance(DAY_S - 1)
    assert cache.peek(ORIGIN) is entry
    assert await cache.get(ORIGIN) is entry
    assert site.asked == [f"{ORIGIN}/robots.txt"]
    clock.advance(1)
    assert cache.peek(ORIGIN) is None
    await cache.get(ORIGIN)
    assert len(site.asked) == 2


async def test_an_entry_decides_and_tells_what_the_file_says(
    make: MakeCache, clock: VirtualClock
) -> None:
    entry = await make(Site()).get(ORIGIN)
    assert entry.fetched_at_ms == clock.now_ms()
    assert entry.crawl_delay == 3
    assert entry.sitemaps == ("https://example.com/s.xml",)
    assert not entry.unavailable
    assert entry.decide(f"{ORIGIN}/x/y").line == 2
    refusal = entry.judge(f"{ORIGIN}/x/y")
    assert (refusal.allowed, refusal.code, refusal.retry_at_ms) == (False, Code.ROBOTS, None)
    assert refusal.sentence == 'robots.txt line 2 forbids it to "*": Disallow: /x'
    assert entry.judge(f"{ORIGIN}/z") is ALLOWED


async def test_origins_are_kept_apart(make: MakeCache) -> None:
    site = Site(RobotsReply(status=200, body=RULES), RobotsReply(status=404))
    cache = make(site)
    secure, plain = await cache.get(ORIGIN), await cache.get("http://example.com")
    assert not secure.decide(f"{ORIGIN}/x").allowed
    assert plain.decide("http://example.com/x").allowed


@pytest.mark.parametrize("status", [302, 401, 403, 404, 410])
async def test_a_site_without_a_file_is_free(make: MakeCache, status: int) -> None:
    body = b"User-agent: *\nDisallow: /"
    entry = await make(Site(RobotsReply(status=status, body=body))).get(ORIGIN)
    assert entry.decide(f"{ORIGIN}/x").allowed
    assert not entry.unavailable


@pytest.mark.parametrize("status", [None, 429, 500, 503])
async def test_a_site_that_cannot_be_asked_is_left_alone_for_a_while(
    make: MakeCache, clock: VirtualClock, status: int | None
) -> None:
    site = Site(RobotsReply(status=status, error="down"), RobotsReply(status=200, body=RULES))
    cache = make(site)
    entry = await cache.get(ORIGIN)
    refusal = entry.judge(f"{ORIGIN}/z")
    assert entry.unavailable
    assert refusal.code is Code.ROBOTS_UNAVAILABLE
    assert refusal.retry_at_ms == clock.now_ms() + 60_000
    assert "down" in refusal.sentence
    assert entry.decide(f"{ORIGIN}/robots.txt").allowed
    clock.advance(60)
    assert (await cache.get(ORIGIN)).judge(f"{ORIGIN}/z") is ALLOWED


async def test_a_site_that_stays_away_is_asked_less_and_less_often(
    make: MakeCache, clock: VirtualClock
) -> None:
    cache = make(Site(RobotsReply(status=500)))
    waits = []
    for _ in range(9):
        entry = await cache.get(ORIGIN)
        waits.append((entry.expires_at_ms - clock.now_ms()) // 1000)
        clock.advance(waits[-1])
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


async def test_old_rules_stay_in_force_while_their_site_cannot_be_asked(
    make: MakeCache, clock: VirtualClock
) -> None:
    site = Site(RobotsReply(status=200, body=RULES), RobotsReply(status=503))
    cache = make(site, stale_s=3 * DAY_S)
    await cache.get(ORIGIN)
    clock.advance(DAY_S)
    entry = await cache.get(ORIGIN)
    assert not entry.unavailable
    assert entry.decide(f"{ORIGIN}/z").allowed
    assert not entry.decide(f"{ORIGIN}/x").allowed
    assert entry.expires_at_ms == clock.now_ms() + 60_000
    clock.advance(2 * DAY_S)
    assert (await cache.get(ORIGIN)).unavailable


async def test_a_fetch_error_counts_as_unreachable(clock: VirtualClock) -> None:
    async def broken(url: str) -> RobotsReply:
        raise ConnectError(url, "connection refused \udcff")

    cache = RobotsCache(broken, AGENT, clock)
    entry = await cache.get(ORIGIN)
    assert entry.unavailable
    assert "connection refused" in entry.error
    assert cache.export(ORIGIN) is not None


async def test_callers_at_the_same_time_share_one_request(make: MakeCache) -> None:
    site = Site()
    site.gate = asyncio.Event()
    cache = make(site, ttl_s=0)
    waiting = [asyncio.create_task(cache.get(ORIGIN)) for _ in range(10)]
    await asyncio.sleep(0)
    site.gate.set()
    entries = await asyncio.gather(*waiting)
    assert len(site.asked) == 1
    assert all(entry is entries[0] for entry in entries)


async def test_when_the_caller_who_asks_is_cancelled_another_one_asks(make: MakeCache) -> None:
    site = Site()
    site.gate = asyncio.Event()
    cache = make(site)
    first, second, third = [asyncio.create_task(cache.get(ORIGIN)) for _ in range(3)]
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    site.gate.set()
    assert await second is await third
    assert len(site.asked) == 2


async def test_a_waiting_caller_can_be_cancelled_without_harm(make: MakeCache) -> None:
    site = Site()
    site.gate = asyncio.Event()
    cache = make(site)
    first, second = [asyncio.create_task(cache.get(ORIGIN)) for _ in range(2)]
    await asyncio.sleep(0)
    second.cancel()
    site.gate.set()
    assert (await first).status == 200
    with pytest.raises(asyncio.CancelledError):
        await second


async def test_an_unexpected_error_reaches_the_caller_and_blocks_nobody(
    clock: VirtualClock,
) -> None:
    answers: list[RobotsReply | ValueError] = [ValueError("bug"), RobotsReply(status=404)]

    async def fetch(_: str) -> RobotsReply:
        answer = answers.pop(0)
        if isinstance(answer, ValueError):
            raise answer
        return answer

    cache = RobotsCache(fetch, AGENT, clock)
    with pytest.raises(ValueError, match="bug"):
        await cache.get(ORIGIN)
    assert (await cache.get(ORIGIN)).status == 404


async def test_the_least_used_origins_make_room_and_are_counted(make: MakeCache) -> None:
    cache = make(Site(), max_origins=2)
    await cache.get("https://a.example")
    await cache.get("https://b.example")
    cache.peek("https://a.example")
    await cache.get("https://c.example")
    assert (len(cache), cache.evicted) == (2, 1)
    assert cache.peek("https://b.example") is None
    assert cache.peek("https://a.example") is not None


async def test_huge_files_do_not_add_up(make: MakeCache) -> None:
    body = b"User-agent: *\n" + b"".join(b"Disallow: /%d\n" % n for n in range(60))
    cache = make(Site(RobotsReply(status=200, body=body)), max_rules=150)
    for name in "abcd":
        await cache.get(f"https://{name}.example")
    assert (len(cache), cache.evicted) == (2, 2)
    assert cache.peek("https://d.example") is not None


async def test_one_file_larger_than_the_bound_is_still_kept(make: MakeCache) -> None:
    cache = make(Site(), max_rules=1)
    entry = await cache.get(ORIGIN)
    assert cache.peek(ORIGIN) is entry


async def test_an_exported_entry_lives_on_in_another_cache(make: MakeCache) -> None:
    first = make(Site())
    entry = await first.get(ORIGIN)
    data = first.export(ORIGIN)
    assert data is not None
    site = Site()
    second = make(site)
    assert second.load(ORIGIN, data)
    loaded = second.peek(ORIGIN)
    assert loaded is not None
    for url in (f"{ORIGIN}/x", f"{ORIGIN}/y"):
        assert loaded.decide(url) == entry.decide(url)
    assert (loaded.crawl_delay, loaded.sitemaps) == (entry.crawl_delay, entry.sitemaps)
    assert loaded.expires_at_ms == entry.expires_at_ms
    assert site.asked == []


async def test_an_unavailable_site_stays_so_in_another_cache(make: MakeCache) -> None:
    first = make(Site(RobotsReply(status=None, error="down")))
    await first.get(ORIGIN)
    data = first.export(ORIGIN)
    assert data is not None
    second = make(Site())
    assert second.load(ORIGIN, data)
    loaded = second.peek(ORIGIN)
    assert loaded is not None
    assert (loaded.unavailable, loaded.error, loaded.failures) == (True, "down", 1)


async def test_an_expired_entry_is_loaded_only_as_something_to_fall_back_on(
    make: MakeCache, clock: VirtualClock
) -> None:
    first = make(Site())
    await first.get(ORIGIN)
    data = first.export(ORIGIN)
    assert data is not None
    clock.advance(2 * DAY_S)
    second = make(Site(RobotsReply(status=None)))
    assert second.load(ORIGIN, data)
    assert second.peek(ORIGIN) is None
    assert not (await second.get(ORIGIN)).unavailable


async def test_damaged_foreign_and_future_entries_are_ignored(
    make: MakeCache, clock: VirtualClock
) -> None:
    first = make(Site())
    await first.get(ORIGIN)
    data = first.export(ORIGIN)
    assert data is not None
    second = make(Site())
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        assert not second.load(ORIGIN, damaged), at
        assert not second.load(ORIGIN, data[:at]), at
    other = RobotsCache(Site(), "Otherbot/1.0", clock)
    assert not other.load(ORIGIN, data)
    past = RobotsCache(Site(), AGENT, VirtualClock(now_ms=clock.now_ms() - 3_600_000))
    assert not past.load(ORIGIN, data)
    assert len(second) == len(other) == len(past) == 0


async def test_an_older_entry_does_not_replace_a_newer_one(
    make: MakeCache, clock: VirtualClock
) -> None:
    cache = make(Site())
    await cache.get(ORIGIN)
    data = cache.export(ORIGIN)
    assert data is not None
    clock.advance(DAY_S)
    newer = await cache.get(ORIGIN)
    assert not cache.load(ORIGIN, data)
    assert cache.peek(ORIGIN) is newer


def test_there_is_nothing_to_export_of_an_unknown_origin(make: MakeCache) -> None:
    assert make(Site()).export(ORIGIN) is None


def test_a_sealed_payload_of_another_shape_is_ignored() -> None:
    from skitter.politeness.sealed import seal

    assert AgentRobots.decode(seal(1, b"\x01"), "Skitter") is None
