"""Records on their way from a shared store to files: each is there once, whatever happens."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from crawl_rig import MemorySink

from skitter.crawl import consuming
from skitter.crawl.consuming import Consumer
from skitter.crawl.recording import job_mark
from skitter.errors import SinkError, StoreUnavailable
from skitter.frontier.base import Entry
from skitter.pipeline.base import Batch
from skitter.types import JobNumber

JOB = JobNumber(1)


class Crash(Exception):
    """The process has ended here."""


class Fate:
    """Ends the process at its n-th step."""

    def __init__(self, left: int) -> None:
        self._left = left

    def step(self) -> None:
        if self._left == 0:
            raise Crash
        self._left -= 1


class World:
    """What outlives a process: the store and the files."""

    def __init__(self, records: int) -> None:
        self.streams = {b"%d" % n: b"record %d\n" % n for n in range(records)}
        self.held: list[bytes] = []
        self.marks: dict[str, bytes] = {}
        self.files: dict[str, list[bytes]] = {"one": [], "two": []}


class Source:
    """The streams of a store in memory; a process may end before or after every step."""

    def __init__(self, world: World, fate: Fate) -> None:
        self._world = world
        self._fate = fate

    async def open(self) -> None:
        for name in self._world.held:
            self._fate.step()
            self._world.streams.pop(name, None)

    async def read(self, limit: int) -> Sequence[Entry]:
        self._fate.step()
        rows = list(self._world.streams.items())[:limit]
        return [Entry(0, name, line) for name, line in rows]

    async def keep(self, marks: Mapping[str, bytes], entries: Sequence[Entry]) -> None:
        self._fate.step()
        self._world.marks |= marks
        self._world.held = [entry.id for entry in entries]
        self._fate.step()

    async def let_go(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._fate.step()
            self._world.streams.pop(entry.id, None)
        self._fate.step()


class FileLike:
    """A sink whose file may be longer than its mark says."""

    def __init__(self, name: str, world: World, fate: Fate) -> None:
        self.mark_name = f"sink:{name}"
        self.place, self.trouble = name, ""
        self._lines = world.files[name]
        self._fate = fate

    def check(self) -> None: ...

    async def open(self, mark: bytes | None) -> bytes:
        del self._lines[int(mark or b"0") :]
        return b"%d" % len(self._lines)

    async def write(self, batch: Batch) -> bytes:
        for line in batch.lines:
            self._fate.step()
            self._lines.append(line)
        return b"%d" % len(self._lines)

    async def close(self) -> None: ...


async def process(world: World, fate: Fate) -> None:
    """Live as one process does: open, write what is there, end."""
    source = Source(world, fate)
    sinks = [FileLike(name, world, fate) for name in world.files]
    await source.open()
    for sink in sinks:
        await sink.open(world.marks.get(job_mark(JOB, sink.mark_name)))
    await Consumer(source, JOB, sinks).settle()


@pytest.mark.parametrize("batch", [1, 2, 5])
async def test_a_crash_at_any_step_repeats_and_loses_no_record(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "BATCH", batch)
    wanted = sorted(b"record %d\n" % n for n in range(5))
    for first in range(1_000):
        world = World(5)
        ended = await _lives(world, Fate(first))
        # A second crash soon after the first: opening must bear being cut short as well.
        await _lives(world, Fate(first % 7))
        assert await _lives(world, Fate(-1))
        for name, lines in world.files.items():
            assert sorted(lines) == wanted, (name, first)
        assert not world.streams
        if ended:
            break
    assert first > 15


async def _lives(world: World, fate: Fate) -> bool:
    """Tell whether a process has come to its end."""
    try:
        await process(world, fate)
    except Crash:
        return False
    return True


class Quiet:
    """A source with entries to hand out, one step at a time, that notes what is done to it."""

    def __init__(self, *batches: Sequence[bytes]) -> None:
        self.batches = [[Entry(0, line, line) for line in batch] for batch in batches]
        self.done: list[str] = []
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.endless = False

    async def open(self) -> None: ...

    async def read(self, limit: int) -> Sequence[Entry]:
        del limit
        if self.endless:
            return [Entry(0, b"more", b"more")]
        return self.batches.pop(0) if self.batches else ()

    async def keep(self, marks: Mapping[str, bytes], entries: Sequence[Entry]) -> None:
        await self.go_on.wait()
        self.done.append(f"keep {len(entries)} {sorted(marks)}")

    async def let_go(self, entries: Sequence[Entry]) -> None:
        self.done.append(f"let go {len(entries)}")


@pytest.fixture
def sink() -> MemorySink:
    return MemorySink()


async def until_written(sink: MemorySink) -> None:
    async with asyncio.timeout(30):
        while not sink.lines:
            await asyncio.sleep(0.01)


async def test_marks_carry_the_job_and_follow_the_writing(sink: MemorySink) -> None:
    source = Quiet([b"a", b"b"], [b"c"])
    await Consumer(source, JOB, [sink]).settle()
    assert sink.lines == [b"a", b"b", b"c"]
    name = job_mark(JOB, sink.mark_name)
    written = [f"keep 2 {[name]}", "let go 2", f"keep 1 {[name]}", "let go 1"]
    assert source.done == [*written, "let go 0"]


async def test_a_cancelled_step_ends_and_the_next_one_waits_for_it(sink: MemorySink) -> None:
    source = Quiet([b"a"], [b"b"])
    source.go_on.clear()
    consumer = Consumer(source, JOB, [sink])
    running = asyncio.create_task(consumer.run())
    await until_written(sink)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    settling = asyncio.create_task(consumer.settle())
    await asyncio.sleep(0.02)
    assert (sink.lines, source.done) == ([b"a"], [])
    source.go_on.set()
    await settling
    assert sink.lines == [b"a", b"b"]
    assert [step.split()[0] for step in source.done] == ["keep", "let", "keep", "let", "let"]


async def test_close_waits_for_a_step_that_was_left_alone(sink: MemorySink) -> None:
    source = Quiet([b"a"], [b"b"])
    source.go_on.clear()
    consumer = Consumer(source, JOB, [sink])
    running = asyncio.create_task(consumer.run())
    await until_written(sink)
    running.cancel()
    closing = asyncio.create_task(consumer.close())
    await asyncio.sleep(0.02)
    assert not closing.done()
    source.go_on.set()
    await closing
    assert source.done[-1] == "let go 1"
    await consumer.settle()
    assert sink.lines == [b"a"], "a closed consumer begins nothing"
    await asyncio.gather(running, return_exceptions=True)


async def test_a_store_that_never_answers_is_not_waited_for_at_the_end(
    sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "CLOSE_S", 0.05)
    monkeypatch.setattr(consuming, "LOOK_S", 0.01)
    source = Quiet([b"a"], [b"b"])
    source.go_on.clear()
    consumer = Consumer(source, JOB, [sink])
    running = asyncio.create_task(consumer.run())
    await until_written(sink)
    running.cancel()
    async with asyncio.timeout(60):
        await consumer.close()
    assert (sink.lines, source.done) == ([b"a"], []), "as after a crash"
    await asyncio.gather(running, return_exceptions=True)


async def test_a_writer_that_leaves_does_not_wait_until_others_end(
    sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "SETTLE_S", 0.05)
    source = Quiet()
    source.endless = True
    consumer = Consumer(source, JOB, [sink])
    consumer.is_last = lambda: False
    async with asyncio.timeout(30):
        await consumer.settle()
    assert sink.lines


async def test_the_last_writer_writes_everything_however_long_it_takes(
    sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "SETTLE_S", 0.0)
    await Consumer(Quiet(*([b"x"] for _ in range(20))), JOB, [sink]).settle()
    assert len(sink.lines) == 20


async def test_a_file_that_cannot_be_written_ends_the_consumer_and_keeps_nothing() -> None:
    class Full(MemorySink):
        async def write(self, batch: Batch) -> bytes:
            raise SinkError("--out pages.jsonl: cannot be written (no space left)")

    source = Quiet([b"a"])
    with pytest.raises(SinkError):
        await Consumer(source, JOB, [Full()]).run()
    assert source.done == []


async def test_being_deposed_ends_the_consumer_and_removes_nothing(sink: MemorySink) -> None:
    class Deposed(Quiet):
        async def keep(self, marks: Mapping[str, bytes], entries: Sequence[Entry]) -> None:
            raise StoreUnavailable("another process has become the writer")

    source = Deposed([b"a"])
    with pytest.raises(StoreUnavailable):
        await Consumer(source, JOB, [sink]).run()
    assert source.done == []
