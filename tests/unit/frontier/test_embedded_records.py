"""The embedded frontier has records written before their acks take effect, and only for those."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import pytest
from embedded_rig import LEASE_MS, EmbeddedRig

from skitter.errors import SinkError, SkitterError, StoreUnavailable
from skitter.frontier.embedded.intake import Intake
from skitter.frontier.model import Ack, JobState, Lease, Receipt, Result
from skitter.types import HostKey

MARK = "job:1:sink:memory"


class Outputs:
    """Records in memory; a test may let each write wait, or fail."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.broken = False
        self.under_way = 0
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.trouble = ""
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    async def write(self, acks: Sequence[Ack]) -> Mapping[str, bytes]:
        self.under_way += 1
        assert self.under_way == 1, "sinks are written by one at a time"
        if self.meanwhile is not None:
            await self.meanwhile()
        await self.go_on.wait()
        self.under_way -= 1
        if self.broken:
            raise SinkError("memory: cannot be written (No space left on device)")
        self.lines += [ack.note for ack in acks]
        return {MARK: str(len(self.lines)).encode()}


@pytest.fixture
def outputs() -> Outputs:
    return Outputs()


@pytest.fixture
async def rig(tmp_path: Path, outputs: Outputs) -> AsyncIterator[EmbeddedRig]:
    made = EmbeddedRig(tmp_path)
    await made.open()
    made.frontier.records = outputs
    yield made
    await made.frontier.close()


def listed(lease: Lease, result: Result = Result.DONE) -> Ack:
    note = lease.url.rpartition("/")[2].encode()
    return Ack(lease, result, note=note, listed=True, tally=(("pages", 1),))


async def safe(rig: EmbeddedRig) -> tuple[int, bytes | None]:
    """Return how many pages are acked, and how far the output is."""
    return (await rig.frontier.counts(rig.job)).done, await rig.frontier.mark(MARK)


async def turns(n: int = 20) -> None:
    for _ in range(n):
        await asyncio.sleep(0)


# Order


async def test_records_are_written_before_their_ack_takes_effect_and_marked_with_it(
    rig: EmbeddedRig, outputs: Outputs
) -> None:
    leases = await rig.leases(1, 2, 3)
    seen: list[tuple[int, bytes | None]] = []

    async def look() -> None:
        seen.append(await safe(rig))

    outputs.meanwhile = look
    receipt = await rig.frontier.ack([listed(lease) for lease in leases])
    assert seen == [(0, None)]
    assert (receipt.accepted, receipt.stale) == (3, ())
    assert outputs.lines == [b"1", b"2", b"3"]
    assert await safe(rig) == (3, b"3")


async def test_marks_of_the_caller_come_in_the_same_step(rig: EmbeddedRig) -> None:
    [lease] = await rig.leases(1)
    await rig.frontier.ack([listed(lease)], marks={"mine": b"x"}, news={"scope:1:y": b""})
    assert await rig.frontier.marks("") == {"mine": b"x", "scope:1:y": b"", MARK: b"1"}


async def test_only_listed_records_are_written(rig: EmbeddedRig, outputs: Outputs) -> None:
    page, sitemap, later = await rig.leases(1, 2, 3)
    acks = [
        listed(page),
        Ack(sitemap, Result.DONE, note=b"sitemap"),
        Ack(later, Result.RETRY, at_ms=rig.clock.now_ms() + 1000),
    ]
    assert (await rig.frontier.ack(acks)).accepted == 3
    assert outputs.lines == [b"1"]


async def test_without_records_nobody_is_asked_to_write(rig: EmbeddedRig, outputs: Outputs) -> None:
    [lease] = await rig.leases(1)
    await rig.frontier.ack([], marks={"mine": b"x"})
    await rig.end(lease)
    assert (outputs.lines, await safe(rig)) == ([], (1, None))


async def test_acks_take_effect_in_the_order_in_which_they_came(
    rig: EmbeddedRig, outputs: Outputs
) -> None:
    leases = await rig.leases(1, 2, 3)
    outputs.go_on.clear()
    acking = [asyncio.create_task(rig.frontier.ack([listed(lease)])) for lease in leases]
    await turns()
    assert (outputs.lines, await safe(rig)) == ([], (0, None))
    outputs.go_on.set()
    await asyncio.gather(*acking)
    assert outputs.lines == [b"1", b"2", b"3"]
    assert await safe(rig) == (3, b"3")


