"""Records of acks go to the outputs of their jobs, all of them or none."""

import asyncio

import pytest
from crawl_rig import MemorySink, fake_lease

from skitter.crawl.recording import Recording, job_mark, write_to_all
from skitter.errors import SinkError
from skitter.frontier.model import Ack, Result
from skitter.pipeline.base import Batch
from skitter.types import JobNumber

ONE, TWO = JobNumber(1), JobNumber(2)


class NamedSink(MemorySink):
    """A sink in memory with a name of its own, slow or not."""

    def __init__(self, name: str, turns: int = 0) -> None:
        super().__init__()
        self.mark_name = f"sink:{name}"
        self.place = name
        self._turns = turns
        self.under_way = 0
        self.most_under_way = 0

    async def write(self, batch: Batch) -> bytes:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        for _ in range(self._turns):
            await asyncio.sleep(0)
        self.under_way -= 1
        return await super().write(batch)


def ack(note: bytes, job: JobNumber = ONE) -> Ack:
    return Ack(fake_lease(job=job), Result.DONE, note=note, listed=True)


async def test_each_jobs_records_go_to_its_own_outputs_in_order() -> None:
    first, second = NamedSink("first"), NamedSink("second")
    recording = Recording()
    recording.serve(ONE, [first])
    recording.serve(TWO, [second])
    acks = [ack(b"a"), ack(b"b", TWO), ack(b"c"), ack(b"d", TWO), ack(b"e")]
    assert await recording.write(acks) == {
        "job:1:sink:first": b"3",
        "job:2:sink:second": b"2",
    }
    assert (first.lines, second.lines) == ([b"a", b"c", b"e"], [b"b", b"d"])


async def test_marks_of_two_jobs_with_outputs_of_one_name_are_told_apart() -> None:
    recording = Recording()
    recording.serve(ONE, [NamedSink("same")])
    recording.serve(TWO, [NamedSink("same")])
    marks = await recording.write([ack(b"a"), ack(b"b", TWO), ack(b"c", TWO)])
    assert marks == {job_mark(ONE, "sink:same"): b"1", job_mark(TWO, "sink:same"): b"2"}
    assert job_mark(JobNumber(1), "x") != job_mark(JobNumber(11), "x")


async def test_a_job_without_outputs_leaves_no_marks() -> None:
    recording = Recording()
    recording.serve(ONE, [])
    assert await recording.write([ack(b"a"), ack(b"b", TWO)]) == {}


async def test_every_output_of_a_job_gets_every_record() -> None:
    sinks = [NamedSink("slow", 5), NamedSink("fast")]
    recording = Recording()
    recording.serve(ONE, sinks)
    marks = await recording.write([ack(b"a"), ack(b"b")])
    assert marks == {"job:1:sink:slow": b"2", "job:1:sink:fast": b"2"}
    assert [sink.lines for sink in sinks] == [[b"a", b"b"]] * 2


async def test_the_outputs_of_a_job_can_be_changed() -> None:
    before, after = NamedSink("before"), NamedSink("after")
    recording = Recording()
    recording.serve(ONE, [before])
    await recording.write([ack(b"a")])
    recording.serve(ONE, [after])
    assert await recording.write([ack(b"b")]) == {"job:1:sink:after": b"1"}
    assert (before.lines, after.lines) == ([b"a"], [b"b"])


async def test_when_one_output_fails_the_others_are_not_cut_off() -> None:
    broken, slow = NamedSink("broken"), NamedSink("slow", 20)
    broken.broken = True
    recording = Recording()
    recording.serve(ONE, [broken, slow])
    with pytest.raises(SinkError):
        await recording.write([ack(b"a")])
    assert slow.lines == [b"a"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_outputs_of_one_job_are_written_at_the_same_time() -> None:
    slow = [NamedSink(name, 5) for name in ("one", "two")]
    together = 0

    class Watching(NamedSink):
        async def write(self, batch: Batch) -> bytes:
            nonlocal together
            await asyncio.sleep(0)
            together = sum(sink.under_way for sink in slow)
            return await super().write(batch)

    await write_to_all([*slow, Watching("watching")], Batch(None, [b"a"]))
    assert together == 2
    assert [sink.most_under_way for sink in slow] == [1, 1]
