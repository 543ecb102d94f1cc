"""The questions of the seam on the embedded store, each passed on to what answers it."""

from collections.abc import Sequence

from skitter.frontier.embedded.core import Core
from skitter.frontier.embedded.journal import Journal
from skitter.frontier.embedded.reading import Reading
from skitter.frontier.embedded.series import SeriesBook
from skitter.frontier.events import MAX_WAIT_MS, NEW
from skitter.frontier.model import Counts, JobEntry, Sighting
from skitter.types import Fingerprint, HostKey, JobNumber


class Questions:
    """Implements ``FrontierReader``; whoever opens the store sets what is asked."""

    _core: Core
    _reading: Reading
    _journal: Journal
    _series: SeriesBook

    async def jobs(self) -> dict[JobNumber, JobEntry]:
        """Return every job."""
        return dict(self._core.registry.jobs)

    async def counts(self, job: JobNumber, *, domain: str | None = None) -> Counts:
        """Return kept counters."""
        return self._reading.counts(job, domain)

    async def domains(self, job: JobNumber, limit: int = 100) -> list[tuple[str, Counts]]:
        """Return the domains with most pending URLs."""
        return self._reading.domains(job, limit)

    async def hosts(self, job: JobNumber) -> int:
        """Return how many hosts a job has met."""
        return self._core.registry.met.get(job, 0)

    async def look(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> Sighting:
        """Return everything known of one URL."""
        return self._reading.look(job, host, fp)

    async def mark(self, name: str) -> bytes | None:
        """Return a value kept with the acks."""
        return self._reading.mark(name)

    async def marks_of(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values of many names."""
        return [self._reading.mark(name) for name in names]

    async def marks(self, prefix: str) -> dict[str, bytes]:
        """Return the marks whose names begin with ``prefix``."""
        return self._reading.marks(prefix)

    async def seen(self, job: JobNumber, urls: Sequence[tuple[HostKey, Fingerprint]]) -> list[bool]:
        """Tell which URLs were ever accepted."""
        return self._reading.seen(job, urls)

    async def note(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> bytes:
        """Return what the page index keeps of one URL."""
        return self._reading.note(job, host, fp)

    async def notes_of(
        self, wanted: Sequence[tuple[JobNumber, HostKey, Fingerprint]]
    ) -> list[bytes]:
        """Return what the page index keeps of many URLs."""
        return self._reading.notes_of(wanted)

    async def notes(
        self, job: JobNumber, after: bytes = b"", limit: int = 500
    ) -> tuple[list[bytes], bytes]:
        """Return a stretch of the page index."""
        return self._reading.notes(job, after, limit)

    async def tallies(self, job: JobNumber) -> dict[str, int]:
        """Return the totals of a job."""
        return dict(self._core.tallies.get(job, {}))

    async def contents(self, job: JobNumber, digests: Sequence[bytes]) -> list[str | None]:
        """Return the first URLs with those contents."""
        return self._reading.contents(job, digests)

    async def events(
        self, after: str, limit: int = 500, wait_ms: int = 0
    ) -> list[tuple[str, bytes]]:
        """Return events behind an id; waits for some if there are none."""
        journal = self._journal
        after = journal.latest if after == NEW else after
        found = journal.read(after, limit)
        if not found and wait_ms > 0:
            await journal.bell.wait(journal.bell.rings, min(wait_ms, MAX_WAIT_MS) / 1000)
            found = journal.read(after, limit)
        return found

    async def series(
        self, prefix: str, step: str, since_ms: int, until_ms: int, *, exact: bool = False
    ) -> dict[str, dict[int, int]]:
        """Return counters over time."""
        return self._series.read(prefix, step, since_ms, until_ms, exact=exact)

    async def url_counts(self, urls: Sequence[str]) -> list[int]:
        """Return how often URLs were submitted."""
        return self._series.urls(urls)

    async def top_urls(self, limit: int = 100) -> list[tuple[str, int]]:
        """Return the URLs that were submitted most often."""
        return self._series.top_urls(limit)

    async def stirs(self, heard: int, wait_ms: int) -> int:
        """Return how often something was queued, when it is not what was heard or after a time."""
        stirs = self._core.stirs
        await stirs.wait(heard, min(wait_ms, MAX_WAIT_MS) / 1000)
        return stirs.rings

    async def latest_event(self) -> str:
        """Return the id of the last event."""
        return self._journal.latest

    async def hosts_with_work(self) -> int:
        """Return how many hosts have a URL to hand out, now or after their rest, or in flight."""
        busy = {held.queue.host for held in self._core.leases.by_id.values()}
        agenda = self._core.agenda
        return agenda.with_work + sum(not agenda.lists(host) for host in busy)
