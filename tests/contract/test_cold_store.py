"""The cold store on a real PostgreSQL: what is put is kept, found, and let go of."""

import asyncio
import secrets
from collections.abc import AsyncIterator

import pytest
import uvloop
from cold_rig import JOB, ODD, chunk, new_space, opened
from postgres import PostgresServer, shared_postgres

from skitter.frontier.cold.base import Chunk, ChunkId, ColdStore, Held
from skitter.frontier.cold.postgres import PAGE, PostgresStore
from skitter.types import HostKey, JobNumber


@pytest.fixture
async def store() -> AsyncIterator[PostgresStore]:
    async with opened(shared_postgres().url, new_space()) as store:
        yield store


async def all_of(store: ColdStore, job: JobNumber, host: HostKey | None = None) -> list[Chunk]:
    return [one async for one in store.chunks(job, host)]


async def test_records_come_back_as_they_were(store: PostgresStore) -> None:
    first, empty, last = chunk(*ODD), chunk(), chunk(*[secrets.token_bytes(2000)] * 512)
    for one in (first, empty, last):
        await store.put(one)
    unknown = ChunkId(secrets.randbits(63))
    assert await store.get([last.id, unknown, first.id, empty.id]) == {
        first.id: first.records,
        empty.id: (),
        last.id: last.records,
    }
    assert await store.get([]) == {}
    assert await all_of(store, JOB) == sorted([first, empty, last], key=lambda one: one.id)


@pytest.mark.parametrize("number", [0, 1, 2**31, 2**63 - 1])
async def test_any_id_of_63_bits_will_do(store: PostgresStore, number: int) -> None:
    one = Chunk(ChunkId(number), JOB, HostKey("a.test"), "", (b"x",))
    await store.put(one)
    assert await store.get([one.id]) == {one.id: (b"x",)}
    assert await all_of(store, JOB) == [one]


async def test_every_verb_may_be_repeated(store: PostgresStore) -> None:
    one, other = chunk(b"a"), chunk(b"b")
    for _ in range(2):
        await store.put(one)
        await store.put(other)
    assert (await store.sizes()).chunks == 2
    for _ in range(2):
        await store.done([one.id])
        await store.drop([other.id])
        await store.drop_job(JobNumber(8))
    assert await store.get([one.id, other.id]) == {one.id: (b"a",)}
    await store.done([])
    await store.drop([])


async def test_spaces_of_one_database_are_apart() -> None:
    url = shared_postgres().url
    async with opened(url, new_space(), keep_s=0) as mine, opened(url, new_space()) as yours:
        assert mine.identity != yours.identity
        one = chunk(b"mine")
        await mine.put(one)
        assert await yours.get([one.id]) == {}
        other = Chunk(one.id, one.job, one.host, one.line, (b"yours",))
        await yours.put(other)
        assert await mine.get([one.id]) == {one.id: (b"mine",)}
        await mine.drop_job(one.job)
        assert await mine.sizes() == Held(0, 0, 0)
        await mine.put(one)
        await yours.done([one.id])
        await mine.done([one.id])
        await mine.done([])
        assert await all_of(mine, JOB) == []
        assert await all_of(yours, JOB) == [other]


async def test_a_space_keeps_its_identity() -> None:
    url, space = shared_postgres().url, new_space()
    async with opened(url, space) as first:
        identity = first.identity
    async with opened(url, space) as again:
        assert again.identity == identity
    assert len(identity) == 32


async def test_members_that_open_an_empty_database_at_once_do_not_collide() -> None:
    server, name = shared_postgres(), f"d{secrets.token_hex(8)}"
    server.sql(f"CREATE DATABASE {name}")
    stores = [PostgresStore(server.url_of(database=name), "skitter") for _ in range(8)]
    await asyncio.gather(*(store.open() for store in stores))
    assert len({store.identity for store in stores}) == 1
    one = chunk(b"a")
    await stores[0].put(one)
    assert await stores[7].get([one.id]) == {one.id: one.records}
    await asyncio.gather(*(store.close() for store in stores))


def age_what_is_done(space: str) -> None:
    """Let more time pass than what is done is kept for."""
    hour_ago = f"now() - interval '61 minutes' WHERE space = '{space}' AND used IS NOT NULL"
    shared_postgres().sql(f"UPDATE skitter_cold SET used = {hour_ago}")


