"""Visits whose leases others may have by now, and acks that follow each other closely."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import pytest
from crawl_rig import HOME, SITE, CrawlRig, Web, by_url, make_job

from skitter.crawl.commit import MOST_ACKS
from skitter.crawl.trip import Visit
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Ack, Receipt, Result, UrlState

LOST_AFTER_S = 121


class SlowStore:
    """Acks of a frontier that begin at once and become durable when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun: list[list[str]] = []
        self.ended = 0
        self.gates: list[asyncio.Event] = []
        self.at_begin: Callable[[], None] = lambda: None
        real = EmbeddedFrontier.ack

        async def ack(
            frontier: EmbeddedFrontier,
            acks: Sequence[Ack],
            *,
            marks: Mapping[str, bytes] | None = None,
            news: Mapping[str, bytes] | None = None,
        ) -> Receipt:
            gate = asyncio.Event()
            self.gates.append(gate)
            self.begun.append([one.lease.url for one in acks])
            self.at_begin()
            await gate.wait()
            receipt = await real(frontier, acks, marks=marks, news=news)
            self.ended += 1
            return receipt

        monkeypatch.setattr(EmbeddedFrontier, "ack", ack)


@pytest.fixture
def web() -> Web:
    made = Web()
    for n in range(10):
        made.html(f"{SITE}/{n}", f"page {n}", f"/from-{n}")
        made.text(f"{SITE}/same-{n}", "the same")
    return made


@pytest.fixture
async def rig(tmp_path: Path, web: Web) -> AsyncIterator[CrawlRig]:
    polite = {"robots": False, "per_host": 100}
    made = CrawlRig(tmp_path, web, make_job(polite=polite, traps={"enabled": False}))
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def told(rig: CrawlRig) -> dict[str, list[str]]:
    """What those who ask are told: visits made safe, and visits lost."""
    found: dict[str, list[str]] = {"safe": [], "lost": []}
    rig.committer.on_commit = lambda done: found["safe"].extend(urls(done))
    rig.committer.on_lost = lambda lost: found["lost"].extend(urls(lost))
    return found


def urls(visits: Sequence[Visit]) -> list[str]:
    return [visit.lease.url for visit in visits]


async def visits(rig: CrawlRig, *paths: str) -> list[Visit]:
    await rig.offer(*(f"{SITE}{path}" for path in paths))
    return [await rig.visitor.visit(lease) for lease in await rig.claim(len(paths))]


def comes(rig: CrawlRig, visit: Visit) -> None:
    """Add a visit at once, where nothing can be awaited; there is room for it."""
    with pytest.raises(StopIteration):
        rig.committer.add(visit).send(None)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0)


# Leases that had ended