async def test_what_waits_behind_a_slow_output_has_no_effect_before_its_turn(
    rig: EmbeddedRig, outputs: Outputs
) -> None:
    """A mark kept with an ack must not overtake the acks before it."""
    [lease] = await rig.leases(1)
    outputs.go_on.clear()
    first = asyncio.create_task(rig.frontier.ack([listed(lease)]))
    await turns()
    second = asyncio.create_task(rig.frontier.ack([], marks={"mine": b"x"}))
    await turns()
    assert await rig.frontier.mark("mine") is None
    outputs.go_on.set()
    await asyncio.gather(first, second)
    assert await rig.frontier.mark("mine") == b"x"


async def test_news_and_other_jobs_do_not_wait_for_a_job_whose_output_is_away(
    rig: EmbeddedRig, outputs: Outputs
) -> None:
    """Its database may be away for hours: settings are heard, and everyone else goes on."""
    [lease] = await rig.leases(1)
    other = await rig.add_job("other")
    [theirs] = await rig.leases(2, host=HostKey("other.example"), job=other)
    outputs.go_on.clear()
    first = asyncio.create_task(rig.frontier.ack([listed(lease)]))
    await turns()
    await asyncio.wait_for(rig.frontier.ack([], news={"settings:x": b"1"}), 30)
    assert await rig.frontier.mark("settings:x") == b"1"
    await asyncio.wait_for(rig.end(theirs), 30)
    assert (await rig.frontier.counts(other)).done == 1
    assert not first.done()
    outputs.go_on.set()
    await first
    assert await safe(rig) == (1, b"1")


# Leases


async def test_acks_that_come_too_late_write_no_record_and_add_nothing(
    rig: EmbeddedRig, outputs: Outputs
) -> None:
    late, other = await rig.leases(1, 2)
    rig.clock.advance(LEASE_MS / 1000 - 1)
    assert await rig.frontier.renew([other], LEASE_MS) == []
    rig.clock.advance(1)
    receipt = await rig.frontier.ack([listed(late), listed(other)])
    assert (receipt.accepted, receipt.stale) == (1, (late.id,))
    assert outputs.lines == [b"2"]
    assert await rig.frontier.tallies(rig.job) == {"pages": 1}


async def test_a_repeated_ack_writes_its_record_once(rig: EmbeddedRig, outputs: Outputs) -> None:
    [lease] = await rig.leases(1)
    ack = listed(lease)
    both = await asyncio.gather(rig.frontier.ack([ack]), rig.frontier.ack([ack]))
    assert [receipt.stale for receipt in both] == [(), (lease.id,)]
    assert outputs.lines == [b"1"]
    assert await rig.frontier.tallies(rig.job) == {"pages": 1}


@pytest.mark.parametrize("first_listed", [True, False])
async def test_of_two_acks_for_a_lease_in_one_call_the_first_counts(
    rig: EmbeddedRig, outputs: Outputs, first_listed: bool
) -> None:
    [lease] = await rig.leases(1)
    acks = [listed(lease), Ack(lease, Result.DONE, note=b"other")]
    receipt = await rig.frontier.ack(acks if first_listed else acks[::-1])
    assert (receipt.accepted, receipt.stale) == (1, (lease.id,))
    assert outputs.lines == ([b"1"] if first_listed else [])


async def test_a_lease_does_not_end_while_its_record_is_written(
    rig: EmbeddedRig, outputs: Outputs
) -> None:
    """Else its URL would be handed out again, and its record written twice."""
    lease, other = await rig.leases(1, 2)

    async def wait_long() -> None:
        rig.clock.advance(LEASE_MS / 1000 + 1)
        assert [again.url for again in (await rig.claim()).leases] == [other.url]
        assert await rig.frontier.renew([lease]) == []

    outputs.meanwhile = wait_long
    receipt = await rig.frontier.ack([listed(lease)])
    assert (receipt.accepted, outputs.lines) == (1, [b"1"])
    counts = await rig.frontier.counts(rig.job)
    assert (counts.done, counts.leased) == (1, 1)


async def test_a_lease_that_waits_behind_other_records_may_end_and_is_not_written(
    rig: EmbeddedRig, outputs: Outputs
) -> None:
    first, second = await rig.leases(1, 2)
    outputs.go_on.clear()
    acking = [asyncio.create_task(rig.frontier.ack([listed(one)])) for one in (first, second)]
    await turns()
    rig.clock.advance(LEASE_MS / 1000 + 1)
    outputs.go_on.set()
    receipts = await asyncio.gather(*acking)
    assert [receipt.stale for receipt in receipts] == [(), (second.id,)]
    assert outputs.lines == [b"1"]