async def test_what_is_done_is_kept_for_a_while() -> None:
    space = new_space()
    async with opened(shared_postgres().url, space) as store:
        kept, gone = chunk(b"a"), chunk(b"b", b"c")
        for one in (kept, gone):
            await store.put(one)
        assert (await store.sizes())[:2] == (2, 3)
        await store.done([gone.id])
        assert (await store.sizes())[:2] == (1, 1)
        await store.done([])
        assert len(await all_of(store, JOB)) == 2
        age_what_is_done(space)
        await store.done([kept.id])
        assert await all_of(store, JOB) == [kept]


async def test_what_is_asked_for_again_is_kept_until_it_is_done_again() -> None:
    space = new_space()
    async with opened(shared_postgres().url, space) as store:
        one = chunk(b"a")
        await store.put(one)
        await store.done([one.id])
        assert await store.get([one.id]) == {one.id: (b"a",)}
        age_what_is_done(space)
        await store.done([])
        assert await store.get([one.id]) == {one.id: (b"a",)}
        await store.done([one.id])
        age_what_is_done(space)
        await store.done([])
        assert await store.get([one.id]) == {}


async def test_sweeping_is_rare_but_goes_on_while_there_is_much() -> None:
    space = new_space()
    async with opened(shared_postgres().url, space, keep_s=0, sweep_s=60) as store:
        fill(shared_postgres(), space, 2500, used=True)
        left = []
        for _ in range(4):
            await store.done([])
            left.append(rows(shared_postgres(), space))
        fill(shared_postgres(), space, 10, used=True)
        await store.done([])
        left.append(rows(shared_postgres(), space))
    assert left == [1500, 500, 0, 0, 10]


def fill(server: PostgresServer, space: str, count: int, *, used: bool = False) -> None:
    """Put rows there that nobody reads."""
    server.sql(
        f"INSERT INTO skitter_cold SELECT '{space}', id, {JOB}, 'a.test', '', 1, now(),"
        f" {'now()' if used else 'NULL'}, '' FROM generate_series(1, {count}) AS id"
    )


def rows(server: PostgresServer, space: str) -> int:
    [(count,)] = server.sql(f"SELECT count(*) FROM skitter_cold WHERE space = '{space}'")
    return int(count)


async def test_a_job_is_dropped_whole_and_alone() -> None:
    space = new_space()
    async with opened(shared_postgres().url, space) as store:
        other = chunk(b"a", job=JOB + 1)
        await store.put(other)
        fill(shared_postgres(), space, 2000)
        await store.drop_job(JOB)
        assert await store.sizes() == (1, 1, (await store.sizes()).bytes)
        assert await all_of(store, other.job) == [other]


async def test_chunks_are_read_page_by_page(store: PostgresStore) -> None:
    hosts = ["a.test", "a.test:8080", "b.test", "ab.test"]
    made = [chunk(b"%d" % n, host=host) for n in range(PAGE) for host in hosts]
    for one in made:
        await store.put(one)
    await store.put(chunk(b"x", job=JOB + 1))
    in_order = sorted(made, key=lambda one: (one.host, one.id))
    assert await all_of(store, JOB) == in_order
    for host in hosts:
        assert await all_of(store, JOB, HostKey(host)) == [c for c in in_order if c.host == host]
    assert await all_of(store, JOB, HostKey("none.test")) == []
    assert await all_of(store, JobNumber(9)) == []


async def test_other_calls_come_in_between_two_pages(store: PostgresStore) -> None:
    for _ in range(2 * PAGE):
        await store.put(chunk(b"x"))
    reading = store.chunks(JOB)
    first = await anext(reading)
    await store.drop([first.id])
    assert len([one async for one in reading]) == 2 * PAGE - 1


async def test_many_calls_at_once_wait_for_each_other(store: PostgresStore) -> None:
    made = [chunk(b"%d" % n) for n in range(50)]
    await asyncio.gather(*map(store.put, made))
    found = await asyncio.gather(*(store.get([one.id]) for one in made))
    assert found == [{one.id: one.records} for one in made]


async def test_the_fast_event_loop_will_do() -> None:
    async def use() -> None:
        async with opened(shared_postgres().url, new_space()) as store:
            one = chunk(*ODD)
            await store.put(one)
            assert await store.get([one.id]) == {one.id: ODD}

    await asyncio.to_thread(uvloop.run, use())
