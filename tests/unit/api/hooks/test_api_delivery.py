"""Webhooks on a real store and with a real receiver: in order, signed, again until it is taken."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from event_log import Log
from service import a_service

from skitter.api.hooks import receiver as receivers
from skitter.api.hooks import schedule
from skitter.api.hooks.book import MOST, HookBook
from skitter.api.hooks.delivery import Deliveries
from skitter.api.hooks.kept import state_mark
from skitter.api.hooks.sender import Sender
from skitter.api.hooks.signature import HEADER, is_signed
from skitter.api.live import hub as hubs
from skitter.api.live.hub import EventHub
from skitter.client.events import WebhookRow, WebhookWish
from skitter.errors import ConfigError, NotFound, SkitterError
from skitter.fetch.dns import Resolver
from skitter.fetch.guard import AddressGuard
from skitter.wiring.store import Store

SECRET = "a secret of the test"


class Site:
    """A receiver that keeps what it takes, and answers what it is told to."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.ids: list[int] = []
        self.messages: list[tuple[str, bytes]] = []
        self.tries = 0
        self.hold = asyncio.Event()
        self.hold.set()
        self._changed = asyncio.Condition()

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.tries += 1
        await self.hold.wait()
        if self.status == 200:
            self.messages.append((request.headers[HEADER], body))
            events = json.loads(body)["events"]
            self.ids += [int(event["id"].partition("-")[0]) for event in events]
        async with self._changed:
            self._changed.notify_all()
        return web.Response(status=self.status)

    async def until(self, check: Callable[[], bool]) -> None:
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(check)


@asynccontextmanager
async def a_site() -> AsyncIterator[Site]:
    site = Site()
    app = web.Application()
    app.router.add_post("/in", site.take)
    runner = web.AppRunner(app)
    await runner.setup()
    server = web.TCPSite(runner, "127.0.0.1", 0)
    await server.start()
    port = runner.addresses[0][1]
    site.url = f"http://127.0.0.1:{port}/in"
    try:
        yield site
    finally:
        await runner.cleanup()


