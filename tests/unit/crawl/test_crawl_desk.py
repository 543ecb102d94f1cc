"""The jobs at work in one process, and the hosts that have answered."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from crawl_rig import make_job

from skitter.crawl.desk import IDLE_S, MOST_IDLE, TEND_S, Desk, Desks, FreedHosts
from skitter.crawl.site_rules import SiteRules
from skitter.errors import ConfigError, StoreUnavailable
from skitter.frontier.model import Freed
from skitter.types import HostKey, JobNumber

ONE, TWO = JobNumber(1), JobNumber(2)


class StillCommitter:
    """Counts what it is asked for."""

    def __init__(self, unsafe: int = 0) -> None:
        self.unsafe = unsafe
        self.asked: list[str] = []

    def hurry(self) -> None:
        self.asked.append("hurry")

    async def settle(self) -> None:
        self.asked.append("settle")

    async def flush(self) -> None:
        self.asked.append("flush")

    async def wind_up(self) -> None:
        self.asked.append("wind up")


def desk(
    committer: StillCommitter | None = None,
    news: Callable[[], Awaitable[None]] | None = None,
    delay: float = 0.0,
) -> Desk:
    job = make_job(polite={"delay": delay})
    judge = SimpleNamespace(sites=SiteRules(job))
    equipment: Any = SimpleNamespace(job=job, judge=judge)
    commits: Any = committer or StillCommitter()
    visitor: Any = None
    made = Desk(equipment, commits, visitor)
    return made if news is None else replace(made, take_up_news=news)


class Maker:
    """Makes desks, and notes for which jobs; jobs in ``wrong`` cannot be worked on."""

    def __init__(self, *wrong: JobNumber) -> None:
        self.asked: list[JobNumber] = []
        self.wrong = set(wrong)

    async def __call__(self, job: JobNumber) -> Desk:
        self.asked.append(job)
        if job in self.wrong:
            raise ConfigError("http.headers: X_TOKEN is not set")
        return desk()


async def test_a_desk_is_opened_once_when_its_first_url_comes() -> None:
    make = Maker()
    desks = Desks(make)
    assert desks.open == {}
    first = await desks.of(ONE)
    assert first is not None
    assert await desks.of(ONE) is first
    assert await desks.of(TWO) is not first
    assert make.asked == [ONE, TWO]
    assert list(desks.open) == [ONE, TWO]


async def test_a_process_of_one_job_works_on_no_other() -> None:
    desks = Desks()
    desks.open[ONE] = own = desk()
    assert await desks.of(ONE) is own
    assert await desks.of(TWO) is None


async def test_a_job_that_cannot_be_worked_on_is_not_tried_again_before_there_are_news(
    caplog: pytest.LogCaptureFixture,
) -> None:
    make = Maker(ONE)
    desks = Desks(make)
    assert await desks.of(ONE) is None
    assert await desks.of(ONE) is None
    assert make.asked == [ONE]
    assert "job 1 cannot be worked on here: http.headers: X_TOKEN is not set" in caplog.text
    make.wrong.clear()
    assert await desks.of(TWO) is not None
    await desks.take_up_news()
    assert await desks.of(ONE) is not None
    assert make.asked == [ONE, TWO, ONE]


async def test_any_other_trouble_with_opening_a_desk_is_told_and_it_is_tried_again() -> None:
    make, fails = Maker(), True

    async def failing(job: JobNumber) -> Desk:
        if fails:
            raise StoreUnavailable("the store is gone")
        return await make(job)

    desks = Desks(failing)
    with pytest.raises(StoreUnavailable):
        await desks.of(ONE)
    fails = False
    assert await desks.of(ONE) is not None


async def test_news_are_taken_up_by_every_desk() -> None:
    told: list[JobNumber] = []

    def teller(job: JobNumber) -> Callable[[], Awaitable[None]]:
        async def tell() -> None:
            told.append(job)

        return tell

    desks = Desks()
    desks.open = {ONE: desk(news=teller(ONE)), TWO: desk(news=teller(TWO))}
    await desks.take_up_news()
    assert told == [ONE, TWO]
    desks.open[TWO] = desk()
    await desks.take_up_news()
    assert told == [ONE, TWO, ONE]


async def test_what_is_asked_of_all_desks_reaches_each() -> None:
    committers = [StillCommitter(2), StillCommitter(3)]
    desks = Desks()
    desks.open = {JobNumber(n): desk(each) for n, each in enumerate(committers)}
    assert desks.unsafe == 5
    desks.hurry()
    await desks.settle()
    await desks.flush()
    await desks.wind_up()
    assert [each.asked for each in committers] == [["hurry", "settle", "flush", "wind up"]] * 2


@pytest.mark.parametrize(
    ("delays", "delayed"), [((), False), ((0.0, 0.0), False), ((0.0, 0.5), True)]
)
def test_one_job_with_a_delay_is_enough_to_claim_nothing_ahead(
    delays: tuple[float, ...], delayed: bool
) -> None:
    desks = Desks()
    desks.open = {JobNumber(n): desk(delay=delay) for n, delay in enumerate(delays)}
    assert desks.delayed is delayed


async def test_links_that_are_held_back_no_longer_are_queued_once() -> None:
    offered: list[list[str]] = []
    unheld = ["link"]

    async def offer(links: list[str]) -> None:
        offered.append(list(links))

    def take_unheld() -> list[str]:
        taken, unheld[:] = list(unheld), []
        return taken

    equipment: Any = SimpleNamespace(frontier=SimpleNamespace(offer=offer))
    visitor: Any = SimpleNamespace(take_unheld=take_unheld)
    made = replace(desk(), equipment=equipment, visitor=visitor)
    await made.queue_unheld()
    await made.queue_unheld()
    assert offered == [["link"]]


# Desks without work


class Room:
    """Desks whose opening and closing is noted, on a clock that a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self.now = loop.time()
        monkeypatch.setattr(loop, "time", lambda: self.now)
        self.opened: list[JobNumber] = []
        self.closed: list[JobNumber] = []
        self.left: list[JobNumber] = []
        self.desks = Desks(self.make)
        self.committers: dict[JobNumber, StillCommitter] = {}
        self.busy: set[JobNumber] = set()

    async def make(self, job: JobNumber) -> Desk:
        self.opened.append(job)
        room = self

        class Leaving(Desk):
            async def leave(self) -> None:
                room.left.append(job)

        async def close() -> None:
            assert self.left[-1] == job, "what it knows is told first"
            self.closed.append(job)

        self.committers[job] = StillCommitter()
        made = desk(self.committers[job])
        return Leaving(made.equipment, made.committer, made.visitor, close=close)

    async def tend(self, seconds: float = 0.0) -> None:
        self.now += seconds + TEND_S
        await self.desks.tend(lambda: self.busy)