async def test_of_a_batch_only_the_visits_that_came_too_late_are_given_up(
    rig: CrawlRig, told: dict[str, list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    [late] = await visits(rig, "/0")
    rig.clock.advance(LOST_AFTER_S)
    # A claim finds the first URL once more, leased to another.
    await rig.offer(f"{SITE}/1")
    taken = {lease.url: lease for lease in await rig.claim(2)}
    safe = await rig.visitor.visit(taken[f"{SITE}/1"])
    await rig.commit(late, safe)
    assert told == {"safe": [f"{SITE}/1"], "lost": [f"{SITE}/0"]}
    assert [record["url"] for record in rig.sink.records] == [f"{SITE}/1"]
    assert (await rig.totals()).pages == 1
    assert "1 pages came too late" in caplog.text
    assert rig.committer.unsafe == 0
    # The other brings the page with everything on it.
    await rig.commit(await rig.visitor.visit(taken[f"{SITE}/0"]))
    assert [record["url"] for record in rig.sink.records] == [f"{SITE}/1", f"{SITE}/0"]
    assert (await rig.look(f"{SITE}/from-0")).state is UrlState.QUEUED


async def test_links_held_back_for_the_redirect_of_a_lost_visit_are_queued(
    rig: CrawlRig, web: Web, told: dict[str, list[str]]
) -> None:
    web.moved(f"{SITE}/old", "/new")
    web.html(f"{SITE}/new", "new")
    web.html(HOME, "", "/new")
    [hop] = await visits(rig, "/old")
    await rig.commit(*await visits(rig, "/"))
    assert (await rig.look(f"{SITE}/new")).state is UrlState.UNKNOWN
    rig.clock.advance(LOST_AFTER_S)
    await rig.commit(hop)
    assert told["lost"] == [f"{SITE}/old"]
    assert (await rig.look(f"{SITE}/new")).state is UrlState.QUEUED
    # The target is free for whoever follows the redirect next.
    assert rig.reservations.reserve(rig.normal(f"{SITE}/new").fp)


async def test_links_of_a_lost_visit_can_be_targets_of_redirects_again(rig: CrawlRig) -> None:
    [late] = await visits(rig, "/0")
    rig.clock.advance(LOST_AFTER_S)
    await rig.commit(late)
    assert rig.reservations.reserve(rig.normal(f"{SITE}/from-0").fp)


# Several acks under way


async def test_two_acks_are_under_way_at_most_and_end_in_order(
    rig: CrawlRig, told: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SlowStore(monkeypatch)
    one, two, three, four = await visits(rig, "/0", "/1", "/2", "/3")
    coming = [two, three, four]

    def come() -> None:
        # The next visit ends in the moment in which an ack leaves.
        if coming:
            comes(rig, coming.pop(0))

    store.at_begin = come
    await rig.committer.add(one)
    flushing = asyncio.create_task(rig.committer.flush())
    await until(lambda: len(store.begun) == MOST_ACKS)
    for _ in range(20):
        await asyncio.sleep(0)
    assert store.begun == [[f"{SITE}/0"], [f"{SITE}/1"]]
    assert rig.committer.unsafe == 3
    # The later one is done first and waits for the earlier one.
    store.gates[1].set()
    await until(lambda: store.ended == 1)
    assert told["safe"] == []
    store.gates[0].set()
    await until(lambda: len(store.begun) == 4)
    assert told["safe"] == [f"{SITE}/0", f"{SITE}/1"]
    assert rig.committer.unsafe == 2
    for gate in store.gates:
        gate.set()
    await flushing
    assert told["safe"] == [f"{SITE}/{n}" for n in range(4)]
    assert rig.committer.unsafe == 0


async def test_content_that_is_on_its_way_into_the_store_is_known_to_be_doubled(
    rig: CrawlRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SlowStore(monkeypatch)
    one, two, three = await visits(rig, "/same-0", "/same-1", "/same-2")

    def come() -> None:
        if len(store.begun) == 1:
            comes(rig, two)

    store.at_begin = come
    await rig.committer.add(one)
    flushing = asyncio.create_task(rig.committer.flush())
    await until(lambda: len(store.begun) == 2)
    assert await rig.frontier.contents(rig.number, [one.digest]) == [None]
    for gate in store.gates:
        gate.set()
    await flushing
    # By now the store tells.
    flushing = asyncio.create_task(rig.commit(three))
    await until(lambda: len(store.begun) == 3)
    store.gates[2].set()
    await flushing
    found = by_url(rig.sink.records)
    assert found[f"{SITE}/same-0"]["duplicate_of"] is None
    for n in (1, 2):
        assert found[f"{SITE}/same-{n}"]["duplicate_of"] == f"{SITE}/same-0"
    assert (await rig.totals()).duplicates == 2


async def test_links_of_an_ack_under_way_are_no_targets_until_that_one_is_durable(
    rig: CrawlRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SlowStore(monkeypatch)
    one, two = await visits(rig, "/0", "/1")

    def come() -> None:
        if len(store.begun) == 1:
            comes(rig, two)

    store.at_begin = come
    await rig.committer.add(one)
    flushing = asyncio.create_task(rig.committer.flush())
    await until(lambda: len(store.begun) == 2)
    first, second = (rig.normal(f"{SITE}/from-{n}").fp for n in (0, 1))
    assert not rig.reservations.reserve(first)
    store.gates[0].set()
    await until(lambda: store.ended == 1)
    await until(lambda: rig.committer.unsafe == 1)
    assert rig.reservations.reserve(first)
    assert not rig.reservations.reserve(second)
    store.gates[1].set()
    await flushing
    assert rig.reservations.reserve(second)


# What travels with an ack


async def test_an_ack_says_what_its_visit_adds_and_whether_it_has_a_record(
    rig: CrawlRig, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Ack] = []
    real = EmbeddedFrontier.ack

    async def ack(frontier: EmbeddedFrontier, acks: Sequence[Ack], **kept: object) -> Receipt:
        sent.extend(acks)
        return await real(frontier, acks)

    monkeypatch.setattr(EmbeddedFrontier, "ack", ack)
    web.status(f"{SITE}/broken", 503)
    await rig.commit(*await visits(rig, "/0", "/broken"))
    page, later = sent
    assert (page.listed, dict(page.tally)["pages"], bool(page.note)) == (True, 1, True)
    assert (later.listed, later.tally, later.result) == (False, (), Result.RETRY)


async def test_hosts_that_an_entry_led_to_are_told_as_news(
    rig: CrawlRig, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.moved(HOME, "http://far.test/")
    web.html("http://far.test/", "far")
    told: list[Mapping[str, bytes]] = []
    real = EmbeddedFrontier.ack

    async def ack(
        frontier: EmbeddedFrontier,
        acks: Sequence[Ack],
        *,
        marks: Mapping[str, bytes] | None = None,
        news: Mapping[str, bytes] | None = None,
    ) -> Receipt:
        told.append(news or {})
        return await real(frontier, acks, marks=marks, news=news)

    monkeypatch.setattr(EmbeddedFrontier, "ack", ack)
    await rig.commit(await rig.visit(HOME))
    assert told == [{f"scope:{rig.number}:http://far.test/": b""}]