class World:
    """A store, its events, and processes that deliver them."""

    def __init__(self, store: Store, guard: AddressGuard) -> None:
        self.store = store
        self.log = Log()
        self.guard = guard
        self.book = HookBook(self.store, self.log, guard)

    @asynccontextmanager
    async def delivering(self) -> AsyncIterator[Deliveries]:
        hub = EventHub(self.log)
        deliveries = Deliveries(self.store, hub, Sender(Resolver(self.guard)))
        tasks = [asyncio.create_task(hub.run()), asyncio.create_task(deliveries.run())]
        try:
            yield deliveries
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def add(self, url: str, **wish: object) -> WebhookRow:
        return await self.book.add(WebhookWish.model_validate({"url": url, **wish}))

    async def row(self, hook: WebhookRow) -> WebhookRow:
        return next(row for row in await self.book.rows() if row.id == hook.id)

    async def until(self, check: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(60):
            while not await check():
                await asyncio.sleep(0.02)


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(receivers, "PAUSE_S", 0.0)
    monkeypatch.setattr(schedule, "FIRST_S", 0.02)
    async with a_service(tmp_path / "state") as (_, service):
        yield World(service.store, AddressGuard(allow_private=True))


async def test_events_arrive_in_order_signed_and_once(world: World) -> None:
    async with a_site() as site, world.delivering():
        world.log.publish(3)
        hook = await world.add(site.url, secret=SECRET)
        world.log.publish(250)
        world.log.publish(1, type="job")
        await site.until(lambda: len(site.ids) == 250)
        for header, body in site.messages:
            assert is_signed(SECRET, header, body, int(time.time()))
            assert json.loads(body)["webhook"] == hook.id
        await world.until(lambda: _is_told(world, hook, 250))
    assert site.ids == list(range(4, 254))
    assert len(site.messages) < 10
    assert hook.secret == SECRET
    assert (await world.row(hook)).secret is None


async def test_receivers_are_told_however_many_listen(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "MOST_LISTENERS", 0)
    async with a_site() as site, world.delivering():
        await world.add(site.url)
        world.log.publish(2)
        await site.until(lambda: site.ids == [1, 2])


async def _is_told(world: World, hook: WebhookRow, n: int) -> bool:
    return (await world.row(hook)).delivered == n


async def test_what_is_refused_is_sent_again_until_it_is_taken(world: World) -> None:
    async with a_site() as site, world.delivering():
        hook = await world.add(site.url)
        site.status = 503
        world.log.publish(5)
        await site.until(lambda: site.tries >= 3)
        row = await world.row(hook)
        assert (row.last_error, row.waiting, row.delivered) == ("answered 503", 5, 0)
        site.status = 200
        await site.until(lambda: site.ids == [1, 2, 3, 4, 5])
        await world.until(lambda: _is_told(world, hook, 5))
        assert (await world.row(hook)).last_error is None


async def test_another_process_goes_on_where_one_ended(world: World) -> None:
    async with a_site() as site:
        async with world.delivering() as first:
            hook = await world.add(site.url)
            world.log.publish(5)
            await site.until(lambda: len(site.ids) == 5)
            await world.until(lambda: _is_told(world, hook, 5))
            await first.give_back()
        world.log.publish(5)
        async with world.delivering():
            await site.until(lambda: len(site.ids) == 10)
    assert site.ids == list(range(1, 11))


async def test_two_processes_do_not_send_the_same(world: World) -> None:
    async with a_site() as site, world.delivering(), world.delivering():
        hook = await world.add(site.url)
        world.log.publish(50)
        await world.until(lambda: _is_told(world, hook, 50))
        world.log.publish(50)
        await world.until(lambda: _is_told(world, hook, 100))
    assert site.ids == list(range(1, 101))


async def test_a_slow_receiver_keeps_nobody_waiting(world: World) -> None:
    async with a_site() as slow, a_site() as quick, world.delivering():
        slow.hold.clear()
        await world.add(slow.url)
        await world.add(quick.url)
        world.log.publish(5)
        await quick.until(lambda: len(quick.ids) == 5)
        assert slow.ids == []
        slow.hold.set()
        await slow.until(lambda: len(slow.ids) == 5)


async def test_only_what_is_asked_for_is_sent(world: World) -> None:
    async with a_site() as site, world.delivering():
        await world.add(site.url, job="b", types=["page", "alarm"])
        world.log.publish(20, job="a")
        world.log.publish(1, job="b", type="node")
        world.log.publish(2, job="b")
        world.log.publish(1, job="b", type="alarm")
        await site.until(lambda: len(site.ids) == 3)
    assert site.ids == [22, 23, 24]


async def test_nothing_is_sent_any_more_after_it_was_deleted(world: World) -> None:
    async with a_site() as site, world.delivering() as deliveries:
        hook, other = await world.add(site.url), await world.add(site.url)
        world.log.publish(1)
        await site.until(lambda: site.ids == [1, 1])
        await world.book.delete(hook.id)

        async def is_heard() -> bool:
            return deliveries.served == {other.id}

        await world.until(is_heard)
        world.log.publish(1)
        await world.until(lambda: _is_told(world, other, 2))
        assert site.ids == [1, 1, 2]
        assert not await world.store.reader.mark(state_mark(hook.id))
        with pytest.raises(NotFound):
            await world.book.delete(hook.id)


async def test_private_addresses_are_told_of_nothing(world: World) -> None:
    async with a_site() as site:
        allowed = await world.add(site.url)
        world.guard = AddressGuard()
        async with world.delivering():
            world.log.publish(1)

            async def is_refused() -> bool:
                return "loopback" in ((await world.row(allowed)).last_error or "")

            await world.until(is_refused)
        assert site.tries == 0


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"url": "http://127.0.0.1/in"}, "url"),
        ({"url": "http://localhost:8000/"}, "url"),
        ({"url": "http://[::1]/"}, "url"),
        ({"url": "http://169.254.169.254/latest"}, "url"),
        ({"url": "http://user:word@example.com/"}, "url"),
        ({"url": "ftp://example.com/"}, "ftp"),
        ({"url": "nonsense"}, "nonsense"),
        ({"url": "http://example.com/", "types": []}, "types"),
        ({"url": "http://example.com/", "types": ["page", "weather"]}, "types[1]"),
    ],
)
async def test_what_cannot_be_is_refused_by_name(
    world: World, wish: dict[str, object], field: str
) -> None:
    book = HookBook(world.store, world.log, AddressGuard())
    with pytest.raises(SkitterError) as caught:
        await book.add(WebhookWish.model_validate(wish))
    assert field in str(caught.value)


async def test_there_is_an_end_to_how_many_there_may_be(world: World) -> None:
    for n in range(MOST):
        await world.add(f"http://127.0.0.1:9/{n}")
    with pytest.raises(ConfigError):
        await world.add("http://127.0.0.1:9/more")
    assert len(await world.book.rows()) == MOST
