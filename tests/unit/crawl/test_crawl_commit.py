"""Records first, then the ack that names their safe length; nothing is safe by half."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, MemorySink, Web, by_url, make_job

from skitter.crawl import commit
from skitter.crawl.commit import BATCH, MAX_WAITING, scope_mark
from skitter.crawl.recording import job_mark
from skitter.crawl.trip import Kept, Visit
from skitter.errors import SinkError, StoreUnavailable
from skitter.fetch.base import Raw
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Ack, Receipt, UrlState
from skitter.pipeline.base import SINK_MARKS, Batch

PER_HOST = 500


class Journal:
    """What happened, in order, as seen from sink and frontier."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.acks: list[tuple[list[str], dict[str, bytes]]] = []
        """The URLs of each, and the marks that are in the store when it is."""
        self.gate = asyncio.Event()
        """Acks become durable only while this is set."""
        self.gate.set()
        self.at_ack: list[Coroutine[Any, Any, None]] = []
        """What happens when an ack begins."""


class WatchedSink(MemorySink):
    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    async def write(self, batch: Batch) -> bytes:
        self._journal.events.append(f"write {len(batch.lines)}")
        return await super().write(batch)


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
async def rig(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[CrawlRig]:
    """A rig with a batch of pages, whose acks are noted and can be kept from becoming durable."""
    web = Web()
    for n in range(BATCH):
        web.html(f"{SITE}/{n}", f"page {n}", f"/from-{n}")
    web.status(f"{SITE}/broken", 500)
    made = CrawlRig(
        tmp_path,
        web,
        make_job(polite={"robots": False, "per_host": PER_HOST}, traps={"enabled": False}),
    )
    made.sink = WatchedSink(journal)
    await made.open()
    real = EmbeddedFrontier.ack

    async def ack(
        self: EmbeddedFrontier,
        acks: Sequence[Ack],
        *,
        marks: Mapping[str, bytes] | None = None,
        news: Mapping[str, bytes] | None = None,
    ) -> Receipt:
        while journal.at_ack:
            await journal.at_ack.pop()
        receipt = await real(self, acks, marks=marks, news=news)
        journal.events.append(f"ack {len(acks)}")
        kept = {**(marks or {}), **await self.marks(job_mark(made.number, SINK_MARKS))}
        journal.acks.append(([one.lease.url for one in acks], kept))
        await journal.gate.wait()
        return receipt

    monkeypatch.setattr(EmbeddedFrontier, "ack", ack)
    yield made
    await made.close()


async def visits(rig: CrawlRig, first: int, last: int) -> list[Visit]:
    await rig.offer(*(f"{SITE}/{n}" for n in range(first, last)))
    leases = await rig.claim(last - first)
    return [await rig.visitor.visit(lease) for lease in leases]


# Order


async def test_records_are_written_before_their_ack_and_marked_in_it(
    rig: CrawlRig, journal: Journal
) -> None:
    await rig.commit(*await visits(rig, 0, 3))
    assert journal.events == ["write 3", "ack 3"]
    [(urls, marks)] = journal.acks
    assert urls == [f"{SITE}/{n}" for n in range(3)]
    assert marks[rig.mark_of(rig.sink)] == b"3"
    assert (await rig.totals()).pages == 3


async def test_the_ack_queues_the_links_and_keeps_the_record_of_each_page(rig: CrawlRig) -> None:
    await rig.commit(*await visits(rig, 0, 2))
    assert (await rig.look(f"{SITE}/from-1")).state is UrlState.QUEUED
    assert (await rig.look(f"{SITE}/1")).note == rig.sink.lines[1]


async def test_visits_without_a_record_are_acked_without_touching_the_sink(
    rig: CrawlRig, journal: Journal
) -> None:
    await rig.commit(await rig.visit(f"{SITE}/broken"))
    assert journal.events == ["ack 1"]
    assert journal.acks[0][1] == {}
    assert (await rig.look(f"{SITE}/broken")).state is UrlState.SCHEDULED


async def test_the_next_records_are_written_while_an_ack_is_synced_and_acks_keep_their_order(
    rig: CrawlRig, journal: Journal
) -> None:
    one, two = await visits(rig, 0, 2)
    journal.gate.clear()
    running = asyncio.create_task(rig.committer.run())
    await rig.committer.add(one)
    rig.committer.hurry()
    await _until(lambda: journal.events == ["write 1", "ack 1"])
    # A visit that comes while the first ack is synced.
    await rig.committer.add(two)
    assert rig.committer.unsafe == 2
    journal.gate.set()
    await rig.committer.settle()
    running.cancel()
    assert journal.events == ["write 1", "ack 1", "write 1", "ack 1"]
    assert [marks[rig.mark_of(rig.sink)] for _, marks in journal.acks] == [b"1", b"2"]
    assert rig.committer.unsafe == 0


async def test_those_who_ask_are_told_only_when_the_ack_is_durable(
    rig: CrawlRig, journal: Journal
) -> None:
    told: list[str] = []
    rig.committer.on_commit = lambda done: told.extend(visit.lease.url for visit in done)
    [visit] = await visits(rig, 0, 1)
    journal.gate.clear()
    flushing = asyncio.create_task(rig.commit(visit))
    await _until(lambda: "ack 1" in journal.events)
    assert told == []
    journal.gate.set()
    await flushing
    assert told == [f"{SITE}/0"]


# Batches


async def test_a_full_batch_is_written_without_waiting_for_company(
    rig: CrawlRig, journal: Journal
) -> None:
    running = asyncio.create_task(rig.committer.run())
    for visit in await visits(rig, 0, BATCH):
        await rig.committer.add(visit)
    await rig.committer.settle()
    running.cancel()
    assert journal.events == [f"write {BATCH}", f"ack {BATCH}"]


async def test_a_single_visit_does_not_wait_for_ever(rig: CrawlRig, journal: Journal) -> None:
    running = asyncio.create_task(rig.committer.run())
    [visit] = await visits(rig, 0, 1)
    await rig.committer.add(visit)
    await _until(lambda: rig.committer.unsafe == 0)
    running.cancel()
    assert journal.events == ["write 1", "ack 1"]


async def test_workers_wait_while_too_many_visits_are_unsafe(rig: CrawlRig) -> None:
    [visit] = await visits(rig, 0, 1)
    for _ in range(MAX_WAITING - 1):
        await asyncio.wait_for(rig.committer.add(visit), 60)
    blocked = asyncio.create_task(rig.committer.add(visit))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not blocked.done()
    await rig.committer.flush()
    await asyncio.wait_for(blocked, 60)


async def test_workers_wait_while_too_many_bytes_are_unsafe(
    rig: CrawlRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = await visits(rig, 0, 3)
    monkeypatch.setattr(commit, "MAX_WAITING_BYTES", 1000)
    for visit, size in ((one, 900), (two, 100), (three, 10)):
        raw = Raw(b"", bytes(size), 0)
        visit.kept = [Kept(url=HOME, at_ms=0, raw=raw, address="", cut="")]
    await asyncio.wait_for(rig.committer.add(one), 60)
    blocked = asyncio.create_task(rig.committer.add(two))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not blocked.done()
    await rig.committer.flush()
    await asyncio.wait_for(blocked, 60)
    # What was made safe weighs nothing any more.
    await asyncio.wait_for(rig.committer.add(three), 60)
    await rig.committer.flush()


# Failures


async def test_a_sink_that_cannot_be_written_stops_the_ack(rig: CrawlRig, journal: Journal) -> None:
    rig.sink.broken = True
    with pytest.raises(SinkError):
        await rig.commit(*await visits(rig, 0, 2))
    assert "ack 2" not in journal.events
    assert await rig.frontier.mark(rig.mark_of(rig.sink)) is None
    assert (await rig.counts()).done == 0
    assert (await rig.totals()).pages == 0


async def test_an_ack_that_fails_is_told_and_changes_nothing(
    rig: CrawlRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ack(*_: object, **__: object) -> Receipt:
        raise StoreUnavailable("the frontier's disk cannot be written: No space left on device")

    monkeypatch.setattr(EmbeddedFrontier, "ack", ack)
    told: list[Visit] = []
    rig.committer.on_commit = told.extend
    with pytest.raises(StoreUnavailable):
        await rig.commit(*await visits(rig, 0, 2))
    assert told == []
    assert (await rig.counts()).done == 0


async def test_a_visit_whose_lease_ended_leaves_no_record_and_its_links_are_found_again(
    rig: CrawlRig, journal: Journal
) -> None:
    [lost] = await visits(rig, 0, 1)
    rig.clock.advance(121)
    await rig.commit(lost)
    assert rig.sink.records == []
    assert journal.acks == [([f"{SITE}/0"], {})]
    assert (await rig.totals()).pages == 0
    assert (await rig.look(f"{SITE}/from-0")).state is UrlState.UNKNOWN
    found = by_url(await rig.crawl(f"{SITE}/0"))
    assert found[f"{SITE}/0"]["outcome"] == "ok"
    assert (await rig.look(f"{SITE}/from-0")).state is not UrlState.UNKNOWN
    assert (await rig.totals()).pages == len(found)


async def test_links_held_back_for_a_hop_are_not_lost_with_the_hops_lease(tmp_path: Path) -> None:
    web = Web()
    web.moved(f"{SITE}/old", "/new")
    web.html(f"{SITE}/new", "new")
    web.html(HOME, "", "/new")
    rig = CrawlRig(tmp_path, web, make_job(polite={"robots": False, "per_host": 2}))
    await rig.open()
    hop = await rig.visit(f"{SITE}/old")
    await rig.commit(await rig.visit(HOME))
    rig.clock.advance(121)
    await rig.commit(hop)
    # By the time it is asked again, the redirect is gone.
    web.status(f"{SITE}/old", 404)
    found = by_url(await rig.crawl(HOME))
    await rig.close()
    assert found[f"{SITE}/old"]["outcome"] == "http_error"
    assert f"{SITE}/new" in found


async def test_a_mark_never_covers_a_record_whose_ack_was_cut_off(
    rig: CrawlRig, journal: Journal
) -> None:
    """Stopping at once cancels the writer anywhere; what waits is flushed after that."""
    one, two, three = await visits(rig, 0, 3)
    journal.gate.clear()
    journal.at_ack.append(rig.committer.add(two))
    running = asyncio.create_task(rig.committer.run())
    await rig.committer.add(one)
    rig.committer.hurry()
    await _until(lambda: journal.events[:3] == ["write 1", "ack 1", "write 1"])
    # The writer is cancelled in the moment in which the first ack has become durable.
    journal.gate.set()
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await rig.committer.add(three)
    await asyncio.gather(rig.committer.flush(), return_exceptions=True)
    acked = {url for urls, _ in journal.acks for url in urls}
    safe = int(await rig.frontier.mark(rig.mark_of(rig.sink)) or 0)
    covered = {record["url"] for record in rig.sink.records[:safe]}
    assert covered <= acked, "the next run fetches them again and writes them twice"


# Redirect targets


async def test_a_target_is_not_fetched_by_a_redirect_while_a_link_to_it_is_being_queued(
    tmp_path: Path,
) -> None:
    """The redirect is answered in the very moment in which the link is made safe."""
    web = Web()
    web.html(HOME, "", "/new")
    web.moved(f"{SITE}/old", "/new")
    web.html(f"{SITE}/new", "new")
    rig = CrawlRig(tmp_path, web, make_job(polite={"robots": False, "per_host": 2}))
    begun: list[asyncio.Task[Visit]] = []

    class Meanwhile(MemorySink):
        async def write(self, batch: Batch) -> bytes:
            if not begun:
                begun.append(asyncio.create_task(rig.visitor.visit(old)))
                await asyncio.sleep(0)
            return await super().write(batch)

    rig.sink = Meanwhile()
    await rig.open()
    await rig.offer(HOME, f"{SITE}/old")
    home, old = await rig.claim(2)
    await rig.commit(await rig.visitor.visit(home))
    await rig.commit(await begun[0])
    await rig.crawl(HOME)
    await rig.close()
    assert rig.asked.count(f"{SITE}/new") == 1


# Marks


async def test_a_wider_scope_is_kept_with_the_visit_that_widened_it(tmp_path: Path) -> None:
    web = Web()
    web.moved(HOME, "http://other.test/")
    web.html("http://other.test/", "other")
    rig = CrawlRig(tmp_path, web, make_job(polite={"robots": False}))
    await rig.open()
    visit = await rig.visit(HOME)
    assert await rig.frontier.marks(scope_mark(rig.number)) == {}
    await rig.commit(visit)
    name = f"{scope_mark(rig.number)}http://other.test/"
    assert list(await rig.frontier.marks(scope_mark(rig.number))) == [name]
    await rig.close()


async def test_every_sink_gets_the_records_and_has_a_mark_of_its_own(rig: CrawlRig) -> None:
    class Second(MemorySink):
        mark_name = "sink:second"

    second = Second()
    rig.recording.serve(rig.number, [rig.sink, second])
    await rig.commit(*await visits(rig, 0, 2))
    assert second.lines == rig.sink.lines
    assert await rig.frontier.mark(rig.mark_of(second)) == b"2"


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0)