async def test_a_desk_is_closed_when_it_had_nothing_to_do_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = Room(monkeypatch)
    room.busy = {ONE}
    for job in (ONE, TWO):
        await room.desks.of(job)
    await room.tend()
    await room.tend(IDLE_S - 2 * TEND_S)
    assert room.closed == []
    await room.tend()
    assert room.closed == [TWO]
    assert list(room.desks.open) == [ONE]
    room.busy.clear()
    await room.tend()
    assert room.closed == [TWO], "the while begins when the work ends"
    await room.tend(IDLE_S)
    assert room.closed == [TWO, ONE]
    assert await room.desks.of(ONE) is not None
    assert room.opened == [ONE, TWO, ONE], "the next URL opens it again"


async def test_work_in_between_begins_the_while_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(monkeypatch)
    await room.desks.of(ONE)
    await room.tend()
    room.busy = {ONE}
    await room.tend(IDLE_S)
    room.busy.clear()
    await room.tend()
    await room.tend(IDLE_S - 2 * TEND_S)
    assert room.closed == []


async def test_visits_that_are_not_safe_keep_a_desk_open(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(monkeypatch)
    await room.desks.of(ONE)
    room.committers[ONE].unsafe = 1
    await room.tend()
    await room.tend(2 * IDLE_S)
    assert room.closed == []
    room.committers[ONE].unsafe = 0
    await room.tend()
    await room.tend(IDLE_S)
    assert room.closed == [ONE]


async def test_only_so_many_desks_are_open_without_work(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(monkeypatch)
    jobs = [JobNumber(n) for n in range(MOST_IDLE + 3)]
    for job in jobs[:3]:
        await room.desks.of(job)
    await room.tend()
    for job in jobs[3:]:
        await room.desks.of(job)
    await room.tend()
    assert room.closed == jobs[:3], "those that were idle for longest"
    assert len(room.desks.open) == MOST_IDLE


async def test_the_desk_of_the_crawl_itself_is_never_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = Room(monkeypatch)
    room.desks.open[ONE] = desk()
    await room.tend()
    await room.tend(2 * IDLE_S)
    assert list(room.desks.open) == [ONE]


# Hosts that have answered


def freed(number: int) -> Freed:
    return Freed(number, HostKey(f"{number}.test"))


def test_freed_hosts_are_handed_on_once_and_in_order() -> None:
    hosts = FreedHosts()
    assert not hosts
    hosts.add(freed(1))
    hosts.add(freed(2))
    assert hosts
    assert hosts.take() == [freed(1), freed(2)]
    assert not hosts
    assert hosts.take() == []


def test_a_freed_host_is_announced() -> None:
    hosts, told = FreedHosts(), list[bool]()
    hosts.add(freed(1))
    hosts.on_new = lambda: told.append(bool(hosts))
    hosts.add(freed(2))
    assert told == [True]


def test_hosts_that_could_not_be_told_come_before_later_ones() -> None:
    hosts = FreedHosts()
    hosts.add(freed(1))
    taken = hosts.take()
    hosts.add(freed(2))
    hosts.put_back(taken)
    assert hosts.take() == [freed(1), freed(2)]
