"""The tails of long queues: in PostgreSQL and back, in order, whatever fails on the way."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import postgres
import pytest
from frontier_backends import HOST, KIN, Rig, open_rig
from redis_backend import SMALL, ColdBackend, ColdMember, Member

from skitter.errors import ConfigError, FrontierError, StoreUnavailable
from skitter.frontier.cold.postgres import PostgresStore
from skitter.frontier.model import Counts, JobState, Result, SeenOptions, UrlState
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import PageClass

PATHS = [f"p{number:02}" for number in range(40)]


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[ColdBackend]:
    backend = ColdBackend(tmp_path, VirtualClock())
    yield backend
    await backend.close()


@pytest.fixture
async def rig(backend: ColdBackend) -> Rig:
    return await open_rig(backend, delay_ms=0)


def member(rig: Rig) -> ColdMember:
    assert isinstance(rig.store, ColdMember)
    return rig.store


async def waiting_in_redis(rig: Rig) -> int:
    """Count what the list of one host holds."""
    keys, nodes = member(rig).keys, member(rig).nodes
    tag = keys.tag_of_host(HOST)
    [band] = await nodes.run("", "ZRANGE", keys.bands(tag, rig.job, PageClass.DATA, HOST), 0, -1)
    key = keys.band(tag, rig.job, PageClass.DATA, int(band), HOST)
    return int(await nodes.run(key, "LLEN", key))


async def held(rig: Rig) -> int:
    """Count the records in the cold store."""
    return (await member(rig).cold.sizes()).records


async def test_only_the_head_and_the_newest_of_a_queue_stay_in_redis(rig: Rig) -> None:
    await rig.offer(*PATHS)

    assert await held(rig) == len(PATHS) - SMALL.head
    assert await waiting_in_redis(rig) == SMALL.head + (len(PATHS) - SMALL.head) // SMALL.chunk
    assert await rig.counts() == Counts(queued=len(PATHS))


async def test_what_was_offered_first_comes_first_though_it_was_away(rig: Rig) -> None:
    for at in range(0, len(PATHS), 5):
        await rig.offer(*PATHS[at : at + 5])

    assert await rig.paths_in_order() == PATHS
    assert await rig.counts() == Counts(done=len(PATHS))
    assert await held(rig) == 0


async def test_what_comes_while_the_queue_is_worked_on_waits_behind_its_tail(rig: Rig) -> None:
    await rig.offer(*PATHS[:20])
    first = await rig.paths_in_order(limit=7)
    await rig.offer(*PATHS[20:])

    assert first + await rig.paths_in_order() == PATHS


async def test_a_chunk_is_back_before_the_head_is_used_up(rig: Rig) -> None:
    await rig.offer(*PATHS[:10])
    before = await held(rig)

    for _ in range(SMALL.head - SMALL.warm + 1):
        await rig.end(await rig.take_one())
    async with asyncio.timeout(60):
        while await held(rig) >= before:
            await asyncio.sleep(0.01)

    assert await held(rig) == before - SMALL.chunk
    assert (await rig.counts()).queued == 10 - SMALL.head + SMALL.warm - 1


async def test_a_url_in_the_tail_is_known_and_found(rig: Rig) -> None:
    await rig.offer(*PATHS)
    last = rig.link(PATHS[-1])

    again = await rig.offer(PATHS[-1])
    sighting = await rig.look(last)

    assert (again.new, again.known) == (0, 1)
    assert sighting.state is UrlState.QUEUED
    assert sighting.link is not None
    assert sighting.link.url == last.url


async def test_a_url_in_the_tail_can_be_forgotten(rig: Rig) -> None:
    await rig.offer(*PATHS[:12])
    gone = rig.link(PATHS[8])

    assert await rig.store.forget(rig.job, HOST, gone.fp)

    assert not await rig.store.forget(rig.job, HOST, gone.fp)
    assert (await rig.look(gone)).state is UrlState.UNKNOWN
    assert await rig.counts() == Counts(queued=11)
    assert await rig.paths_in_order() == [path for path in PATHS[:12] if path != PATHS[8]]


async def test_forgetting_a_leased_url_of_a_long_queue_changes_nothing(rig: Rig) -> None:
    await rig.offer(*PATHS)
    lease = await rig.take_one()

    assert not await rig.store.forget(rig.job, HOST, lease.fp)
    assert await rig.counts() == Counts(queued=len(PATHS) - 1, leased=1)


async def test_a_cleared_queue_is_gone_with_its_tail_and_can_come_again(rig: Rig) -> None:
    await rig.offer(*PATHS)

    assert await rig.store.clear(rig.job, PageClass.DATA) == len(PATHS)

    assert await rig.counts() == Counts()
    assert await held(rig) == 0
    assert (await rig.offer(*PATHS)).new == len(PATHS)
    assert await rig.paths_in_order() == PATHS


async def test_a_cancelled_job_leaves_nothing_in_the_cold_store(rig: Rig) -> None:
    other = await rig.add_job("other", delay_ms=0)
    await rig.offer(*PATHS)
    await rig.offer(*(rig.link(path, job=other) for path in PATHS))

    await rig.store.set_job_state(rig.job, JobState.CANCEL)

    assert await rig.counts() == Counts(dropped=len(PATHS))
    assert await rig.paths_in_order() == PATHS
    assert await rig.counts(other) == Counts(done=len(PATHS))
    assert await held(rig) == 0


async def test_a_cancelled_job_with_a_filter_still_knows_what_waited(backend: ColdBackend) -> None:
    store = await backend.open()
    store._core._seen = SeenOptions("bloom", expected=10_000, rate=1e-9)
    rig = await open_rig(backend, delay_ms=0)
    await rig.offer(*PATHS)

    await rig.store.set_job_state(rig.job, JobState.CANCEL)

    states = {(await rig.look(rig.link(path))).state for path in PATHS}
    assert states == {UrlState.DROPPED}


@pytest.mark.parametrize("broken", ["cold_put", "cold_warm"])
async def test_a_member_that_dies_between_the_two_stores_loses_nothing(
    rig: Rig, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second store is never told: neither that a chunk was stored, nor that it came back."""
    core = member(rig)._core
    real = core.call

    async def dies(tag: int, verb: str, *args: Any) -> Any:
        if verb == broken:
            raise StoreUnavailable("killed here")
        return await real(tag, verb, *args)

    if broken == "cold_put":
        monkeypatch.setattr(core, "call", dies)
        await rig.offer(*PATHS)
    else:
        await rig.offer(*PATHS)
        monkeypatch.setattr(core, "call", dies)
        await rig.paths_in_order()
    await rig.crash()
    rig.tick(3600)

    left = await rig.paths_in_order()
    assert left == PATHS[-len(left) :]
    assert await rig.counts() == Counts(done=len(PATHS))


