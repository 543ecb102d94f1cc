"""Names that others have looked up: found in the store, told to it, and never waited for."""

import asyncio
import socket
from collections.abc import Mapping, Sequence

import pytest

from skitter.clock import SystemClock
from skitter.crawl import shared_names
from skitter.crawl.shared_names import SharedNames
from skitter.errors import DnsError, FrontierError
from skitter.fetch.dns import Aged, Resolver
from skitter.fetch.guard import AddressGuard
from skitter.testing.virtual_clock import VirtualClock

PUBLIC = "93.184.216.34"


class Store:
    """Values in memory; it may be away, slow or broken."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.asked: list[list[str]] = []
        self.told: list[dict[str, bytes]] = []
        self.away = ""
        self.takes_s = 0.0
        self.broken = False

    @property
    def trouble(self) -> str:
        return self.away

    async def share(self, values: Mapping[str, bytes], ttl_ms: int) -> None:
        assert ttl_ms == 300_000
        self.told.append(dict(values))
        self._check()
        self.values.update(values)

    async def shared(self, names: Sequence[str]) -> list[bytes | None]:
        self.asked.append(list(names))
        await asyncio.sleep(self.takes_s)
        self._check()
        return [self.values.get(name) for name in names]

    def _check(self) -> None:
        if self.broken:
            raise FrontierError("it is broken")


class Servers:
    """Name servers: what they know, and what they were asked."""

    def __init__(self, **names: Sequence[str]) -> None:
        self.names = names
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        await asyncio.sleep(0)
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self.names[host]


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_names, "GATHER_S", 0.02)
    monkeypatch.setattr(shared_names, "PATIENCE_S", 60.0)


async def told(names: SharedNames) -> None:
    """Wait until the store was told of what was found."""
    if names._telling is not None:
        await names._telling


async def test_what_one_has_looked_up_the_others_find() -> None:
    store, clock = Store(), SystemClock()
    first, second = Servers(a=[PUBLIC, "2606:2800::1"]), Servers()
    finder, other = (SharedNames(store, clock, lookup=one) for one in (first, second))
    assert await finder("a") == [PUBLIC, "2606:2800::1"]
    await told(finder)
    found = await other("a")
    assert isinstance(found, Aged)
    assert found.addresses == (PUBLIC, "2606:2800::1")
    assert 240 < found.left_s <= 300
    assert (first.asked, second.asked, other.spared) == (["a"], [], 1)
    await finder.close()
    await other.close()


async def test_many_names_are_asked_for_and_told_together() -> None:
    store = Store()
    store.takes_s = 0.01
    hosts = [f"h{n}" for n in range(50)]
    names = SharedNames(store, SystemClock(), lookup=Servers(**{host: [PUBLIC] for host in hosts}))
    await asyncio.gather(*(names(host) for host in hosts))
    await told(names)
    assert len(store.asked) <= 2
    assert len(store.told) <= 2
    assert len(store.values) == 50
    await names.close()


@pytest.mark.parametrize("what", ["away", "slow", "broken"])
async def test_nobody_waits_for_a_store_that_does_not_answer(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_names, "PATIENCE_S", 0.1)
    store = Store()
    if what == "away":
        store.away, store.takes_s = "store does not answer", 60
    elif what == "slow":
        store.takes_s = 60
    else:
        store.broken = True
    names = SharedNames(store, SystemClock(), lookup=Servers(a=[PUBLIC]))
    async with asyncio.timeout(30):
        assert await names("a") == [PUBLIC]
        assert await names("a") == [PUBLIC]
    await names.close()


@pytest.mark.parametrize(
    "addresses", [["10.0.0.7"], ["127.0.0.1"], [PUBLIC, "192.168.1.1"], ["fe80::1"], []]
)
async def test_private_addresses_are_not_told(addresses: list[str]) -> None:
    store = Store()
    names = SharedNames(store, SystemClock(), lookup=Servers(a=addresses))
    assert await names("a") == addresses
    await told(names)
    assert store.told == []
    await names.close()


@pytest.mark.parametrize(
    "value",
    [
        *(b"", b"x", b"99999999999999", b"1 93.184.216.34", b"99999999999999 10.0.0.7"),
        *(b"99999999999999 no-address", b"\xff\xfe", b"99999999999999 "),
    ],
)
async def test_what_cannot_be_used_is_looked_up_anew(value: bytes) -> None:
    store, servers = Store(), Servers(a=[PUBLIC])
    store.values["dns:a"] = value
    names = SharedNames(store, SystemClock(), lookup=servers)
    assert await names("a") == [PUBLIC]
    assert servers.asked == ["a"]
    await names.close()


async def test_a_name_that_does_not_exist_is_nobodys_news() -> None:
    store, clock = Store(), SystemClock()
    names = SharedNames(store, clock, lookup=Servers())
    resolver = Resolver(AddressGuard(), lookup=names, clock=clock)
    with pytest.raises(DnsError):
        await resolver.resolve("a", url="http://a/")
    await told(names)
    assert store.told == []
    await names.close()


async def test_a_resolver_keeps_an_answer_for_no_longer_than_it_is_good() -> None:
    asked = 0

    async def lookup(host: str) -> Aged:
        nonlocal asked
        asked += 1
        return Aged((PUBLIC,), 10.0)

    clock = VirtualClock()
    resolver = Resolver(AddressGuard(), lookup=lookup, clock=clock)
    for pause_s in (0.0, 9.9, 0.1):
        clock.advance(pause_s)
        assert (await resolver.resolve("a", url="http://a/")).addresses == (PUBLIC,)
    assert asked == 2


async def test_who_is_cancelled_takes_nothing_from_the_others() -> None:
    store = Store()
    store.takes_s = 0.05
    names = SharedNames(store, SystemClock(), lookup=Servers(a=[PUBLIC]))
    first, second = (asyncio.create_task(names("a")) for _ in range(2))
    await asyncio.sleep(0.01)
    first.cancel()
    assert await second == [PUBLIC]
    await asyncio.wait([first])
    await names.close()
    await names.close()
