"""The jobs at work in one process, and the hosts that have answered."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from crawl_rig import make_job

from skitter.crawl.desk import Desk, Desks, FreedHosts
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
    equipment: Any = SimpleNamespace(job=make_job(polite={"delay": delay}))
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
