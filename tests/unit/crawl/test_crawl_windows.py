"""Grants under rate windows: asked for together, good for a moment, never wasted."""

import asyncio
from collections.abc import Sequence

import pytest

from skitter.clock import SystemClock
from skitter.crawl import windows as windows_module
from skitter.crawl.windows import Asked, JobWindows, PutOff, Windows, wanted_by
from skitter.frontier.limits import Permit, SlidingLog, Window, Wish
from skitter.frontier.model import Lease
from skitter.job.rate import Rate
from skitter.politeness.windows import NO_RATES, Rates
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass

HOST = HostKey("www.example.com")
SPAN_MS = 6_400
ONE = Asked("example.com", (Window("kind:site", 2, SPAN_MS),), 0.2)


class Store:
    """Logs of windows in memory, and what was asked of them."""

    def __init__(self, clock: VirtualClock | SystemClock, takes_s: float = 0.0) -> None:
        self._clock = clock
        self._takes_s = takes_s
        self.logs: dict[tuple[str, str], SlidingLog] = {}
        self.calls: list[list[Wish]] = []

    async def permit(self, wanted: Sequence[Wish]) -> list[Permit]:
        self.calls.append(list(wanted))
        answers = [self._permit(wish) for wish in wanted]
        if isinstance(self._clock, VirtualClock):
            self._clock.advance(self._takes_s)
        return answers

    def _permit(self, wish: Wish) -> Permit:
        now_ms = self._clock.now_ms()
        opens = 0
        found = []
        for window in wish.windows:
            log = self.logs.setdefault((wish.domain, window.name), SlidingLog())
            log.trim(now_ms, window.span_ms)
            log.take_back(wish.unused_ms)
            opens = max(opens, log.opens_ms(window, now_ms))
            found.append(log)
        if opens:
            return Permit(granted=False, at_ms=opens)
        for log in found:
            log.times.append(now_ms)
        return Permit(granted=True, at_ms=now_ms)

    def granted(self, domain: str = "example.com", name: str = "kind:site") -> list[int]:
        return list(self.logs[domain, name].times)


def lease(number: int, host: HostKey = HOST) -> Lease:
    return Lease(
        id=number,
        url=f"https://{host}/{number}",
        fp=Fingerprint(number),
        host=host,
        job=JobNumber(1),
        slot=0,
        fence=1,
        page_class=PageClass.DATA,
        priority=5,
        depth=0,
        attempts=0,
        lost=0,
        visit=1,
        referrer="",
        found_s=0,
        expires_at=0.0,
    )


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def store(clock: VirtualClock) -> Store:
    return Store(clock)


@pytest.fixture
def windows(store: Store, clock: VirtualClock) -> Windows:
    return Windows(store, clock, "192.0.2.7")


async def test_all_leases_of_a_claim_are_one_question(windows: Windows, store: Store) -> None:
    refused = await windows.take([(lease(n), ONE) for n in range(5)])
    assert len(store.calls) == 1
    assert set(refused) == {2, 3, 4}


async def test_a_grant_is_used_without_another_question(windows: Windows, store: Store) -> None:
    await windows.take([(lease(1), ONE)])
    await windows.use(1, ONE)
    assert len(store.calls) == 1
    await windows.use(1, ONE)
    assert len(store.calls) == 2, "it was used up by the first request"
    with pytest.raises(PutOff) as put_off:
        await windows.use(1, ONE)
    assert put_off.value.at_ms == store.granted()[0] + SPAN_MS


async def test_a_grant_that_is_too_old_is_moved_and_costs_no_more(
    windows: Windows, store: Store, clock: VirtualClock
) -> None:
    await windows.take([(lease(1), ONE), (lease(2), ONE)])
    clock.advance(0.2)
    await windows.use(1, ONE)
    await windows.use(2, ONE)
    assert store.granted() == [clock.now_ms()] * 2
    assert [wish.unused_ms > 0 for call in store.calls[1:] for wish in call] == [True, True]


async def test_the_time_of_the_question_counts_toward_the_grant(clock: VirtualClock) -> None:
    slow = Store(clock, takes_s=0.25)
    windows = Windows(slow, clock)
    with pytest.raises(PutOff):
        await windows.use(1, ONE)
    assert len(slow.calls) == 3
    assert len(slow.granted()) == 1, "it was moved along and never doubled"