async def test_a_store_that_forgot_the_way_back_finds_the_chunk_still_there(rig: Rig) -> None:
    """What a failover may do: the list is as it was before the records came back."""
    await rig.offer(*PATHS[:10])
    keys, nodes = member(rig).keys, member(rig).nodes
    tag = keys.tag_of_host(HOST)
    pattern = keys.prefix(tag) + "[qbK]*"
    before = {key: await nodes.run(key, "DUMP", key) for key in await all_keys(rig, pattern)}

    taken = await rig.paths_in_order(limit=6)
    for key in await all_keys(rig, pattern):
        await nodes.run(key, "DEL", key)
    for key, value in before.items():
        await nodes.run(key, "RESTORE", key, 0, value)

    rest = await rig.paths_in_order()
    assert set(taken + rest) == set(PATHS[:10])


async def all_keys(rig: Rig, pattern: str) -> list[str]:
    escaped = pattern.replace("{", r"\{").replace("}", r"\}")
    return [key.decode() for key in await member(rig).nodes.run("", "KEYS", escaped)]


async def test_two_members_that_shorten_one_list_leave_every_url_once(
    backend: ColdBackend, rig: Rig
) -> None:
    other = await backend.join()
    links = [rig.link(path) for path in PATHS]

    await asyncio.gather(
        *(store.offer([link]) for link in links for store in (rig.store, other)),
        rig.store.offer(links),
        other.offer(links),
    )

    assert await rig.counts() == Counts(queued=len(PATHS))
    assert sorted(await rig.paths_in_order()) == PATHS
    assert await rig.counts() == Counts(done=len(PATHS))


async def test_given_back_urls_of_a_long_queue_keep_their_place(rig: Rig) -> None:
    await rig.offer(*PATHS)
    for _ in range(3):
        lease = await rig.take_one()
        await rig.end(lease, Result.DEFER)

    assert await rig.paths_in_order() == PATHS


async def test_other_hosts_go_on_while_the_cold_store_is_away(
    backend: ColdBackend, tmp_path: Path
) -> None:
    with postgres.start_postgres(tmp_path / "postgres") as server:
        store = await backend.open()
        rig = await open_rig(backend, delay_ms=0)
        assert store is not rig.store
        cold = PostgresStore(server.url, "away")
        await cold.open()
        rig_member = member(rig)
        rig_member._tails.use(cold)
        await rig.offer(*PATHS[:20], rig.link("near", KIN[0]))

        server.kill()
        came = await rig.paths_in_order()
        assert {*came[: SMALL.head], *came[SMALL.head :]} == {*PATHS[: SMALL.head], "near"}
        assert "postgresql://" in rig.store.trouble
        assert postgres.PASSWORD not in rig.store.trouble
        more = await rig.offer(*PATHS[20:])
        assert more.new == len(PATHS) - 20

        server.start()
        rig_member._tails._leave_alone_until = 0.0
        rig.tick(1)
        assert await rig.paths_in_order() == PATHS[SMALL.head :]
        assert rig.store.trouble == ""
        await cold.close()


async def test_a_store_keeps_to_its_cold_store(rig: Rig) -> None:
    other = PostgresStore(postgres.shared_postgres().url, "of another store")
    await other.open()
    plain = Member(member(rig).url, VirtualClock())
    await plain.open()

    with pytest.raises(ConfigError, match=r"--cold: .* another database"):
        await plain.keep_tails(other)

    assert await plain.cold_identity() == member(rig).cold.identity
    await plain.vanish()
    await other.close()


async def test_who_has_no_cold_store_says_that_it_needs_one(rig: Rig) -> None:
    await rig.offer(*PATHS)
    plain = Member(member(rig).url, rig.clock)
    await plain.open()

    with pytest.raises(FrontierError, match="--cold"):
        await plain.clear(rig.job, PageClass.DATA)

    await plain.vanish()


async def test_a_chunk_that_is_missing_is_said_and_blocks_its_host_alone(rig: Rig) -> None:
    await rig.offer(*PATHS, rig.link("near", KIN[0]))
    await member(rig).cold.drop_job(rig.job)

    came = await rig.paths_in_order()

    assert set(came) == {*PATHS[: SMALL.head], "near"}
    assert "lacks a part of the queue" in rig.store.trouble
    assert (await rig.counts()).queued == len(PATHS) - SMALL.head
