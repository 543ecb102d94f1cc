"""What a batch leaves behind: captures in the archive, records in every sink, or nothing."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, MemorySink, Web, by_url, make_job
from msgspec.structs import replace

from skitter.crawl.outputs import RECORD_FIELD
from skitter.errors import SinkError
from skitter.fetch.base import Raw
from skitter.pipeline.archive.model import Capture, Location
from skitter.pipeline.archive.read import read_response
from skitter.pipeline.archive.writer import Archive
from skitter.pipeline.base import Batch
from skitter.testing.fake_fetcher import page

OTHER = "http://other.test"


class MemoryArchive:
    """An archive in memory; its mark is the number of captures."""

    mark_name = "archive:memory"

    def __init__(self) -> None:
        self.captures: list[Capture] = []
        self.synced = 0
        self.broken = ""

    def check(self) -> None:
        """Find nothing wrong."""

    async def open(self, mark: bytes | None) -> bytes:
        return mark or b"0"

    async def write(self, captures: Sequence[Capture]) -> tuple[list[Location], bytes]:
        if self.broken == "write":
            raise SinkError("archive: cannot be written (No space left on device)")
        first = len(self.captures)
        self.captures += captures
        places = [Location("a.warc", first + n, "sha1:X") for n in range(len(captures))]
        return places, str(len(self.captures)).encode()

    def holds(self, file: str, offset: int) -> bool:
        return True

    async def sync(self) -> None:
        await asyncio.sleep(0)
        if self.broken == "sync":
            raise SinkError("archive: cannot be synced (Input/output error)")
        self.synced = len(self.captures)

    async def close(self) -> None:
        """Do nothing."""

    def of(self, url: str) -> list[Capture]:
        return [capture for capture in self.captures if capture.url == url]


@pytest.fixture
def web() -> Web:
    found = Web()
    found.robots("")
    found.html(HOME, "home", "/a")
    found.html(f"{SITE}/a", "a")
    return found


@pytest.fixture
def archive() -> MemoryArchive:
    return MemoryArchive()


@pytest.fixture
async def rig(tmp_path: Path, web: Web, archive: MemoryArchive) -> AsyncIterator[CrawlRig]:
    made = CrawlRig(tmp_path, web, make_job(sitemaps="auto"))
    made.archive = archive
    await made.open()
    yield made
    await made.close()


# What is archived


async def test_each_record_names_the_place_of_its_response(
    rig: CrawlRig, archive: MemoryArchive
) -> None:
    for record in await rig.crawl():
        assert (record["warc_file"], record["payload_digest"]) == ("a.warc", "sha1:X")
        capture = archive.captures[record["warc_offset"]]
        assert capture.url == record["final_url"]
        told = json.loads(capture.fields[RECORD_FIELD])
        assert (told["url"], told["warc_offset"]) == (record["url"], None)
    assert await rig.frontier.mark(rig.mark_of(archive)) == str(len(archive.captures)).encode()
    assert archive.synced == len(archive.captures)


async def test_a_capture_says_whence_and_how_far_it_came(
    rig: CrawlRig, archive: MemoryArchive
) -> None:
    await rig.crawl()
    [home], [linked] = archive.of(HOME), archive.of(f"{SITE}/a")
    assert (linked.fields["via"], linked.fields["hopsFromSeed"]) == (HOME, "L")
    assert not {"via", "hopsFromSeed"} & home.fields.keys()
    assert home.request.startswith(b"GET / HTTP/1.1\r\n")
    assert home.response[home.head_bytes :].startswith(b"<title>")


async def test_robots_txt_is_archived_and_sitemaps_are_not(
    web: Web, rig: CrawlRig, archive: MemoryArchive
) -> None:
    web.robots(f"Sitemap: {SITE}/map.xml")
    web.sitemap(f"{SITE}/map.xml", HOME)
    await rig.crawl()
    [robots] = archive.of(f"{SITE}/robots.txt")
    assert robots.fields == {}
    assert archive.of(f"{SITE}/map.xml") == []
    note = json.loads((await rig.look(f"{SITE}/map.xml", as_sitemap=True)).note)
    assert (note["outcome"], note["warc_file"]) == ("ok", None)
    assert f"{SITE}/map.xml" not in by_url(rig.sink.records)


async def test_every_hop_is_archived_and_the_record_names_the_last(
    web: Web, rig: CrawlRig, archive: MemoryArchive
) -> None:
    web.moved(HOME, "/a")
    [record] = await rig.crawl()
    [hop], [final] = archive.of(HOME), archive.of(f"{SITE}/a")
    assert archive.captures.index(final) == record["warc_offset"]
    assert (hop.fields, bool(final.fields)) == ({}, True)


async def test_a_redirect_to_what_is_not_kept_names_no_place(web: Web, rig: CrawlRig) -> None:
    """Its status is that of the target, so the redirect's capture is not its own."""
    web.moved(HOME, "/film")
    web.text(f"{SITE}/film", "film", "video/mp4")
    [record] = await rig.crawl()
    assert (record["outcome"], record["status"]) == ("skipped", 200)
    assert (record["warc_file"], record["warc_offset"], record["payload_digest"]) == (
        None,
        None,
        None,
    )


async def test_a_redirect_to_a_known_page_names_its_own_capture(
    web: Web, rig: CrawlRig, archive: MemoryArchive
) -> None:
    web.moved(f"{SITE}/old", "/a")
    records = by_url(await rig.crawl(f"{SITE}/a", f"{SITE}/old"))
    old = records[f"{SITE}/old"]
    assert (old["outcome"], old["status"]) == ("duplicate", 301)
    assert archive.captures[old["warc_offset"]].url == f"{SITE}/old"


