"""The Bloom filter as the frontier's seen-set: crashes, power cuts, failures, false positives."""

import logging
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from skitter.errors import DataDirError, StoreUnavailable
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.embedded.layout import seen_key
from skitter.frontier.embedded.seen.bloom import BloomSeen
from skitter.frontier.embedded.seen.file import HEADER_BYTES
from skitter.frontier.embedded.seen.patches import PatchLog
from skitter.frontier.model import (
    Ack,
    Counts,
    JobEntry,
    JobState,
    Link,
    Result,
    SeenOptions,
    UrlState,
)
from skitter.types import HostKey, JobNumber, PageClass
from skitter.url.fingerprint import Fingerprinter

HOST = HostKey("www.example.com")
ROOMY = SeenOptions("bloom", expected=20_000, rate=1e-9)
CROWDED = SeenOptions("bloom", expected=50, rate=0.2)
JOB = JobEntry(id="job", delay_ms=0)
fingerprint = Fingerprinter(b"not the secret of any store")


class Crawl:
    """A store with one job, and the links it was offered."""

    def __init__(self, folder: Path, seen: SeenOptions | None = ROOMY) -> None:
        self.folder = folder
        self.store = EmbeddedFrontier(folder, durable=False, seen=seen)

    async def open(self) -> "Crawl":
        await self.store.open()
        self.job = await self.store.put_job(JOB)
        return self

    @property
    def seen(self) -> BloomSeen:
        seen = self.store._core.seen
        assert isinstance(seen, BloomSeen)
        return seen

    def links(self, numbers: Iterable[int]) -> list[Link]:
        return [link(n, self.job) for n in numbers]

    async def knows(self, numbers: Iterable[int]) -> list[bool]:
        return await self.store.seen(self.job, [(it.host, it.fp) for it in self.links(numbers)])

    async def waiting(self) -> set[str]:
        """Return every URL that has a queue entry."""
        grants = await self.store.own("me", [0])
        found: set[str] = set()
        while leases := (await self.store.claim(grants, 1_000)).leases:
            found |= {lease.url for lease in leases}
            await self.store.ack([Ack(lease, Result.DONE) for lease in leases])
        return found


def link(number: int, job: JobNumber) -> Link:
    url = f"https://{HOST}/{number}"
    return Link(url, fingerprint(url), HOST, job)


async def offer_in_steps(crawl: Crawl, numbers: range, step: int = 25) -> None:
    for at in range(numbers.start, numbers.stop, step):
        await crawl.store.offer(crawl.links(numbers[at - numbers.start :][:step]))


@pytest.mark.parametrize("settle_at", [10, 1_000_000])
async def test_everything_is_known_after_closing_and_opening(
    tmp_path: Path, settle_at: int
) -> None:
    crawl = await Crawl(tmp_path).open()
    crawl.seen.settle_at = settle_at
    await offer_in_steps(crawl, range(400))
    await crawl.store.close()
    crawl = await Crawl(tmp_path).open()
    assert crawl.store.seen_facts.urls == 400
    assert len(crawl.seen._top) == 0
    assert await crawl.knows(range(500)) == [True] * 400 + [False] * 100
    await crawl.store.close()


async def test_a_patch_that_never_reached_the_file_is_applied_on_opening(tmp_path: Path) -> None:
    crawl = await Crawl(tmp_path / "a").open()
    crawl.seen.settle_at = 50
    await offer_in_steps(crawl, range(400))
    while crawl.seen._task is not None:
        await crawl.seen._task
        await crawl.seen.tend()
    assert (tmp_path / "a" / "seen.patches").stat().st_size
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    await crawl.store.close()
    counters = (tmp_path / "a" / "seen.bloom").read_bytes()
    with (tmp_path / "b" / "seen.bloom").open("r+b") as file:
        file.seek(HEADER_BYTES)
        file.write(bytes(len(counters) - HEADER_BYTES))
    crawl = await Crawl(tmp_path / "b").open()
    assert all(await crawl.knows(range(400)))
    await crawl.store.close()
    assert (tmp_path / "b" / "seen.bloom").read_bytes()[HEADER_BYTES:] == counters[HEADER_BYTES:]


