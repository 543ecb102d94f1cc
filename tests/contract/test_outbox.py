"""Records of a job on a real store: one writer at a time, and every record in its file once."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import pytest
from stores import KINDS, own_store

from skitter.crawl import consuming
from skitter.crawl.consuming import Consumer
from skitter.crawl.recording import job_mark
from skitter.errors import ConfigError, StoreUnavailable
from skitter.frontier.base import Entry
from skitter.frontier.redis import outbox as outbox_module
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.handout import STREAM_CAP
from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.library import function
from skitter.frontier.redis.nodes import Nodes
from skitter.frontier.redis.notes import pack_note
from skitter.frontier.redis.outbox import Outbox
from skitter.pipeline.sinks import make_sink
from skitter.types import JobNumber
from skitter.url.partition import TAGS

JOB = JobNumber(1)


class Store:
    """A namespace of its own on a real server."""

    def __init__(self, url: str) -> None:
        self.nodes = Nodes(StoreAddress.parse(url))
        self.frontier = RedisFrontier(self.nodes)

    async def open(self) -> None:
        await self.nodes.open()
        await self.frontier.open()

    @property
    def keys(self) -> Keys:
        return self.frontier.keys

    def outbox(self, who: str = "one", job: JobNumber = JOB) -> Outbox:
        return Outbox(self.nodes, self.keys, job, who)

    async def put(self, *lines: bytes, tag: int = 0, job: JobNumber = JOB) -> None:
        """Add records as acks do."""
        name = self.keys.records(tag, job)
        for line in lines:
            await self.nodes.run(name, "XADD", name, "*", "k", "1:1:1", "r", pack_note(line))

    async def left(self, job: JobNumber = JOB) -> int:
        """Return how many entries are in the streams."""
        names = [self.keys.records(tag, job) for tag in range(TAGS)]
        return sum(await self.nodes.run_many([(name, ("XLEN", name)) for name in names]))

    async def lapse(self) -> None:
        """Let the time of the present writer be over."""
        name = f"{self.keys.common}writer:{JOB}"
        await self.nodes.run(name, "HSET", name, "until", 1)

    async def mark(self, name: str) -> bytes | None:
        return await self.frontier.mark(name)


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    made = Store(own_store(request.param))
    await made.open()
    yield made
    await made.nodes.close()


@pytest.fixture
async def plain() -> AsyncIterator[Store]:
    """A store on the plainest server, for what does not depend on the kind of it."""
    made = Store(own_store())
    await made.open()
    yield made
    await made.nodes.close()


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "PATIENCE_S", 0.4)


# Who writes


async def test_a_second_writer_is_refused_and_told_who_the_first_is(store: Store) -> None:
    first, second = store.outbox("vega"), store.outbox("altair")
    await first.open()
    with pytest.raises(ConfigError, match=r"written by vega; end that crawl first, or help it"):
        await second.open()
    await first.close()
    await second.open()


async def test_a_writer_that_closes_makes_room_at_once(
    plain: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "LEASE_MS", 120_000)
    monkeypatch.setattr(outbox_module, "PATIENCE_S", 60.0)
    first, second = plain.outbox(), plain.outbox()
    await first.open()
    waiting = asyncio.create_task(second.open())
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await first.close()
    async with asyncio.timeout(30):
        await waiting


async def test_a_writer_that_is_gone_makes_room_when_its_lease_has_lapsed(
    plain: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "LEASE_MS", 300)
    monkeypatch.setattr(outbox_module, "PATIENCE_S", 60.0)
    await plain.outbox("gone").open()
    async with asyncio.timeout(60):
        await plain.outbox("next").open()


async def test_a_writer_at_work_keeps_its_lease(
    plain: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "LEASE_MS", 1_500)
    monkeypatch.setattr(outbox_module, "RENEW_S", 0.05)
    monkeypatch.setattr(outbox_module, "PATIENCE_S", 1.8)
    first = plain.outbox("first")
    await first.open()
    renewing = asyncio.create_task(first.run())
    with pytest.raises(ConfigError, match="written by first"):
        await plain.outbox().open()
    assert not renewing.done()
    renewing.cancel()


async def test_writers_of_two_jobs_do_not_meet(plain: Store) -> None:
    await plain.outbox().open()
    other = plain.outbox(job=JobNumber(2))
    await other.open()
    await plain.put(b"mine")
    await plain.put(b"other", job=JobNumber(2))
    assert [entry.line for entry in await other.read(10)] == [b"other"]


async def test_a_deposed_writer_keeps_nothing_and_stops(
    plain: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "RENEW_S", 0.02)
    await plain.put(b"a")
    old, new = plain.outbox("old"), plain.outbox("new")
    await old.open()
    entries = await old.read(10)
    await plain.lapse()
    await new.open()
    with pytest.raises(StoreUnavailable, match="another process has become the writer"):
        await old.keep({"job:1:sink:x": b"old"}, entries)
    with pytest.raises(StoreUnavailable, match="did not answer; this one stops"):
        async with asyncio.timeout(30):
            await old.run()
    await old.close()
    assert await plain.mark("job:1:sink:x") is None
    await new.keep({"job:1:sink:x": b"new"}, await new.read(10))
    assert await plain.mark("job:1:sink:x") == b"new"
    with pytest.raises(ConfigError, match="written by new"):
        await old.open()


async def test_a_lapsed_writer_nobody_replaced_goes_on(plain: Store) -> None:
    first = plain.outbox()
    await first.open()
    await plain.lapse()
    await first.keep({"job:1:sink:x": b"1"}, ())
    assert await plain.mark("job:1:sink:x") == b"1"


# What is read


async def test_records_of_all_tags_come_each_tag_in_order(store: Store) -> None:
    tags = (0, 1, 100, TAGS - 1)
    for tag in tags:
        await store.put(*(b"%d of %d" % (n, tag) for n in range(20)), tag=tag)
    outbox = store.outbox()
    await outbox.open()
    lines: list[bytes] = []
    while entries := await outbox.read(30):
        assert len(entries) <= 30
        lines += [entry.line for entry in entries]
        await outbox.keep({}, entries)
        await outbox.let_go(entries)
    assert len(lines) == len(set(lines)) == 80
    for tag in tags:
        own = [line for line in lines if line.endswith(b" of %d" % tag)]
        assert own == [b"%d of %d" % (n, tag) for n in range(20)]
    await outbox.close()
    assert await store.left() == 0


async def test_a_busy_tag_does_not_hide_the_others(
    plain: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "SWEEP_S", 0.05)
    await plain.put(*(b"busy %d" % n for n in range(60)), tag=7)
    outbox = plain.outbox()
    await outbox.open()
    await outbox.read(4)
    await plain.put(b"quiet", tag=9)
    async with asyncio.timeout(60):
        lines: list[bytes] = []
        while b"quiet" not in lines:
            entries = await outbox.read(4)
            lines += [entry.line for entry in entries]
            await outbox.keep({}, entries)
            await outbox.let_go(entries)
            await plain.put(b"busy", tag=7)


async def test_entries_stay_one_step_longer_and_are_not_read_again(plain: Store) -> None:
    await plain.put(b"a", b"b", tag=3)
    outbox = plain.outbox()
    await outbox.open()
    first = await outbox.read(1_000)
    await outbox.keep({}, first)
    await outbox.let_go(first)
    assert await plain.left() == 2
    assert await outbox.read(1_000) == []
    await plain.put(b"c", tag=3)
    second = await outbox.read(1_000)
    assert [entry.line for entry in second] == [b"c"]
    await outbox.keep({}, second)
    assert await plain.left() == 3
    await outbox.let_go(second)
    assert await plain.left() == 1
    await outbox.close()
    assert await plain.left() == 0


@pytest.mark.parametrize("store", ["cluster"], indirect=True)
async def test_a_keep_that_a_failover_forgot_costs_no_record(store: Store, tmp_path: Path) -> None:
    """The replica knows the keep before: the files are cut to it, and its entries are there."""
    plain = store
    marks = plain.keys.marks
    for n in range(3):
        await plain.put(b"record %d\n" % n, tag=n)
        before = await plain.nodes.run(marks, "HGETALL", marks)
        await write_all(plain, tmp_path / "pages.jsonl", closes=False)
        await plain.lapse()
    # The last keep is forgotten; what it let go of was in the files by the one before.
    pairs = list(zip(before[::2], before[1::2], strict=True))
    await plain.nodes.run(marks, "DEL", marks)
    await plain.nodes.run(marks, "HSET", marks, *(word for pair in pairs for word in pair))
    await write_all(plain, tmp_path / "pages.jsonl")
    lines = (tmp_path / "pages.jsonl").read_bytes().splitlines(keepends=True)
    assert lines == [b"record %d\n" % n for n in range(3)]


async def test_records_that_are_written_make_room_though_no_more_come(
    store: Store, tmp_path: Path
) -> None:
    """Members that wait for room in a stream bring nothing that would push the last ones out."""
    await store.put(*(b"%d\n" % n for n in range(STREAM_CAP)), tag=3)
    outbox, sink = store.outbox(), make_sink(tmp_path / "pages.jsonl", durable=False)
    await outbox.open()
    await sink.open(None)
    writing = asyncio.create_task(Consumer(outbox, JOB, [sink]).run())
    async with asyncio.timeout(60):
        while await store.left():
            assert not writing.done()
            await asyncio.sleep(0.02)
    writing.cancel()
    await sink.close()
    assert len((tmp_path / "pages.jsonl").read_bytes().splitlines()) == STREAM_CAP


# Crashes


class Crash(Exception):
    """The process has ended here."""


class Doomed:
    """An outbox whose process ends before or after its n-th step."""

    def __init__(self, inner: Outbox, left: int) -> None:
        self._inner = inner
        self._left = left

    def step(self) -> None:
        if self._left == 0:
            raise Crash
        self._left -= 1

    async def _do(self, work: Callable[[], Awaitable[object]]) -> object:
        self.step()
        answer = await work()
        self.step()
        return answer

    async def open(self) -> None:
        await self._do(self._inner.open)

    async def read(self, limit: int) -> Sequence[Entry]:
        self.step()
        return await self._inner.read(limit)

    async def keep(self, marks: Mapping[str, bytes], entries: Sequence[Entry]) -> None:
        await self._do(lambda: self._inner.keep(marks, entries))

    async def let_go(self, entries: Sequence[Entry]) -> None:
        await self._do(lambda: self._inner.let_go(entries))


async def write_all(store: Store, path: Path, fate: int = -1, *, closes: bool = True) -> None:
    """Live as the writer does, with a real file, until there is nothing left or fate strikes."""
    inner = store.outbox()
    outbox = Doomed(inner, fate)
    await outbox.open()
    sink = make_sink(path, durable=False)
    name = job_mark(JOB, sink.mark_name)
    await store.frontier.ack([], marks={name: await sink.open(await store.mark(name))})
    try:
        outbox.step()
        await Consumer(outbox, JOB, [sink]).settle()
    finally:
        await sink.close()
    if closes:
        await inner.close()


async def test_a_crash_at_any_step_leaves_every_record_in_the_file_once(
    plain: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "BATCH", 3)
    path = tmp_path / "pages.jsonl"
    put, fate, whole = 0, 0, False
    while not whole:
        lines = [json.dumps({"n": put + n}).encode() + b"\n" for n in range(6)]
        await plain.put(*lines[:4], tag=fate % TAGS)
        await plain.put(*lines[4:], tag=200)
        put += 6
        try:
            await write_all(plain, path, fate)
            whole = True
        except Crash:
            await plain.lapse()
        fate += 1
    assert fate > 10
    found = [json.loads(line)["n"] for line in path.read_bytes().splitlines()]
    assert sorted(found) == list(range(put))
    assert await plain.left() == 0


async def test_two_crashes_in_a_row_repeat_nothing(
    plain: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "BATCH", 2)
    for second in range(9):
        path = tmp_path / f"pages{second}.jsonl"
        await plain.put(*(b"%d\n" % n for n in range(5)), tag=second)
        for fate in (6, second):
            with pytest.raises(Crash):
                await write_all(plain, path, fate)
            await plain.lapse()
        await write_all(plain, path)
        lines = path.read_bytes().splitlines()
        assert lines == [b"%d" % n for n in range(5)], second


async def test_a_repeated_lease_or_end_changes_nothing(plain: Store) -> None:
    outbox = plain.outbox("one")
    await outbox.open()
    name = f"{plain.keys.common}writer:{JOB}"
    taken = await plain.nodes.call(name, function("write_lease"), 0, "stranger", 1000, "two")
    assert (taken[0], taken[2]) == (0, b"one")
    assert 0 < taken[1] <= outbox_module.LEASE_MS
    await plain.nodes.call(name, function("write_end"), 0, "stranger")
    await outbox.keep({}, ())
    await outbox.close()
    await outbox.close()


async def test_a_read_takes_all_that_one_tag_has_and_looks_at_the_others(store: Store) -> None:
    many = [b"%d\n" % n for n in range(400)]
    await store.put(*many, tag=7)
    await store.put(b"other\n", tag=8)
    outbox = store.outbox("one")
    await outbox.open()
    entries = await outbox.read(1000)
    assert [e.line for e in entries if e.tag == 7] == many, "in order, each once"
    assert [e.line for e in entries if e.tag == 8] == [b"other\n"]
    await outbox.keep({}, entries)
    await outbox.let_go(entries)
    assert await outbox.read(1000) == []
    await store.put(b"late\n", tag=7)
    assert [e.line for e in await outbox.read(1000)] == [b"late\n"]
    await outbox.close()