async def test_what_a_lease_did_not_use_another_gets(windows: Windows, store: Store) -> None:
    await windows.take([(lease(1), ONE), (lease(2), ONE)])
    windows.end(1)
    windows.end(7)
    assert await windows.take([(lease(3), ONE), (lease(4), ONE)]) == {4: store.granted()[0] + 1_500}
    windows.end(2)
    await windows.use(5, ONE)
    assert len(store.granted()) == 2


async def test_a_grant_of_other_windows_does_not_count(windows: Windows, store: Store) -> None:
    await windows.take([(lease(1), ONE)])
    both = Asked("example.com", (*ONE.windows, Window("from:192.0.2.7", 9, SPAN_MS)), 0.2)
    await windows.use(1, both)
    assert len(store.granted(name="from:192.0.2.7")) == 1
    assert len(store.granted()) == 2


async def test_one_waits_for_a_grant_where_that_is_worth_it() -> None:
    clock = SystemClock()
    store = Store(clock)
    windows = Windows(store, clock)
    short = Asked("example.com", (Window("kind:site", 1, 50),), 0.2)
    for number in range(3):
        await windows.wait(number, short, 30_000)
        await windows.use(number, short)
    long = Asked("example.org", (Window("kind:site", 1, 60_000),), 0.2)
    await windows.use(3, long)
    with pytest.raises(PutOff):
        await windows.wait(4, long, 1_000)


async def test_nobody_waits_for_a_grant_who_has_one(windows: Windows, store: Store) -> None:
    await windows.take([(lease(5), ONE)])
    asked = len(store.calls)
    await windows.wait(5, ONE, 0)
    assert len(store.calls) == asked, "it has one already"


def test_hosts_rest_shortly_unless_very_many_do(windows: Windows, clock: VirtualClock) -> None:
    far = clock.now_ms() + 3_600_000
    assert windows.rest_until_ms(HOST, far) == clock.now_ms() + 1_500
    assert windows.rest_until_ms(HOST, clock.now_ms() + 300) == clock.now_ms() + 300
    for number in range(1_000):
        until_ms = windows.rest_until_ms(HostKey(f"h{number}.example.com"), far)
    assert until_ms == clock.now_ms() + 10_010
    clock.advance(3_601)
    assert windows.rest_until_ms(HOST, clock.now_ms() + 9_000) == clock.now_ms() + 1_500


def test_what_is_remembered_has_bounds(
    windows: Windows, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_module, "MOST_GRANTS", 10)

    async def claims() -> None:
        for number in range(40):
            asked = Asked(f"d{number}.test", ONE.windows, 0.2)
            await windows.take([(lease(number), asked)])
            if number % 2:
                windows.end(number)
            clock.advance(1)

    asyncio.run(claims())
    assert len(windows._grants) <= 12
    assert len(windows._spare) <= 12


def test_a_job_asks_by_its_kind_and_by_domain(windows: Windows) -> None:
    rates = {HOST: Rates(Rate.parse("20/60s"), Rate.parse("10/60s"))}
    job = JobWindows(windows, "web", lambda host: rates.get(host, NO_RATES))
    asked = job.asked(HOST)
    assert asked is not None
    assert (asked.domain, asked.usable_s) == ("example.com", 1.8)
    assert [one.name for one in asked.windows] == ["kind:web", "from:192.0.2.7"]
    assert job.asked(HostKey("other.test")) is None
    assert job.ready(lease(1), HostKey("other.test")) is None
    leases = [lease(1), lease(2, HostKey("other.test"))]
    assert wanted_by(leases, lambda _: job) == [(leases[0], asked)]
    assert wanted_by(leases, lambda _: None) == []


async def test_a_rate_that_changes_counts_at_once(windows: Windows, store: Store) -> None:
    rates = Rates(Rate.parse("5/60s"))
    job = JobWindows(windows, "site", lambda _: rates)
    for number in range(2):
        ready = job.ready(lease(number), HOST)
        assert ready is not None
        await ready()
    rates = Rates(Rate.parse("2/60s"))
    ready = job.ready(lease(3), HOST)
    assert ready is not None
    with pytest.raises(PutOff):
        await ready()
    rates = NO_RATES
    assert job.ready(lease(3), HOST) is None
    assert len(store.granted()) == 2