class PowerCut:
    """What the disk may hold at any moment: the log as last synced, pages of two ages."""

    def __init__(self, crawl: Crawl, home: Path) -> None:
        self._crawl = crawl
        self._home = home
        self.image = home / "synced"
        self._sync_log = crawl.store._rocks.sync_now
        self._sync_file = crawl.seen._file.sync
        self.old_file = (crawl.folder / "seen.bloom").read_bytes()
        crawl.store._rocks.sync_now = self.log_is_synced  # type: ignore[method-assign]
        crawl.seen._file.sync = self.file_is_synced  # type: ignore[method-assign]
        self.log_is_synced()

    def log_is_synced(self) -> None:
        self._sync_log()
        shutil.rmtree(self.image, ignore_errors=True)
        shutil.copytree(self._crawl.folder, self.image)

    def file_is_synced(self) -> None:
        self._sync_file()
        self.old_file = (self._crawl.folder / "seen.bloom").read_bytes()

    def cut(self, name: str, chance: random.Random) -> Path:
        """Return a directory as a power cut at this moment may leave it."""
        left = self._home / name
        shutil.copytree(self.image, left)
        young = (self._crawl.folder / "seen.bloom").read_bytes()
        pages = range(HEADER_BYTES, len(young), 64)
        torn = b"".join(chance.choice((young, self.old_file))[at : at + 64] for at in pages)
        (left / "seen.bloom").write_bytes(young[:HEADER_BYTES] + torn)
        if chance.random() < 0.5:
            shutil.copy(self._crawl.folder / "seen.patches", left)
        return left


