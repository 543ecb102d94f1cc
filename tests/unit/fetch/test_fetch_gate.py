"""What a request waits for before it is written, the gate of its address, and where it leaves."""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from skitter.errors import ConnectError, ConnectTimeout, FetchError
from skitter.fetch.base import FetchLimits, Request
from skitter.fetch.dns import Aged, Resolver
from skitter.fetch.guard import AddressGuard
from skitter.fetch.hosts import HostsTable
from skitter.fetch.http import HttpFetcher
from skitter.fetch.pool import PoolOptions
from skitter.testing.fake_fetcher import FakeFetcher, page

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"
PRIVATE = AddressGuard(allow_private=True)


class Site:
    """Says "ok" after a while, and remembers who asked and how many did so at a time."""

    def __init__(self, takes_s: float) -> None:
        self._takes_s = takes_s
        self.port = 0
        self.connections = self.now = self.most = 0
        self.peers: list[str] = []
        self.requests = 0
        self.once = False
        """Whether it answers the first request of a connection alone."""

    def url(self, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}/"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        answered = False
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                if answered and self.once:
                    break
                self.peers.append(writer.get_extra_info("peername")[0])
                self.now += 1
                self.most = max(self.most, self.now)
                await asyncio.sleep(self._takes_s)
                self.now -= 1
                writer.write(ANSWER)
                answered = True
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Busy(Exception):
    """The gate is closed."""


class Gate:
    """A gate that lets ``most`` in, and refuses where it is told to."""

    def __init__(self, most: int = 1, refuses: Collection[str] = ()) -> None:
        self._free = asyncio.Semaphore(most)
        self.refuses = refuses
        self.entered: list[str] = []
        self.inside: list[str] = []
        self.waited_s = 0.0
        """How long the last one has waited."""

    def minds(self, address: str) -> bool:
        return address != "127.0.0.9"

    async def enter(self, address: str) -> None:
        if address in self.refuses:
            raise Busy
        came = time.monotonic()
        await self._free.acquire()
        self.waited_s = time.monotonic() - came
        self.entered.append(address)
        self.inside.append(address)

    def leave(self, address: str) -> None:
        self.inside.remove(address)
        self._free.release()


@asynccontextmanager
async def fetching(
    gate: Gate | None = None,
    *,
    takes_s: float = 0.0,
    egress: str = "",
    hosts: str = "",
    names: Mapping[str, tuple[str, ...]] | None = None,
    connect_s: float = 20.0,
) -> AsyncIterator[tuple[Site, HttpFetcher]]:
    site = Site(takes_s)
    server = await asyncio.start_server(site.serve, "0.0.0.0", 0)
    site.port = server.sockets[0].getsockname()[1]

    async def lookup(host: str) -> Aged:
        return Aged((names or {})[host], 60)

    resolver = Resolver(PRIVATE, hosts=HostsTable.parse(hosts), lookup=lookup)
    options = PoolOptions(tick_s=0.02, gate=gate, egress=egress)
    fetcher = HttpFetcher(FetchLimits(connect_s=connect_s), resolver=resolver, pool=options)
    try:
        yield site, fetcher
    finally:
        await fetcher.close()
        server.close()
        await server.wait_closed()


# Ready


async def test_a_request_is_written_when_it_is_ready() -> None:
    async with fetching() as (site, fetcher):
        waits, ready = asyncio.Event(), asyncio.Event()
        waited_s = 0.0

        async def wait() -> None:
            nonlocal waited_s
            waits.set()
            came = time.monotonic()
            await ready.wait()
            waited_s = time.monotonic() - came

        began = time.monotonic()
        fetch = asyncio.create_task(fetcher.fetch(Request(url=site.url(), ready=wait)))
        async with asyncio.timeout(30):
            await waits.wait()
            while not site.connections:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert (site.connections, site.requests) == (1, 0), "it has connected and waits"
        ready.set()
        response = await fetch
        assert response.body == b"ok"
        rest_s = time.monotonic() - began - waited_s
        assert response.elapsed_ms <= rest_s * 1000 + 1, "that time is not the server's"


@pytest.mark.parametrize("kept_alive", [True, False])
async def test_a_request_that_is_put_off_keeps_its_connection(kept_alive: bool) -> None:
    async with fetching() as (site, fetcher):
        if kept_alive:
            await fetcher.fetch(Request(url=site.url()))

        async def refuse() -> None:
            raise Busy

        with pytest.raises(Busy):
            await fetcher.fetch(Request(url=site.url(), ready=refuse))
        assert site.requests == kept_alive
        await fetcher.fetch(Request(url=site.url()))
        assert site.connections == 1


async def test_a_request_that_is_written_twice_is_made_ready_twice() -> None:
    async with fetching() as (site, fetcher):
        site.once = True
        await fetcher.fetch(Request(url=site.url()))
        written: list[int] = []

        async def count() -> None:
            written.append(site.requests)

        await fetcher.fetch(Request(url=site.url(), ready=count))
        assert written == [1, 2]
        assert (site.connections, site.requests) == (2, 3)


async def test_the_fake_waits_to_be_ready_too() -> None:
    url = "http://site.test/"
    fetcher = FakeFetcher({url: page(url, "home")})

    async def refuse() -> None:
        raise Busy

    with pytest.raises(Busy):
        await fetcher.fetch(Request(url=url, ready=refuse))
    assert fetcher.requests == []


