"""A store that keeps its page index in PostgreSQL: who may join, what is moved, and outages."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import postgres
import pytest
from frontier_backends import FAR_HOST, HOST, Rig, open_rig
from redis_backend import ColdBackend, ColdMember, Member, RedisBackend

from skitter.errors import ConfigError, FrontierError, StoreUnavailable
from skitter.frontier.model import Ack, Hop, Lease, Result, pointer_to
from skitter.frontier.pages.postgres import PostgresPages
from skitter.frontier.redis.batch import Batch
from skitter.frontier.redis.intake import HOLD_MS
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import JobNumber

NOTE = b'{"url":"https://www.example.com/a"}'


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[ColdBackend]:
    made = ColdBackend(tmp_path, VirtualClock())
    yield made
    await made.close()


@pytest.fixture
async def rig(backend: ColdBackend) -> Rig:
    return await open_rig(backend)


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[Rig]:
    made = RedisBackend(tmp_path, VirtualClock())
    yield await open_rig(made)
    await made.close()


def member(rig: Rig) -> ColdMember:
    assert isinstance(rig.store, ColdMember)
    return rig.store


async def in_redis(store: Member, job: JobNumber) -> int:
    names = [store.keys.notes(tag, job) for tag in range(256)]
    return sum(await store.nodes.run_many([(name, ("HLEN", name)) for name in names]))


async def note_of(rig: Rig, path: str) -> bytes:
    link = rig.link(path)
    return await rig.store.note(link.job, link.host, link.fp)


async def taken(rig: Rig, path: str = "a") -> Lease:
    await rig.offer(path)
    rig.tick(1)
    return await rig.take_one()


async def test_redis_holds_no_note_and_no_pointer(rig: Rig) -> None:
    target = rig.link("b", FAR_HOST)
    await rig.end(await taken(rig), note=NOTE, hops=[Hop(target.fp, target.host)])
    assert await note_of(rig, "a") == NOTE
    assert await rig.store.note(rig.job, FAR_HOST, target.fp) == pointer_to(rig.link("a").url)
    assert await in_redis(member(rig), rig.job) == 0


async def test_a_record_still_waits_for_the_process_that_writes_files(rig: Rig) -> None:
    await rig.end(await taken(rig), note=NOTE, listed=True)
    keys = member(rig).keys
    stream = keys.records(keys.tag_of_host(HOST), rig.job)
    assert await member(rig).nodes.run(stream, "XLEN", stream) == 1


async def test_a_lease_that_was_lost_leaves_no_note(rig: Rig, backend: ColdBackend) -> None:
    lease = await taken(rig)
    rig.tick(600)
    receipt = await rig.end(lease, note=NOTE)
    assert receipt.stale == (lease.id,)
    assert await note_of(rig, "a") == b""


async def test_a_member_that_dies_between_note_and_ack_leaves_a_page_to_fetch_again(
    rig: Rig, backend: ColdBackend
) -> None:
    lease = await taken(rig)
    store = member(rig)
    batch = await held(store, lease)
    assert await store._pages.put([Ack(lease, Result.DONE, note=NOTE)], batch)
    await rig.crash()
    assert (await rig.store.counts(rig.job)).done == 0
    assert await note_of(rig, "a") == NOTE
    rig.tick(600)
    await rig.end(await rig.take_one(), note=b'{"visit":"another"}')
    assert await note_of(rig, "a") == b'{"visit":"another"}'


async def held(store: ColdMember, lease: Lease) -> dict[int, int]:
    """Return the order of what a lease brings, as an ack gets it."""
    batch = Batch([Ack(lease, Result.DONE, note=NOTE)])
    await store._intake._hold(batch, everyone=True)
    return batch.orders


async def test_who_is_held_up_after_the_hold_does_not_undo_the_note_of_the_next(
    rig: Rig,
) -> None:
    lease = await taken(rig)
    store = member(rig)
    slow = await held(store, lease)
    rig.tick(600 + HOLD_MS / 1000)
    assert await rig.take() == [], "the host rests: something may be under way"
    rig.tick(1)
    again = await rig.take_one()
    assert again.url == lease.url
    await rig.end(again, note=b'{"newer":1}')
    assert await store._pages.put([Ack(lease, Result.DONE, note=NOTE)], slow)
    assert await note_of(rig, "a") == b'{"newer":1}'


async def test_orders_grow_even_when_the_clock_stands_still(rig: Rig) -> None:
    lease = await taken(rig)
    orders = [(await held(member(rig), lease))[lease.id] for _ in range(3)]
    assert orders == [rig.now_ms, rig.now_ms + 1, rig.now_ms + 2]


async def test_a_store_keeps_to_its_page_index(rig: Rig) -> None:
    other = PostgresPages(postgres.shared_postgres().url, "of another store")
    await other.open()
    joining = Member(member(rig).url, rig.clock)
    await joining.open()
    with pytest.raises(ConfigError, match="--index: this store has its page index in another"):
        await joining.keep_pages(other)
    with pytest.raises(ConfigError, match="--index: this store has its page index in another"):
        await joining.read_pages(other)
    with pytest.raises(ConfigError, match=r"name it with --index postgresql://127\.0\.0\.1:\d+/"):
        joining.require_pages()
    with pytest.raises(ConfigError, match="name it with --index"):
        await joining.note(rig.job, HOST, rig.link("a").fp)
    with pytest.raises(ConfigError, match="name it with --index"):
        await joining.drop_job(rig.job)
    assert rig.job in await joining.jobs()
    await joining.vanish()
    await other.close()


async def test_what_redis_has_is_moved_and_who_began_without_is_stopped(plain: Rig) -> None:
    target = plain.link("b", FAR_HOST)
    hops = [Hop(target.fp, target.host)]
    await plain.end(await taken(plain), note=NOTE, hops=hops, digest=b"d" * 16)
    late = await taken(plain, "late")
    old = plain.store
    assert isinstance(old, Member)
    assert await in_redis(old, plain.job) == 2
    joined = ColdMember(old.url, plain.clock)
    await joined.open()

    assert await in_redis(old, plain.job) == 0
    wanted = [
        (plain.job, plain.link("a").host, plain.link("a").fp),
        (plain.job, FAR_HOST, target.fp),
    ]
    assert await joined.notes_of(wanted) == [NOTE, pointer_to(plain.link("a").url)]
    assert await joined.contents(plain.job, [b"d" * 16]) == [plain.link("a").url]
    with pytest.raises(FrontierError, match="start again with --index URL"):
        await old.ack([Ack(late, Result.DONE, note=NOTE)])
    assert (await old.counts(plain.job)).leased == 1
    assert await in_redis(old, plain.job) == 0
    await joined.vanish()


async def test_an_outage_is_waited_out_and_nothing_is_lost(plain: Rig, tmp_path: Path) -> None:
    store = plain.store
    assert isinstance(store, Member)
    with postgres.start_postgres(tmp_path / "postgres") as server:
        pages = PostgresPages(server.url, store.pages_space)
        await pages.open()
        await store.keep_pages(pages)
        lease = await taken(plain)
        server.kill()
        acking = asyncio.create_task(plain.end(lease, note=NOTE))
        while not store.trouble:
            await asyncio.sleep(0.01)
        assert "page index postgresql://postgres@127.0.0.1" in store.trouble
        assert postgres.PASSWORD not in store.trouble
        assert not acking.done()
        reader = Member(store.url, plain.clock)
        await reader.open()
        reader._pages.use(pages, 0.0)
        with pytest.raises(StoreUnavailable, match="page index"):
            await reader.note(plain.job, HOST, lease.fp)
        server.start()
        assert (await acking).accepted == 1
        assert store.trouble == ""
        assert await note_of(plain, "a") == NOTE
        await reader.vanish()
        await pages.close()


async def test_it_is_told_where_the_page_index_is(rig: Rig, plain: Rig) -> None:
    port = postgres.shared_postgres().port
    told = await member(rig).told_home()
    assert told == f"page index: in PostgreSQL, postgresql://127.0.0.1:{port}/postgres"
    assert isinstance(plain.store, Member)
    assert (await plain.store.told_home()).startswith(
        "page index: in Redis itself, kept as Redis keeps its data (appendonly "
    )