@pytest.mark.parametrize("seed", range(3))
async def test_after_a_power_cut_a_url_is_known_if_and_only_if_its_entry_is_there(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    crawl = await Crawl(tmp_path / "store").open()
    crawl.seen.settle_at, crawl.seen.hold_at, crawl.seen.sync_at = 30, 60, 200
    power = PowerCut(crawl, tmp_path)
    images = []
    for at in range(0, 600, 20):
        await crawl.store.offer(crawl.links(range(at, at + 20)))
        if at > 100:
            forgotten = link(chance.randrange(at - 100), crawl.job)
            await crawl.store.forget(crawl.job, HOST, forgotten.fp)
        if chance.random() < 0.3:
            images.append(power.cut(f"cut-{at}", chance))
    await crawl.store.close()
    assert images
    for image in images:
        await check_known_is_queued(image)


async def check_known_is_queued(image: Path) -> None:
    left = await Crawl(image).open()
    known = await left.knows(range(620))
    assert left.store.seen_facts.urls == sum(known)
    waiting = await left.waiting()
    assert known == [link(n, left.job).url in waiting for n in range(620)]
    for n in range(0, 620, 3):
        assert await left.store.forget(left.job, HOST, link(n, left.job).fp) == known[n]
    assert await left.knows(range(0, 620, 3)) == [False] * 207
    rest = [n for n in range(620) if n % 3]
    assert await left.knows(rest) == [known[n] for n in rest]
    await left.store.close()


VICTIM = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_bloom_seen import Crawl, link, HOST
async def main():
    crawl = await Crawl(Path(sys.argv[1])).open()
    crawl.seen.settle_at, crawl.seen.hold_at, crawl.seen.sync_at = 30, 60, 200
    print("begun", flush=True)
    for at in range(0, 10**9, 20):
        fresh = [n % 600 for n in range(at, at + 20)]
        await crawl.store.offer(crawl.links(fresh))
        await crawl.store.forget(crawl.job, HOST, link((at * 7) % 600, crawl.job).fp)
        if at % 100 == 0:
            print(at, flush=True)
asyncio.run(main())
"""


async def test_after_each_of_many_kills_a_url_is_known_if_and_only_if_its_entry_is_there(
    tmp_path: Path,
) -> None:
    for steps in (1, 2, 9, 30):
        command = [
            sys.executable,
            "-c",
            VICTIM,
            str(tmp_path / "store"),
            str(Path(__file__).parent),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as victim:
            assert victim.stdout is not None
            for _ in range(steps):
                assert victim.stdout.readline()
            victim.kill()
        shutil.copytree(tmp_path / "store", tmp_path / f"after-{steps}")
        await check_known_is_queued(tmp_path / f"after-{steps}")


async def test_nothing_is_set_in_the_file_before_the_log_is_synced(tmp_path: Path) -> None:
    crawl = await Crawl(tmp_path).open()
    crawl.seen.settle_at = 10
    sync_log = crawl.store._rocks.sync_now
    at_sync: list[int] = []

    def watched() -> None:
        at_sync.append(int(crawl.seen._file.array.astype(bool).sum()))
        sync_log()

    crawl.store._rocks.sync_now = watched  # type: ignore[method-assign]
    await crawl.store.offer(crawl.links(range(10)))
    assert crawl.seen._task is not None
    await crawl.seen._task
    assert at_sync == [0]
    assert crawl.seen._file.array.any()
    await crawl.store.close()


async def test_a_failure_in_the_background_is_told_and_made_good(tmp_path: Path) -> None:
    crawl = await Crawl(tmp_path).open()
    crawl.seen.settle_at, crawl.seen.hold_at = 10, 10
    sync_log = crawl.store._rocks.sync_now

    def full() -> None:
        raise StoreUnavailable("no space left")

    crawl.store._rocks.sync_now = full  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable, match="no space left"):
        await crawl.store.offer(crawl.links(range(20)))
    crawl.store._rocks.sync_now = sync_log  # type: ignore[method-assign]
    assert all(await crawl.knows(range(20)))
    await crawl.store.offer(crawl.links(range(20, 40)))
    await crawl.store.close()
    crawl = await Crawl(tmp_path).open()
    assert await crawl.knows(range(50)) == [True] * 40 + [False] * 10
    assert crawl.store.seen_facts.urls == 40
    await crawl.store.close()


@pytest.mark.parametrize("fails", ["_patches.append", "_rocks.write", "_file.sync"])
async def test_whatever_fails_in_the_background_can_be_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    crawl = await Crawl(tmp_path).open()
    crawl.seen.settle_at = crawl.seen.hold_at = crawl.seen.sync_at = 10
    part, _, verb = fails.partition(".")

    def full(*_: object) -> None:
        raise StoreUnavailable("no space left")

    await crawl.store.offer(crawl.links(range(8)))
    crawl.seen._top.take(
        [seen_key(1, link(n, crawl.job).fp) for n in range(8, 20)], [], b"bloom:step:none"
    )
    with monkeypatch.context() as patched:
        patched.setattr(getattr(crawl.seen, part), verb, full)
        with pytest.raises(StoreUnavailable):
            await crawl.seen.tend()
    assert all(await crawl.knows(range(20)))
    await crawl.store.close()
    crawl = await Crawl(tmp_path).open()
    assert await crawl.knows(range(30)) == [True] * 20 + [False] * 10
    assert crawl.store.seen_facts.urls == 20
    await crawl.store.close()


async def test_a_patch_that_does_not_count_is_ignored_and_a_missing_one_is_named(
    tmp_path: Path,
) -> None:
    crawl = await Crawl(tmp_path / "a").open()
    crawl.seen.settle_at = crawl.seen.hold_at = 10
    await crawl.store.offer(crawl.links(range(10)))
    await crawl.store.offer(crawl.links(range(10, 20)))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    stranger = crawl.seen._filter.patch(seen_key(1, link(77, crawl.job).fp))
    await crawl.store.close()
    log = PatchLog(tmp_path / "b" / "seen.patches")
    assert len(list(log.read(1, 2))) == 2
    log.append(3, stranger)
    log.close()
    crawl = await Crawl(tmp_path / "b").open()
    assert await crawl.knows([*range(20), 77]) == [True] * 20 + [False]
    await crawl.store.close()
    os.truncate(tmp_path / "c" / "seen.patches", 40)
    before = (tmp_path / "c" / "seen.bloom").read_bytes()
    with pytest.raises(DataDirError, match=r"seen\.patches: cut short or damaged: patch 1 of"):
        await Crawl(tmp_path / "c").open()
    assert (tmp_path / "c" / "seen.bloom").read_bytes() == before


async def test_a_disk_that_fails_on_closing_leaves_the_rest_to_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = await Crawl(tmp_path).open()
    await crawl.store.offer(crawl.links(range(20)))

    def broken() -> None:
        raise StoreUnavailable("input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(crawl.seen._file, "sync", broken)
        await crawl.store.close()
    crawl = await Crawl(tmp_path).open()
    assert all(await crawl.knows(range(20)))
    await crawl.store.close()


async def test_only_urls_that_ended_have_a_row(tmp_path: Path) -> None:
    crawl = await Crawl(tmp_path).open()
    await crawl.store.offer(crawl.links(range(10)))
    grants = await crawl.store.own("me", [0])
    [lease] = (await crawl.store.claim(grants, 1)).leases
    await crawl.store.ack([Ack(lease, Result.DONE)])
    assert len(list(crawl.store._rocks.scan("seen", b""))) == 1
    await crawl.store.close()


async def test_a_warning_says_once_when_more_came_than_was_expected(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = await Crawl(tmp_path, SeenOptions("bloom", expected=100, rate=1e-3)).open()
    with caplog.at_level(logging.WARNING):
        await crawl.store.offer(crawl.links(range(100)))
        assert caplog.messages == []
        await crawl.store.offer(crawl.links(range(100, 160)))
        await crawl.store.offer(crawl.links(range(160, 200)))
    [words] = caplog.messages
    assert "more than the 100 it was made for" in words
    assert "start over with --fresh" in words
    facts = crawl.store.seen_facts
    assert facts.urls == pytest.approx(200, abs=10)
    assert facts.rate > 0.01
    await crawl.store.close()


async def test_a_false_positive_is_passed_over_told_as_unknown_and_harms_nobody(
    tmp_path: Path,
) -> None:
    crawl = await Crawl(tmp_path, CROWDED).open()
    crawl.seen.settle_at = crawl.seen.hold_at = 20
    await offer_in_steps(crawl, range(300))
    counts = await crawl.store.counts(crawl.job)
    assert crawl.store.seen_facts.urls == counts.offered < 300
    accepted = {url for url in (await everything(crawl)) if url}
    wrong = [n for n in range(300) if link(n, crawl.job).url not in accepted]
    assert len(wrong) == 300 - counts.offered
    for n in wrong:
        sighting = await crawl.store.look(crawl.job, HOST, link(n, crawl.job).fp)
        assert (sighting.state, sighting.presumed) == (UrlState.UNKNOWN, True)
        assert not await crawl.store.forget(crawl.job, HOST, link(n, crawl.job).fp)
    assert all(await crawl.knows(range(300)))
    assert await crawl.store.counts(crawl.job) == counts
    await crawl.store.close()


async def everything(crawl: Crawl) -> list[str]:
    """Return the URLs that `look` finds in the queue."""
    found = []
    for n in range(300):
        sighting = await crawl.store.look(crawl.job, HOST, link(n, crawl.job).fp)
        if sighting.link is not None:
            assert not sighting.presumed
            found.append(sighting.link.url)
    return found


async def test_a_url_deep_in_a_long_queue_is_queued_on_the_filters_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skitter.frontier.embedded.reading.LOOK_LIMIT", 10)
    crawl = await Crawl(tmp_path).open()
    await crawl.store.offer(crawl.links(range(40)))
    sighting = await crawl.store.look(crawl.job, HOST, link(39, crawl.job).fp)
    assert (sighting.state, sighting.presumed) == (UrlState.QUEUED, True)
    await crawl.store.close()


async def test_what_a_cancelled_job_dropped_is_told_from_a_false_positive(tmp_path: Path) -> None:
    crawl = await Crawl(tmp_path, CROWDED).open()
    crawl.seen.settle_at = crawl.seen.hold_at = 20
    await offer_in_steps(crawl, range(200))
    held = len(await everything(crawl))
    assert 0 < held < 200
    await crawl.store.set_job_state(crawl.job, JobState.CANCEL)
    assert await crawl.store.counts(crawl.job) == Counts(dropped=held)
    states = []
    for n in range(200):
        sighting = await crawl.store.look(crawl.job, HOST, link(n, crawl.job).fp)
        forgotten = await crawl.store.forget(crawl.job, HOST, link(n, crawl.job).fp)
        states.append((sighting.state, forgotten))
    assert states.count((UrlState.DROPPED, True)) == held
    assert states.count((UrlState.UNKNOWN, False)) == 200 - held
    assert await crawl.store.counts(crawl.job) == Counts()
    await crawl.store.close()


async def test_clearing_a_long_queue_does_not_gather_it_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skitter.frontier.embedded.control.CLEAR_BATCH", 100)
    crawl = await Crawl(tmp_path).open()
    crawl.seen.settle_at, crawl.seen.hold_at = 100, 300
    await offer_in_steps(crawl, range(3_000), 500)
    most = 0
    follow = crawl.seen.follow

    def watched(change: object) -> None:
        nonlocal most
        follow(change)  # type: ignore[arg-type]
        most = max(most, len(crawl.seen._top))

    crawl.seen.follow = watched  # type: ignore[method-assign]
    assert await crawl.store.clear(crawl.job, PageClass.DATA) == 3_000
    assert 0 < most <= 400
    assert not any(await crawl.knows(range(3_000)))
    assert crawl.store.seen_facts.urls == 0
    await crawl.store.close()


def test_who_does_not_use_a_filter_does_not_load_numpy(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from pathlib import Path
from skitter.frontier.embedded.frontier import EmbeddedFrontier
async def main():
    store = EmbeddedFrontier(Path(sys.argv[1]), durable=False)
    await store.open()
    await store.close()
asyncio.run(main())
print("numpy" in sys.modules)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "store")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"