# The gate of an address


async def test_so_many_requests_go_to_an_address_at_a_time() -> None:
    gate = Gate(3)
    names = {f"h{n}.test": ("127.0.0.1",) for n in range(12)}
    async with fetching(gate, takes_s=0.02, names=names) as (site, fetcher):
        for _ in range(2):
            urls = [site.url(host) for host in names]
            await asyncio.gather(*(fetcher.fetch(Request(url=url)) for url in urls))
        assert (site.most, site.requests) == (3, 24)
        assert gate.inside == []
        assert site.connections == 12, "a place is needed for a connection, too"


async def test_the_wait_at_the_gate_counts_neither_as_connecting_nor_as_the_servers_time() -> None:
    gate = Gate(1)
    async with fetching(gate, connect_s=1.0) as (site, fetcher):
        await fetcher.fetch(Request(url=site.url()))
        # There is a connection to the first address; the second is connected to after the wait.
        for address, hold_s in (("127.0.0.1", 0.2), ("127.0.0.2", 1.2)):
            await gate.enter("127.0.0.1")
            began = time.monotonic()
            fetch = asyncio.create_task(fetcher.fetch(Request(url=site.url(address))))
            await asyncio.sleep(hold_s)
            gate.leave("127.0.0.1")
            response = await fetch
            rest_s = time.monotonic() - began - gate.waited_s
            assert gate.waited_s > hold_s / 2
            assert response.elapsed_ms <= rest_s * 1000 + 1


async def test_a_request_that_the_gate_refuses_sends_nothing() -> None:
    gate = Gate(1)
    async with fetching(gate) as (site, fetcher):
        gate.refuses = ["127.0.0.1"]
        with pytest.raises(Busy):
            await fetcher.fetch(Request(url=site.url()))
        assert site.connections == 0
        gate.refuses = []
        await fetcher.fetch(Request(url=site.url()))
        gate.refuses = ["127.0.0.1"]
        with pytest.raises(Busy):
            await fetcher.fetch(Request(url=site.url()))
        gate.refuses = []
        await fetcher.fetch(Request(url=site.url()))
        assert (site.connections, site.requests, gate.inside) == (1, 2, [])


async def test_whatever_goes_wrong_the_place_is_given_up() -> None:
    gate = Gate(1)
    async with fetching(gate, names={"none.test": ("127.0.0.1",)}) as (site, fetcher):

        async def broken() -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fetcher.fetch(Request(url=site.url(), ready=broken))
        with pytest.raises(ZeroDivisionError):
            await fetcher.fetch(Request(url=site.url(), permit=lambda: 1 // 0))  # type: ignore[arg-type]
        with pytest.raises(FetchError):
            await fetcher.fetch(Request(url="http://127.0.0.1:1/"))
        fetch = asyncio.create_task(fetcher.fetch(Request(url=site.url(), ready=broken)))
        await asyncio.sleep(0)
        fetch.cancel()
        await asyncio.wait([fetch])
        assert gate.inside == []


async def test_the_place_is_at_the_address_that_answers() -> None:
    gate = Gate(2)
    # Nothing answers on the first one: no such port is open there.
    names = {"two.test": ("::1", "127.0.0.1")}
    async with fetching(gate, names=names) as (site, fetcher):
        for _ in range(2):
            response = await fetcher.fetch(Request(url=site.url("two.test")))
            assert response.address == "127.0.0.1"
        assert gate.entered == ["::1", "127.0.0.1", "127.0.0.1"]
        assert gate.inside == []


async def test_hosts_the_operator_names_and_exempt_addresses_pass_freely() -> None:
    gate = Gate(0)
    async with fetching(gate, hosts="127.0.0.1 named.test") as (site, fetcher):
        async with asyncio.timeout(30):
            for host in ("named.test", "named.test", "127.0.0.9", "127.0.0.9"):
                await fetcher.fetch(Request(url=site.url(host)))
        assert gate.entered == []


# Where requests leave from


@pytest.mark.parametrize("egress", ["127.0.0.2", "127.0.0.3"])
async def test_requests_leave_from_the_address_that_is_named(egress: str) -> None:
    async with fetching(egress=egress) as (site, fetcher):
        await fetcher.fetch(Request(url=site.url()))
        assert site.peers == [egress]


async def test_of_two_families_the_one_that_fits_is_taken() -> None:
    names = {"two.test": ("::1", "127.0.0.1")}
    async with fetching(egress="127.0.0.2", names=names) as (site, fetcher):
        await fetcher.fetch(Request(url=site.url("two.test")))
        with pytest.raises(ConnectError, match=r"::1 cannot be reached from 127\.0\.0\.2"):
            await fetcher.fetch(Request(url=site.url("[::1]")))


async def test_without_a_gate_connecting_has_its_limit() -> None:
    async with fetching(names={"slow.test": ("127.0.0.1",)}) as (site, fetcher):
        await fetcher.fetch(Request(url=site.url("slow.test")))

        async def hang(*_: object) -> None:
            await asyncio.sleep(5)

        fetcher.pool._connect = hang  # type: ignore[method-assign,assignment]
        limits = replace(FetchLimits(), connect_s=0.05)
        with pytest.raises(ConnectTimeout):
            await fetcher.fetch(Request(url=site.url("127.0.0.5"), limits=limits))
