import asyncio
import socket
import threading

import pytest

from skitter.errors import AddressRefused, DnsError, FetchError
from skitter.fetch.dns import DnsOptions, Resolver, ThreadedLookup
from skitter.fetch.guard import AddressGuard
from skitter.fetch.hosts import HostsTable
from skitter.testing.virtual_clock import VirtualClock

URL = "http://a.example/"
OPTIONS = DnsOptions(ttl_s=300, failure_ttl_s=60, trouble_ttl_s=5, max_names=3)


class Names:
    """A name server that counts its questions."""

    def __init__(self, table: dict[str, list[str] | Exception]) -> None:
        self.table = table
        self.asked: list[str] = []

    async def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        await asyncio.sleep(0)
        found = self.table.get(host, socket.gaierror(socket.EAI_NONAME, "unknown name"))
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def resolver(names: Names, clock: VirtualClock, **options: object) -> Resolver:
    hosts = HostsTable.parse("127.0.0.1 *.local.test")
    return Resolver(AddressGuard(), hosts=hosts, lookup=names, options=OPTIONS, clock=clock)


async def test_an_answer_is_kept_for_its_lifetime(clock: VirtualClock) -> None:
    names = Names({"a.example": ["1.1.1.1", "1.0.0.1", "1.1.1.1"]})
    resolve = resolver(names, clock).resolve
    assert (await resolve("a.example", url=URL)).addresses == ("1.1.1.1", "1.0.0.1")
    clock.advance(299)
    await resolve("a.example", url=URL)
    assert len(names.asked) == 1
    clock.advance(2)
    await resolve("a.example", url=URL)
    assert len(names.asked) == 2


async def test_a_missing_name_is_remembered_for_a_shorter_time(clock: VirtualClock) -> None:
    names = Names({})
    resolve = resolver(names, clock).resolve
    for _ in range(3):
        with pytest.raises(DnsError, match="unknown name") as caught:
            await resolve("a.example", url=URL)
        assert caught.value.url == URL
    assert len(names.asked) == 1
    clock.advance(61)
    names.table["a.example"] = ["1.1.1.1"]
    assert (await resolve("a.example", url=URL)).addresses == ("1.1.1.1",)


@pytest.mark.parametrize(
    "trouble",
    [socket.gaierror(socket.EAI_AGAIN, "try again"), UnicodeError("odd name"), OSError("broken")],
)
async def test_trouble_is_forgotten_soon(clock: VirtualClock, trouble: Exception) -> None:
    names = Names({"a.example": trouble})
    resolve = resolver(names, clock).resolve
    with pytest.raises(DnsError):
        await resolve("a.example", url=URL)
    clock.advance(6)
    names.table["a.example"] = ["1.1.1.1"]
    assert (await resolve("a.example", url=URL)).addresses == ("1.1.1.1",)


async def test_a_name_without_addresses_is_a_dns_error(clock: VirtualClock) -> None:
    with pytest.raises(DnsError, match="no address"):
        await resolver(Names({"a.example": []}), clock).resolve("a.example", url=URL)


async def test_many_askers_make_one_question(clock: VirtualClock) -> None:
    names = Names({"a.example": ["1.1.1.1"]})
    resolve = resolver(names, clock).resolve
    answers = await asyncio.gather(*(resolve("a.example", url=URL) for _ in range(50)))
    assert {answer.addresses for answer in answers} == {("1.1.1.1",)}
    assert names.asked == ["a.example"]


async def test_an_asker_who_gives_up_does_not_take_the_answer_from_the_others(
    clock: VirtualClock,
) -> None:
    names = Names({"a.example": ["1.1.1.1"]})
    resolve = resolver(names, clock).resolve
    impatient = asyncio.ensure_future(resolve("a.example", url=URL))
    patient = asyncio.ensure_future(resolve("a.example", url=URL))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).addresses == ("1.1.1.1",)
    with pytest.raises(asyncio.CancelledError):
        await impatient
    assert len(names.asked) == 1


