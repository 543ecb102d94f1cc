"""Look-ups on a real store: over jobs with rules of their own, by requested and final URL."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from skitter.crawl.resolve.index import PageIndex
from skitter.errors import NotFound
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Ack, Hop, Link, Result
from skitter.job.parts import Polite, Urls
from skitter.job.spec import Job
from skitter.pipeline.record import PageRecord, encode_line
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser
from skitter.wiring.parts import job_entry


@pytest.fixture
async def frontier(tmp_path: Path) -> AsyncIterator[EmbeddedFrontier]:
    store = EmbeddedFrontier(tmp_path / "frontier")
    await store.open()
    yield store
    await store.close()


class Shelf:
    """Puts records into a store as visits do."""

    def __init__(self, frontier: EmbeddedFrontier) -> None:
        self._frontier = frontier

    async def put(self, job: str, *records: PageRecord, urls: Urls | None = None) -> None:
        spec = Job(id=job, polite=Polite(delay=0), urls=urls or Urls())
        number = await self._frontier.put_job(job_entry(spec))
        normaliser = Normaliser(spec.urls.rules(), Fingerprinter(self._frontier.secret))
        for record in records:
            record.job = job
            normal = normaliser.absolute(record.url)
            hops = []
            if record.final_url not in (None, record.url) and record.duplicate_of is None:
                target = normaliser.absolute(record.final_url or "")
                hops = [Hop(target.fp, target.host)]
            await self._frontier.offer([Link(normal.url, normal.fp, normal.host, number)])
            [grant] = await self._frontier.own("t", (0,))
            [lease] = (await self._frontier.claim([grant], 1)).leases
            note = encode_line(record)
            await self._frontier.ack([Ack(lease, Result.DONE, hops=hops, note=note)])


def record(url: str, title: str, at: str = "2026-01-01", **given: object) -> PageRecord:
    facts: dict[str, object] = {
        "job": "", "url": url, "final_url": url, "outcome": "ok", "depth": 0, "title": title,
        "page_class": "data", "fetched_at": f"{at}T00:00:00.000Z", "visit": 1,
    }  # fmt: skip
    return PageRecord(**{**facts, **given})  # type: ignore[arg-type]


def index(frontier: EmbeddedFrontier) -> PageIndex:
    return PageIndex(frontier, frontier.secret)


async def test_what_is_there_is_found_in_order_and_the_rest_is_not(
    frontier: EmbeddedFrontier,
) -> None:
    await Shelf(frontier).put(
        "a", record("https://a.test/1", "one"), record("https://a.test/2", "two")
    )
    found = await index(frontier).find(
        ["https://a.test/2?utm_source=x", "https://nowhere.test/", "a.test/1", "https://a.test:x/"]
    )
    assert [(one.found, one.title) for one in found] == [
        (True, "two"), (False, None), (True, "one"), (False, None),
    ]  # fmt: skip
    assert (found[0].url, found[0].requested_url) == (
        "https://a.test/2?utm_source=x",
        "https://a.test/2",
    )
    assert [one.error is None for one in found] == [True, True, True, False]


async def test_of_several_jobs_the_newest_record_counts_unless_one_is_named(
    frontier: EmbeddedFrontier,
) -> None:
    shelf = Shelf(frontier)
    await shelf.put("old", record("https://a.test/", "before", "2026-01-01"))
    await shelf.put("new", record("https://a.test/", "after", "2026-02-01"))
    await shelf.put("older", record("https://a.test/", "long ago", "2025-01-01"))
    look = index(frontier)
    assert [one.title for one in await look.find(["https://a.test/"])] == ["after"]
    assert [one.job for one in await look.find(["https://a.test/"], "old")] == ["old"]
    with pytest.raises(NotFound, match="job nobody"):
        await look.find(["https://a.test/"], "nobody")


async def test_a_job_is_asked_by_the_rules_of_its_own(frontier: EmbeddedFrontier) -> None:
    plain, sorted_ = "https://a.test/?b=1&a=2", "https://a.test/?a=2&b=1"
    await Shelf(frontier).put("s", record(plain, "sorted"), urls=Urls(sort_query=True))
    await Shelf(frontier).put(
        "t", record("https://a.test/?x=1", "tracked"), urls=Urls(tracking=("y",))
    )
    found = await index(frontier).find(
        [sorted_, "https://a.test/?x=1&y=2", "https://a.test/?y=1&x=1"]
    )
    assert [one.title for one in found] == ["sorted", "tracked", "tracked"]


async def test_a_page_is_found_by_where_a_redirect_led(frontier: EmbeddedFrontier) -> None:
    await Shelf(frontier).put(
        "a",
        record("https://t.test/x", "there", final_url="https://b.test/page", redirects=["https://t.test/x"]),
        record("https://t.test/y", "", final_url="https://b.test/page", outcome="duplicate",
               duplicate_of="https://t.test/x", redirects=["https://t.test/y"]),
    )  # fmt: skip
    found = await index(frontier).find(["https://b.test/page", "https://t.test/y"])
    assert [(one.title, one.requested_url) for one in found] == [
        ("there", "https://t.test/x"), ("there", "https://t.test/y"),
    ]  # fmt: skip
    assert found[1].redirects == ["https://t.test/y", "https://t.test/x"]


async def test_a_job_that_is_named_is_found_at_once(frontier: EmbeddedFrontier) -> None:
    look = index(frontier)
    [before] = await look.find(["https://a.test/"])
    assert (before.found, before.error) == (False, None)
    await Shelf(frontier).put("a", record("https://a.test/", "new"))
    assert [one.title for one in await look.find(["https://a.test/"], "a")] == ["new"]
    assert [one.title for one in await look.find(["https://a.test/"])] == ["new"]