async def test_a_lease_ends_in_time_after_its_record_could_not_be_written(
    rig: EmbeddedRig, outputs: Outputs
) -> None:
    [lease] = await rig.leases(1)
    outputs.broken = True
    with pytest.raises(SinkError):
        await rig.frontier.ack([listed(lease)])
    assert (await rig.claim()).leases == ()
    rig.clock.advance(LEASE_MS / 1000)
    [again] = (await rig.claim()).leases
    assert (again.url, again.lost) == (lease.url, 1)


async def test_a_job_that_is_cancelled_while_its_records_are_written_takes_no_ack(
    rig: EmbeddedRig, outputs: Outputs
) -> None:
    [lease] = await rig.leases(1)

    async def cancel() -> None:
        await rig.frontier.set_job_state(rig.job, JobState.CANCEL)

    outputs.meanwhile = cancel
    assert (await rig.frontier.ack([listed(lease)])).stale == (lease.id,)
    counts = await rig.frontier.counts(rig.job)
    assert (counts.done, counts.dropped) == (0, 1)
    assert await rig.frontier.tallies(rig.job) == {}


# Failures


async def test_a_writer_that_fails_leaves_everything_as_it_was(
    rig: EmbeddedRig, outputs: Outputs
) -> None:
    [lease] = await rig.leases(1)
    before = await rig.claim(0)
    outputs.broken = True
    with pytest.raises(SinkError):
        await rig.frontier.ack(
            [Ack(lease, Result.DONE, links=[rig.link(2)], note=b"1", listed=True, digest=b"d")],
            marks={"mine": b"x"},
            news={"news": b"y"},
        )
    counts = await rig.frontier.counts(rig.job)
    assert (counts.leased, counts.queued, counts.done) == (1, 0, 0)
    assert await rig.frontier.marks("") == {}
    assert await rig.frontier.contents(rig.job, [b"d"]) == [None]
    assert await rig.frontier.note(rig.job, lease.host, lease.fp) == b""
    assert (await rig.claim(0)).version == before.version


@pytest.mark.parametrize("fault", ["output", "store", "cancelled"])
async def test_no_later_mark_covers_a_record_whose_ack_failed(
    rig: EmbeddedRig, outputs: Outputs, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The page is fetched again, so its record must be cut off when the outputs open anew."""
    first, second, third = await rig.leases(1, 2, 3)
    outputs.go_on.clear()
    outputs.broken = fault == "output"
    failing = asyncio.create_task(rig.frontier.ack([listed(first)]))
    behind = asyncio.create_task(rig.frontier.ack([listed(second)]))
    await turns()

    def ack(*_: object) -> Receipt:
        raise StoreUnavailable("the frontier's disk cannot be written: No space left on device")

    with monkeypatch.context() as patch:
        if fault == "store":
            patch.setattr(Intake, "ack", ack)
        if fault == "cancelled":
            failing.cancel()
        outputs.go_on.set()
        await asyncio.gather(failing, behind, return_exceptions=True)
    outputs.broken = False
    assert isinstance(behind.exception(), SkitterError)
    with pytest.raises(SkitterError):
        await rig.frontier.ack([listed(third)])
    assert await safe(rig) == (0, None)
    # What has no record can be given back even so.
    assert (await rig.end(third, result=Result.DEFER)).accepted == 1


async def test_the_failed_output_of_one_job_leaves_the_others_at_work(
    rig: EmbeddedRig, outputs: Outputs
) -> None:
    other = await rig.add_job("other")
    [mine] = await rig.leases(1)
    [theirs] = await rig.leases(2, job=other)
    outputs.broken = True
    with pytest.raises(SinkError):
        await rig.frontier.ack([listed(mine)])
    outputs.broken = False
    assert (await rig.frontier.ack([listed(theirs)])).accepted == 1
    with pytest.raises(SinkError):
        await rig.frontier.ack([listed(mine)])
    assert outputs.lines == [b"2"]


async def test_a_crash_between_record_and_ack_leaves_the_page_to_be_fetched(
    rig: EmbeddedRig, outputs: Outputs
) -> None:
    [lease] = await rig.leases(1)
    outputs.meanwhile = rig.keep
    await rig.frontier.ack([listed(lease)])
    assert await safe(rig) == (1, b"1")
    await rig.go_back()
    assert await safe(rig) == (0, None)
    [again] = (await rig.claim()).leases
    assert again.url == lease.url