async def test_the_cache_is_bounded_and_forgets_what_was_not_used_longest(
    clock: VirtualClock,
) -> None:
    names = Names({f"{n}.example": ["1.1.1.1"] for n in range(9)})
    resolve = resolver(names, clock).resolve
    for host in ("1.example", "2.example", "3.example", "1.example", "4.example"):
        await resolve(host, url=URL)
    names.asked.clear()
    for host in ("1.example", "3.example", "4.example", "2.example"):
        await resolve(host, url=URL)
    assert names.asked == ["2.example"]


async def test_the_hosts_table_is_asked_first_and_is_the_operators_word(
    clock: VirtualClock,
) -> None:
    names = Names({"x.local.test": ["1.1.1.1"]})
    found = await resolver(names, clock).resolve("x.local.test", url=URL)
    assert found == (("127.0.0.1",), True)
    assert names.asked == []


async def test_the_hosts_table_leads_to_no_metadata_service(clock: VirtualClock) -> None:
    text = "169.254.169.254 only.test mixed.test\n10.0.0.1 mixed.test"
    resolve = Resolver(
        AddressGuard(allow_private=True), hosts=HostsTable.parse(text), clock=clock
    ).resolve
    with pytest.raises(AddressRefused, match="metadata"):
        await resolve("only.test", url=URL)
    assert await resolve("mixed.test", url=URL) == (("10.0.0.1",), True)


async def test_a_literal_address_is_judged_without_a_question(clock: VirtualClock) -> None:
    names = Names({})
    resolve = resolver(names, clock).resolve
    assert (await resolve("1.1.1.1", url=URL)).addresses == ("1.1.1.1",)
    for literal in ("127.0.0.1", "::1", "169.254.169.254"):
        with pytest.raises(AddressRefused):
            await resolve(literal, url=URL)
    assert names.asked == []


async def test_private_addresses_are_left_out_of_a_mixed_answer(clock: VirtualClock) -> None:
    names = Names({"mixed.example": ["10.0.0.1", "1.1.1.1"], "inside.example": ["10.0.0.1"]})
    resolve = resolver(names, clock).resolve
    assert (await resolve("mixed.example", url=URL)).addresses == ("1.1.1.1",)
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1 is a private address"):
        await resolve("inside.example", url=URL)


async def test_closing_fails_open_questions_and_cancels_no_asker(clock: VirtualClock) -> None:
    async def silent(_host: str) -> list[str]:
        await asyncio.Event().wait()
        return []

    asked = Resolver(AddressGuard(), lookup=silent, clock=clock)
    waiting = asyncio.ensure_future(asked.resolve("a.example", url=URL))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asked.close()
    asked.close()
    with pytest.raises(FetchError, match="closed"):
        await waiting


async def test_threads_answer_in_parallel_up_to_their_number() -> None:
    together = threading.Barrier(4, timeout=30)

    def ask(host: str) -> list[str]:
        together.wait()
        return [f"{host}!"]

    lookup = ThreadedLookup(threads=4, ask=ask)
    answers = await asyncio.gather(*(lookup(str(n)) for n in range(8)))
    assert answers == [[f"{n}!"] for n in range(8)]
    lookup.close()


async def test_a_fault_in_a_thread_reaches_the_asker() -> None:
    def ask(_host: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown name")

    lookup = ThreadedLookup(ask=ask)
    with pytest.raises(socket.gaierror):
        await lookup("a.example")
    lookup.close()


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "中.example", "..", "a\x00b"])
async def test_a_name_no_resolver_takes_is_a_dns_error(host: str) -> None:
    asked = Resolver(AddressGuard())
    with pytest.raises(DnsError):
        await asked.resolve(host, url=URL)
    asked.close()


async def test_the_system_knows_localhost() -> None:
    asked = Resolver(AddressGuard(allow_private=True))
    found = await asked.resolve("localhost", url=URL)
    assert set(found.addresses) <= {"127.0.0.1", "::1"}
    asked.close()
