"""The questions of the seam on a shared store, each passed on to what answers it."""

from collections.abc import Sequence

from skitter.frontier.events import MAX_WAIT_MS
from skitter.frontier.model import Counts, JobEntry, Sighting
from skitter.frontier.redis.events import Events
from skitter.frontier.redis.reading import Reading
from skitter.frontier.redis.series import SeriesBook
from skitter.frontier.redis.stirs import Stirs
from skitter.types import Fingerprint, HostKey, JobNumber


class Questions:
    """Implements ``FrontierReader``; whoever makes the frontier sets what is asked."""

    _reading: Reading
    _events: Events
    _series: SeriesBook
    _stirs: Stirs

    async def jobs(self) -> dict[JobNumber, JobEntry]:
        """Return every job."""
        return await self._reading.jobs()

    async def counts(self, job: JobNumber, *, domain: str | None = None) -> Counts:
        """Return kept counters."""
        return await self._reading.counts(job, domain=domain)

    async def domains(self, job: JobNumber, limit: int = 100) -> list[tuple[str, Counts]]:
        """Return the domains with most pending URLs."""
        return await self._reading.domains(job, limit)

    async def hosts_with_work(self) -> int:
        """Return how many hosts have a URL to hand out, or one in flight."""
        return await self._reading.hosts_with_work()

    async def hosts(self, job: JobNumber) -> int:
        """Return how many hosts a job has met."""
        return await self._reading.hosts(job)

    async def look(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> Sighting:
        """Return everything known of one URL."""
        return await self._reading.look(job, host, fp)

    async def seen(self, job: JobNumber, urls: Sequence[tuple[HostKey, Fingerprint]]) -> list[bool]:
        """Tell which URLs were ever accepted."""
        return await self._reading.seen(job, urls)

    async def mark(self, name: str) -> bytes | None:
        """Return a value kept with the acks."""
        return await self._reading.mark(name)

    async def marks_of(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values of many names."""
        return await self._reading.marks_of(names)

    async def marks(self, prefix: str) -> dict[str, bytes]:
        """Return the marks whose names begin with ``prefix``."""
        return await self._reading.marks(prefix)

    async def note(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> bytes:
        """Return what the page index keeps of one URL."""
        return await self._reading.note(job, host, fp)

    async def notes_of(
        self, wanted: Sequence[tuple[JobNumber, HostKey, Fingerprint]]
    ) -> list[bytes]:
        """Return what the page index keeps of many URLs."""
        return await self._reading.notes_of(wanted)

    async def notes(
        self, job: JobNumber, after: bytes = b"", limit: int = 500
    ) -> tuple[list[bytes], bytes]:
        """Return a stretch of the page index."""
        return await self._reading.notes(job, after, limit)

    async def tallies(self, job: JobNumber) -> dict[str, int]:
        """Return the totals of a job."""
        return await self._reading.tallies(job)

    async def contents(self, job: JobNumber, digests: Sequence[bytes]) -> list[str | None]:
        """Return the first URLs with those contents."""
        return await self._reading.contents(job, digests)

    async def events(
        self, after: str, limit: int = 500, wait_ms: int = 0
    ) -> list[tuple[str, bytes]]:
        """Return events behind an id; waits for some if there are none."""
        return await self._events.read(after, limit, min(wait_ms, MAX_WAIT_MS))

    async def series(
        self, prefix: str, step: str, since_ms: int, until_ms: int, *, exact: bool = False
    ) -> dict[str, dict[int, int]]:
        """Return counters over time."""
        return await self._series.read(prefix, step, since_ms, until_ms, exact=exact)

    async def url_counts(self, urls: Sequence[str]) -> list[int]:
        """Return how often URLs were submitted."""
        return await self._series.urls(urls)

    async def top_urls(self, limit: int = 100) -> list[tuple[str, int]]:
        """Return the URLs that were submitted most often."""
        return await self._series.top_urls(limit)

    async def stirs(self, heard: int, wait_ms: int) -> int:
        """Return how often something was queued that this member may claim."""
        return await self._stirs.wait(heard, min(wait_ms, MAX_WAIT_MS))

    async def latest_event(self) -> str:
        """Return the id of the last event."""
        return await self._events.latest()
