"""A store full of pages to look up, made through the verbs of the frontier."""

import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Ack, Freed, Hop, Lease, Link, Result
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.job.parts import Polite
from skitter.job.spec import Job
from skitter.pipeline.record import PageRecord, encode_line
from skitter.types import JobNumber
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser
from skitter.url.partition import SLOTS, slot_of
from skitter.wiring.connect import connect_redis
from skitter.wiring.parts import job_entry

PAGES_PER_HOST = 500
STEP = 500
"""Pages ended in one step; all on different hosts, so that none waits for another."""
OWN_MS = 3_600_000
REDIRECTED = 10
"""One page in so many was reached by a redirect."""
WORDS = (
    "harbour", "tide", "lighthouse", "ferry", "notice", "council", "report", "market", "weather",
    "bridge", "museum", "garden", "railway", "school", "library", "winter", "archive", "station",
    "river", "festival", "港口", "灯塔", "公告", "报告", "天气", "桥梁",
)  # fmt: skip


def url_of(page: int, pages: int) -> str:
    """Return the URL that was queued for a page."""
    hosts = max(1, pages // PAGES_PER_HOST)
    return f"https://www.site-{page % hosts}.example/section-{page % 7}/{page}/a-page-to-look-up"


def final_url_of(page: int, pages: int) -> str:
    """Return where a page was found."""
    url = url_of(page, pages)
    return f"{url}.html" if page % REDIRECTED == 0 else url


def record_of(page: int, pages: int, job: str) -> PageRecord:
    """Return a record of the usual size, about a kilobyte."""
    rng = random.Random(page)
    url, final = url_of(page, pages), final_url_of(page, pages)
    title = " ".join(rng.choices(WORDS, k=8))
    return PageRecord(
        job=job,
        url=url,
        final_url=final,
        redirects=[] if url == final else [url],
        status=200,
        outcome="ok",
        depth=2,
        page_class="data",
        referrer=f"https://www.site-{page % 97}.example/",
        fetched_at=f"2026-01-{page % 28 + 1:02}T09:30:00.{page % 1000:03}Z",
        elapsed_ms=rng.randrange(20, 900),
        content_type="text/html; charset=utf-8",
        encoding="utf-8",
        bytes=rng.randrange(2_000, 90_000),
        digest=f"{rng.getrandbits(128):032x}",
        title=title,
        description=" ".join(rng.choices(WORDS, k=24)),
        image=f"https://cdn.site-{page % 97}.example/{rng.getrandbits(64):x}.jpg",
        language="en",
        canonical=final,
        n_links=rng.randrange(80),
        visit=1,
    )


async def make_store(data: Path, pages: int, *, job: str = "lookups") -> None:
    """Fill the directory of a master with so many pages."""
    directory = DataDir(data)
    directory.acquire()
    frontier = EmbeddedFrontier(directory.frontier, durable=False)
    await frontier.open()
    try:
        spec = Job(id=job, entries=("https://www.site-0.example/",), polite=Polite(delay=0))
        await Filler(frontier, spec, pages).fill()
    finally:
        await frontier.close()
        directory.release()


async def make_shared_store(
    store: str, index: str | None, pages: int, *, job: str = "lookups"
) -> None:
    """Fill a store in Redis, and the database of its page index, with so many pages."""
    async with AsyncExitStack() as stack:
        frontier = (await connect_redis(stack, store, index=index)).frontier
        spec = Job(id=job, entries=("https://www.site-0.example/",), polite=Polite(delay=0))
        await Filler(frontier, spec, pages, slots=range(SLOTS)).fill()


class Filler:
    """Leases pages that were never fetched, and acks them as if they were."""

    def __init__(
        self,
        frontier: EmbeddedFrontier | RedisFrontier,
        job: Job,
        pages: int,
        slots: Sequence[int] = (0,),
    ) -> None:
        self._slots = slots
        self._frontier = frontier
        self._job = job
        self._pages = pages
        self._normaliser = Normaliser(job.urls.rules(), Fingerprinter(frontier.secret))

    async def fill(self) -> None:
        """End every page."""
        frontier = self._frontier
        number = await frontier.put_job(job_entry(self._job, outbox=False))
        grants = await frontier.own("bench", self._slots, OWN_MS)
        freed: list[Freed] = []
        for first in range(0, self._pages, STEP):
            some = range(first, min(self._pages, first + STEP))
            left = {url_of(page, self._pages): page for page in some}
            await frontier.offer([self._link(number, url) for url in left])
            while left:
                claim = await frontier.claim(grants, STEP, freed=freed)
                freed = [Freed(lease.id, lease.host, 0) for lease in claim.leases]
                await frontier.ack([self._ack(one, left.pop(one.url)) for one in claim.leases])

    def _link(self, number: JobNumber, url: str) -> Link:
        normal = self._normaliser.absolute(url)
        return Link(normal.url, normal.fp, normal.host, number, slot_of(normal.host))

    def _ack(self, lease: Lease, page: int) -> Ack:
        record = record_of(page, self._pages, self._job.id)
        hops: list[Hop] = []
        if record.redirects and record.final_url is not None:
            final = self._normaliser.absolute(record.final_url)
            hops.append(Hop(final.fp, final.host))
        return Ack(lease, Result.DONE, note=encode_line(record), hops=hops)
