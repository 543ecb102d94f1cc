"""What a queued URL carries comes out with every lease on it, whatever happened in between."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from frontier_backends import (
    BACKENDS,
    FAR_HOST,
    FOR_LONG_MS,
    HOST,
    KIN,
    OTHER_HOST,
    SLOTS,
    Rig,
    open_rig,
    path_of,
)
from redis_backend import Member, RedisBackend

from skitter.errors import FrontierError
from skitter.frontier.model import (
    MAX_DATA_BYTES,
    Ack,
    Lease,
    Link,
    Overflow,
    Result,
    SeenOptions,
    UrlState,
)
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import PageClass
from skitter.url.partition import BUCKETS

NAV = PageClass.NAV
DATA = bytes(range(256)) + b"\xff\x00" * 30 + bytes(8)
"""Every byte there is, and an end that looks like a number."""
LEASE_S = 120.001
SHARED = sorted(name for name, make in BACKENDS.items() if getattr(make, "shared", False))


@pytest.fixture(params=sorted(BACKENDS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


async def take(rig: Rig) -> Lease:
    """Let the host rest, then lease its first URL."""
    rig.tick(1)
    return await rig.take_one()


async def carried(rig: Rig) -> dict[str, bytes]:
    """Finish everything and tell what each URL had with it."""
    found: dict[str, bytes] = {}
    for _ in range(100):
        rig.tick(1)
        leases = await rig.take()
        if not leases:
            break
        found |= {path_of(lease): lease.data for lease in leases}
        await rig.store.ack([Ack(lease, Result.DONE) for lease in leases])
    return found


# Handing out


async def test_a_lease_has_the_data_of_its_link(rig: Rig) -> None:
    most = bytes(n % 251 for n in range(MAX_DATA_BYTES))
    sent = {"a": DATA, "b": b"", "c": b"\x00", "d": most, "e": b"x"}
    await rig.offer(*(rig.link(path, data=data) for path, data in sent.items()))
    assert await carried(rig) == sent


async def test_links_of_an_ack_carry_data_to_every_host(rig: Rig) -> None:
    await rig.offer("list")
    places = {"near": HOST, "kin": KIN[0], "other": OTHER_HOST, "far": FAR_HOST}
    found = [rig.link(path, host, data=path.encode() * 9) for path, host in places.items()]
    await rig.end(await rig.take_one(), links=[*found, rig.link("bare")])
    assert await carried(rig) == {"bare": b"", **{path: path.encode() * 9 for path in places}}


async def test_a_look_at_a_waiting_url_shows_its_data(rig: Rig) -> None:
    waits, later = rig.link("a", data=DATA), rig.link("b", data=b"b", not_before_ms=1 << 50)
    await rig.offer(waits, later)
    for link in (waits, later):
        seen = (await rig.look(link)).link
        assert seen is not None
        assert seen.data == link.data


@pytest.mark.parametrize("referrer", ["", f"https://{HOST}/", "https://elsewhere.test/ü"])
async def test_what_else_a_link_says_is_not_touched_by_its_data(rig: Rig, referrer: str) -> None:
    said: dict[str, Any] = {"page_class": NAV, "priority": 8, "depth": 3, "referrer": referrer}
    await rig.offer(rig.link("p?q=%C3%BC", data=DATA, **said), rig.link("bare", **said))
    for path in ("p?q=%C3%BC", "bare"):
        lease = await take(rig)
        assert path_of(lease) == path
        assert (lease.page_class, lease.priority, lease.depth) == (NAV, 8, 3)
        assert (lease.referrer, lease.visit, lease.attempts) == (referrer, 1, 0)
        await rig.end(lease)


# What it outlives


async def test_data_waits_for_its_start_time(rig: Rig) -> None:
    await rig.offer(rig.link("a", data=DATA, not_before_ms=rig.now_ms + 5_000))
    await rig.restart()
    rig.tick(5)
    assert (await rig.take_one()).data == DATA


@pytest.mark.parametrize("result", [Result.RETRY, Result.DEFER])
@pytest.mark.parametrize("wait_ms", [None, 0, 9_000])
async def test_data_stays_through_retries_and_defers(
    rig: Rig, result: Result, wait_ms: int | None
) -> None:
    await rig.offer(rig.link("a", data=DATA), rig.link("b", data=b"b"))
    for _ in range(3):
        lease = await take(rig)
        assert lease.data == (DATA if path_of(lease) == "a" else b"b")
        at_ms = None if wait_ms is None else rig.now_ms + wait_ms
        if result is Result.RETRY and at_ms is None:
            at_ms = rig.now_ms
        await rig.end(lease, result, at_ms=at_ms)
        rig.tick(10)
    assert await carried(rig) == {"a": DATA, "b": b"b"}


async def test_data_outlives_lost_leases(rig: Rig) -> None:
    await rig.offer(rig.link("a", data=DATA), rig.link("b", data=b"b"), "c")
    for lost in range(3):
        lease = await take(rig)
        assert (path_of(lease), lease.data, lease.lost) == ("a", DATA, lost)
        rig.tick(LEASE_S)
        assert await rig.take() == [], "its host rests first"
    assert await carried(rig) == {"a": DATA, "b": b"b", "c": b""}


@pytest.mark.parametrize("orderly", [True, False])
async def test_data_outlives_restarts_and_crashes(rig: Rig, orderly: bool) -> None:
    """Also that of a URL that was leased, or given back, at that moment."""
    await rig.offer(*(rig.link(f"p{n}", data=DATA[n:]) for n in range(6)), "bare")
    await rig.end(await take(rig), Result.DEFER)
    await take(rig)
    for _ in range(2):
        await (rig.restart() if orderly else rig.crash())
        rig.tick(LEASE_S)
    assert await carried(rig) == {"bare": b"", **{f"p{n}": DATA[n:] for n in range(6)}}


async def test_a_nav_page_keeps_its_data_from_visit_to_visit(rig: Rig) -> None:
    await rig.offer(rig.link("nav", page_class=NAV, data=DATA))
    for visit in range(1, 4):
        lease = await take(rig)
        assert (lease.visit, lease.data) == (visit, DATA)
        await rig.end(lease, at_ms=rig.now_ms + (visit % 2) * 60_000)
        rig.tick(60)


async def test_data_of_long_and_spilled_queues_comes_in_order(rig: Rig) -> None:
    job = await rig.add_job("small", queue_bound=3, overflow=Overflow.SPILL, delay_ms=0)
    sent = {f"p{n:02}": (b"%02d" % n) * 40 if n % 3 else b"" for n in range(30)}
    for path, data in sent.items():
        await rig.offer(rig.link(path, job=job, data=data))
    await rig.restart()
    found = {}
    for _ in sent:
        lease = await take(rig)
        found[path_of(lease)] = lease.data
        await rig.end(lease)
    assert list(found.items()) == list(sent.items())


# Which data it is


async def test_of_a_known_url_the_first_data_stays(rig: Rig) -> None:
    links = [rig.link("a", data=data) for data in (b"first", b"second", b"")]
    await rig.offer(links[0], links[1])
    await rig.offer(*links[1:])
    await rig.offer(rig.link("b"))
    await rig.offer(rig.link("b", data=b"late"))
    lease = await take(rig)
    await rig.offer(links[1])
    assert lease.data == b"first"
    await rig.end(lease, Result.RETRY, at_ms=rig.now_ms, links=[links[1]])
    assert await carried(rig) == {"a": b"first", "b": b""}


async def test_a_url_that_moves_up_keeps_the_data_and_the_referrer_it_has(rig: Rig) -> None:
    await rig.offer(
        rig.link("a", rank=500),
        rig.link("b", rank=900, data=b"first", referrer="https://one.test/"),
    )
    await rig.offer(rig.link("b", rank=10, data=b"second", referrer="https://two.test/"))
    await rig.offer(rig.link("a", rank=400, data=b"late"))
    lease = await take(rig)
    assert (path_of(lease), lease.rank) == ("b", 10)
    assert (lease.data, lease.referrer) == (b"first", "https://one.test/")
    await rig.end(lease)
    assert await carried(rig) == {"a": b""}


async def test_of_two_links_in_one_offer_the_better_brings_its_data(rig: Rig) -> None:
    await rig.offer(
        rig.link("a", rank=900, data=b"worse", referrer="https://one.test/"),
        rig.link("a", rank=100, data=b"better", referrer="https://two.test/"),
    )
    lease = await take(rig)
    assert (lease.data, lease.referrer) == (b"better", "https://two.test/")


async def test_a_forgotten_url_forgets_its_data(rig: Rig) -> None:
    await rig.offer(rig.link("a", data=b"first"), rig.link("b", data=b"first"), "c")
    link = rig.link("b")
    assert await rig.store.forget(rig.job, HOST, link.fp)
    assert (await rig.look(link)).state is UrlState.UNKNOWN
    await rig.offer(rig.link("b", data=b"second"))
    assert await carried(rig) == {"a": b"first", "b": b"second", "c": b""}


async def test_a_cleared_queue_forgets_data(rig: Rig) -> None:
    names = [f"p{n}" for n in range(20)]
    await rig.offer(*(rig.link(name, data=DATA) for name in names))
    await rig.offer(rig.link("later", data=DATA, not_before_ms=rig.now_ms + 1_000))
    assert await rig.store.clear(rig.job, PageClass.DATA) == 21
    await rig.offer(*(rig.link(name, data=b"new") for name in names), "later")
    assert await carried(rig) == {"later": b"", **dict.fromkeys(names, b"new")}


async def test_each_job_has_data_of_its_own(rig: Rig) -> None:
    second = await rig.add_job("job-2")
    await rig.offer(rig.link("a", data=b"one"), rig.link("a", job=second, data=b"two"))
    leases = [await take(rig)]
    await rig.end(leases[0])
    leases.append(await take(rig))
    assert {lease.job: lease.data for lease in leases} == {rig.job: b"one", second: b"two"}


# How much it may be


def test_more_data_than_fits_is_refused_when_the_link_is_made() -> None:
    fields: dict[str, Any] = {"url": "https://a.test/", "fp": 1, "host": "a.test", "job": 1}
    assert len(Link(**fields, data=bytes(MAX_DATA_BYTES)).data) == 16_384
    with pytest.raises(FrontierError, match=r"16385 bytes of data with https://a\.test/.* 16384"):
        Link(**fields, data=bytes(MAX_DATA_BYTES + 1))


# Where many share a store


@pytest.mark.parametrize("name", SHARED)
async def test_data_goes_with_a_slot_that_changes_hands(name: str, tmp_path: Path) -> None:
    backend: Any = BACKENDS[name](tmp_path, VirtualClock())
    rig = await open_rig(backend, delay_ms=0)
    other = await backend.join()
    await rig.offer(*(rig.link(f"p{n}", data=DATA[n:]) for n in range(9)))
    await rig.take_one()
    rig.grants = await rig.store.own("member-1", SLOTS, 5_000)
    rig.tick(LEASE_S)
    granted = await other.own("member-2", SLOTS, FOR_LONG_MS)
    rig.store, rig.grants = other, granted
    assert await carried(rig) == {f"p{n}": DATA[n:] for n in range(9)}
    await backend.close()


async def test_data_goes_with_a_host_that_is_moved(tmp_path: Path) -> None:
    backend = RedisBackend(tmp_path, VirtualClock())
    rig = await open_rig(backend, delay_ms=0)
    assert isinstance(rig.store, Member)
    sent = {f"p{n}": DATA[n:] if n % 2 else b"" for n in range(6)}
    await rig.offer(*(rig.link(path, KIN[0], data=data) for path, data in sent.items()))
    assert await rig.store.moving.move(KIN[0], 0)
    grants = await rig.store.own("member-1", range(BUCKETS), FOR_LONG_MS)
    rig.grants = [*rig.grants, *grants]
    assert await carried(rig) == sent
    await backend.close()


@pytest.mark.parametrize("kind", ["compact", "bloom"])
async def test_data_is_kept_whatever_the_seen_set_of_a_redis_is(kind: Any, tmp_path: Path) -> None:
    backend = RedisBackend(tmp_path, VirtualClock())
    rig = await open_rig(backend)
    assert isinstance(rig.store, Member)
    seen = SeenOptions(kind, expected=100_000, rate=1e-9)
    store = RedisFrontier(rig.store.nodes, clock=rig.clock, virtual=True, seen=seen)
    await store.open()
    rig.store, rig.job = store, await rig.add_job(f"job-{kind}")
    await rig.own()
    await rig.offer(rig.link("a", data=DATA), "b")
    await rig.offer(rig.link("a", data=b"second"), rig.link("b", data=b"late"))
    assert await carried(rig) == {"a": DATA, "b": b""}
    await backend.close()


async def test_urls_without_data_are_stored_as_they_always_were(tmp_path: Path) -> None:
    """A byte more for each would be a gigabyte more for a billion."""
    backend = RedisBackend(tmp_path, VirtualClock())
    rig = await open_rig(backend)
    assert isinstance(rig.store, Member)
    await rig.offer(rig.link("abc", referrer=f"https://{HOST}/"))
    keys, tag = rig.store.keys, rig.store.keys.tag_of_host(HOST)
    [band] = await rig.store.nodes.run(
        "", "ZRANGE", keys.bands(tag, rig.job, PageClass.DATA, HOST), 0, -1
    )
    key = keys.band(tag, rig.job, PageClass.DATA, int(band), HOST)
    [stored] = await rig.store.nodes.run(key, "LRANGE", key, 0, -1)
    assert (len(stored), stored[0], stored[23:]) == (28, 1, b"/abc/")
    await backend.close()
