"""A request that is called off in the last moment, right before it would be written."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from skitter.errors import LeaseLost
from skitter.fetch.base import Request
from skitter.fetch.dns import Resolver
from skitter.fetch.guard import AddressGuard
from skitter.fetch.http import HttpFetcher
from skitter.testing.fake_fetcher import FakeFetcher, page

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"


class Site:
    """Counts connections and requests; of each connection it may answer the first alone."""

    def __init__(self) -> None:
        self.connections = 0
        self.heads: list[bytes] = []
        self.answers_once = False
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        answered = False
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                if answered and self.answers_once:
                    break
                writer.write(ANSWER)
                answered = True
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def fetching() -> AsyncIterator[tuple[Site, HttpFetcher]]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    fetcher = HttpFetcher(resolver=Resolver(AddressGuard(allow_private=True)))
    try:
        yield site, fetcher
    finally:
        await fetcher.close()
        server.close()
        await server.wait_closed()


class Permit:
    """Notes what had been sent when it was asked, and refuses from some time on."""

    def __init__(self, site: Site | None = None, *, refuses_at: int = 0) -> None:
        self._site = site
        self._refuses_at = refuses_at
        self.asked: list[int] = []

    def __call__(self) -> None:
        self.asked.append(len(self._site.heads) if self._site is not None else 0)
        if len(self.asked) == self._refuses_at:
            raise LeaseLost("the lease has ended")


async def test_a_permitted_request_is_made_and_the_permit_asked_once() -> None:
    async with fetching() as (site, fetcher):
        permit = Permit(site)
        response = await fetcher.fetch(Request(url=site.url, permit=permit))
        assert (response.body, permit.asked) == (b"ok", [0])


async def test_the_permit_is_asked_when_the_connection_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Names and connections may take seconds, in which a lease can end."""
    async with fetching() as (site, fetcher):
        order: list[str] = []
        connect = fetcher.pool.open

        async def slow(*args: object) -> object:
            connection = await connect(*args)  # type: ignore[arg-type]
            order.append("connected")
            return connection

        monkeypatch.setattr(fetcher.pool, "open", slow)
        await fetcher.fetch(Request(url=site.url, permit=lambda: order.append("asked")))
        assert order == ["connected", "asked"]


@pytest.mark.parametrize("kept_alive", [True, False])
async def test_a_request_that_is_called_off_sends_nothing_and_leaves_no_connection(
    kept_alive: bool,
) -> None:
    async with fetching() as (site, fetcher):
        if kept_alive:
            await fetcher.fetch(Request(url=site.url))
        sent = len(site.heads)
        with pytest.raises(LeaseLost):
            await fetcher.fetch(Request(url=site.url, permit=Permit(site, refuses_at=1)))
        await asyncio.sleep(0.05)
        assert len(site.heads) == sent
        assert (fetcher.pool.idle_count, fetcher.pool.open_count) == (0, 0)
        # The next one is not disturbed by it.
        assert (await fetcher.fetch(Request(url=site.url))).body == b"ok"
        assert len(site.heads) == sent + 1


async def test_a_request_that_is_written_a_second_time_is_permitted_a_second_time() -> None:
    """A connection that was kept alive may be closed in the moment in which it is used."""
    async with fetching() as (site, fetcher):
        site.answers_once = True
        await fetcher.fetch(Request(url=site.url))
        permit = Permit(site, refuses_at=2)
        with pytest.raises(LeaseLost):
            await fetcher.fetch(Request(url=site.url, permit=permit))
        assert permit.asked == [1, 2]
        async with asyncio.timeout(30):
            while site.connections < 2:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert (site.connections, len(site.heads)) == (2, 2)


async def test_what_the_permit_raises_reaches_the_caller_as_it_is() -> None:
    async with fetching() as (site, fetcher):

        def broken() -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fetcher.fetch(Request(url=site.url, permit=broken))
        assert site.heads == []


async def test_the_fake_asks_for_the_permit_too() -> None:
    url = "http://site.test/"
    fetcher = FakeFetcher({url: page(url, "home")})
    permit = Permit(refuses_at=2)
    assert (await fetcher.fetch(Request(url=url, permit=permit))).body == b"home"
    with pytest.raises(LeaseLost):
        await fetcher.fetch(Request(url=url, permit=permit))
    assert (len(permit.asked), len(fetcher.requests)) == (2, 1)