async def test_an_answer_that_is_asked_for_again_is_archived_without_a_record(
    web: Web, rig: CrawlRig, archive: MemoryArchive
) -> None:
    web.status(HOME, 503)
    await rig.commit(await rig.visit(HOME))
    [capture] = archive.of(HOME)
    assert capture.fields == {}
    assert rig.sink.records == []


async def test_bytes_are_let_go_when_they_are_written(rig: CrawlRig) -> None:
    visit = await rig.visit(HOME)
    assert visit.weight > 0
    await rig.commit(visit)
    assert visit.weight == 0


async def test_what_a_job_keeps_secret_is_not_archived(
    tmp_path: Path, web: Web, archive: MemoryArchive
) -> None:
    web.moved(f"{SITE}/a", HOME)
    job = make_job(http={"headers": {"Cookie": "hush", "X-Plain": "shown"}})
    rig = CrawlRig(tmp_path, web, job)
    rig.archive = archive
    await rig.open()
    await rig.crawl(f"{SITE}/a")
    await rig.close()
    asked = [capture.request for capture in archive.of(HOME) + archive.of(f"{SITE}/a")]
    assert len(asked) == 2
    assert all(
        b"X-Plain: (not archived)" in request and b"hush" not in request for request in asked
    )
    assert all(b"hush" not in capture.request for capture in archive.captures)


# Content that came before


async def archived(tmp_path: Path, web: Web, *urls: str, batches: bool = False) -> list[Any]:
    """Crawl ``urls`` into a real archive; answers their records."""
    rig = CrawlRig(tmp_path / "crawl", web, make_job(polite={"robots": False, "per_host": 9}))
    (tmp_path / "crawl").mkdir(exist_ok=True)
    kept = Archive(tmp_path / "warc", job="job", durable=False)
    rig.archive = kept
    await rig.open()
    await kept.open(await rig.frontier.mark(rig.mark_of(kept)))
    await rig.offer(*urls)
    visits = [await rig.visitor.visit(lease) for lease in await rig.claim(9)]
    for some in [[visit] for visit in visits] if batches else [visits]:
        await rig.commit(*some)
    await kept.close()
    await rig.close()
    return rig.sink.records


@pytest.mark.parametrize("batches", [True, False])
async def test_equal_content_becomes_a_revisit(tmp_path: Path, web: Web, batches: bool) -> None:
    for name in ("one", "two"):
        web.text(f"{SITE}/{name}", "the same")
    one, two = await archived(tmp_path, web, f"{SITE}/one", f"{SITE}/two", batches=batches)
    assert two["duplicate_of"] == one["url"]
    found = read_response(tmp_path / "warc" / two["warc_file"], two["warc_offset"])
    assert (found.kind, found.refers_to) == ("revisit", (one["url"], one["fetched_at"]))


async def test_content_of_an_earlier_run_is_known_by_its_record(tmp_path: Path, web: Web) -> None:
    web.moved(f"{SITE}/first", "/one")
    web.text(f"{SITE}/one", "the same")
    web.text(f"{SITE}/two", "the same")
    [first] = await archived(tmp_path, web, f"{SITE}/first")
    [two] = await archived(tmp_path, web, f"{SITE}/two")
    assert two["duplicate_of"] == first["url"]
    found = read_response(tmp_path / "warc" / two["warc_file"], two["warc_offset"])
    assert found.refers_to == (f"{SITE}/one", first["fetched_at"])


async def test_equal_content_that_came_in_other_bytes_is_kept_whole(
    tmp_path: Path, web: Web
) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    raw = Raw(b"GET /two HTTP/1.1\r\n\r\n", head + gzip.compress(b"the same"), len(head))
    for name in ("one", "two"):
        web.text(f"{SITE}/{name}", "the same")
    web[f"{SITE}/two"] = replace(page(f"{SITE}/two", "the same"), raw=raw)
    one, two = await archived(tmp_path, web, f"{SITE}/one", f"{SITE}/two")
    assert two["duplicate_of"] == one["url"]
    found = read_response(tmp_path / "warc" / two["warc_file"], two["warc_offset"])
    assert (found.kind, found.content_encoding) == ("response", "gzip")


# All or nothing


class SlowSink(MemorySink):
    """Takes some turns of the loop to write."""

    mark_name = "sink:slow"

    async def write(self, batch: Batch) -> bytes:
        for _ in range(10):
            await asyncio.sleep(0)
        return await super().write(batch)


@pytest.mark.parametrize("broken", ["first", "second", "write", "sync"])
async def test_whatever_cannot_be_written_nothing_is_acked_and_nothing_goes_on_behind(
    rig: CrawlRig, archive: MemoryArchive, broken: str
) -> None:
    first, second = MemorySink(), SlowSink()
    first.broken, second.broken = broken == "first", broken == "second"
    archive.broken = broken
    rig.recording.serve(rig.number, [first, second])
    with pytest.raises(SinkError):
        await rig.commit(await rig.visit(HOME))
    assert asyncio.all_tasks() == {asyncio.current_task()}
    counts = await rig.counts()
    assert (counts.done, counts.leased) == (0, 1)
    for output in (first, second, archive):
        assert await rig.frontier.mark(rig.mark_of(output)) is None
    # The others are not cut off in the middle of a record, and no record names a lost capture.
    assert len(second.lines) == (1 if broken == "first" else 0)


async def test_a_failed_flush_stays_failed(rig: CrawlRig, archive: MemoryArchive) -> None:
    """What it wrote must not be covered by the mark of a later batch."""
    archive.broken = "sync"
    await rig.committer.add(await rig.visit(HOME))
    with pytest.raises(SinkError):
        await rig.committer.flush()
    archive.broken = ""
    with pytest.raises(SinkError):
        await rig.committer.flush()
    assert (await rig.counts()).done == 0
