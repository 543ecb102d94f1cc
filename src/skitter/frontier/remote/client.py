"""The frontier of a master, as its children use it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from skitter.clock import Clock, StoreClock
from skitter.errors import FrontierError
from skitter.frontier.base import OWNER_TTL_MS
from skitter.frontier.limits import Permit, TokenWish, Wish
from skitter.frontier.model import (
    LEASE_MS,
    Ack,
    Claim,
    Counts,
    Freed,
    Grant,
    JobEntry,
    JobState,
    Lease,
    Link,
    Receipt,
    Sighting,
)
from skitter.frontier.remote.address import MasterAddress
from skitter.frontier.remote.link import MasterLink, Patience, TooLarge
from skitter.frontier.remote.wire import VERBS, Welcome
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass


class RemoteFrontier:
    """Implements ``Frontier``, ``FrontierControl`` and ``FrontierReader`` on a master.

    While the master is away every verb waits; when it is back, grants and leases of before are
    refused as they would be after a restart of the store itself.
    """

    def __init__(
        self,
        address: str | Path,
        token: str = "",
        *,
        name: str,
        clock: Clock | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.clock = StoreClock(clock)
        """Tells the master's time, whatever this machine's says."""
        self.secret = b""
        """Key of the store's fingerprints."""
        self.settings: dict[str, Any] = {}
        """What the master wants its children to have, as it said when the session began."""
        self.epoch = 0
        """Which opening of the master's store this is."""
        self.version = 0
        """The version of jobs and news when the session began."""
        self._address = MasterAddress.parse(address)
        self._link = MasterLink(
            self._address,
            token,
            name=name,
            clock=self.clock,
            patience=patience or Patience(),
            on_welcome=self._take_welcome,
        )

    async def open(self) -> None:
        """Join the master.

        Raises ``ConfigError`` when it refuses the token or speaks another version, and
        ``StoreUnavailable`` when nothing answers there.
        """
        await self._link.open()

    async def close(self) -> None:
        """Leave: what this process has leased is handed out anew; idempotent."""
        await self._link.close()

    @property
    def trouble(self) -> str:
        """Why the verbs wait; "" while the master answers."""
        return self._link.trouble

    def _take_welcome(self, welcome: Welcome) -> None:
        if self.secret and self.secret != welcome.secret:
            raise FrontierError(
                f"master {self._address.shown} has another store than before; start anew to use it"
            )
        self.secret = welcome.secret
        self.settings = welcome.settings
        self.epoch = welcome.epoch
        self.version = welcome.version
        self.clock.set(welcome.now_ms)

    async def _ask(self, verb: str, *arguments: Any) -> Any:
        return await self._link.call(VERBS[verb], *arguments)

    # The data path

    async def own(
        self, member: str, slots: Iterable[int], ttl_ms: int = OWNER_TTL_MS
    ) -> list[Grant]:
        """Take or keep slots."""
        grants: list[Grant] = await self._ask("own", member, list(slots), ttl_ms)
        return grants

    async def disown(self, grants: Iterable[Grant]) -> None:
        """Give slots back, and what this process has leased in them."""
        await self._ask("disown", list(grants))

    async def offer(self, links: Sequence[Link]) -> Receipt:
        """Queue the links that are new to their job."""
        try:
            receipt: Receipt = await self._ask("offer", links)
        except TooLarge:
            if len(links) < 2:
                raise
            half = len(links) // 2
            return _sum(await self.offer(links[:half]), await self.offer(links[half:]))
        return receipt

    async def claim(
        self,
        grants: Sequence[Grant],
        k: int,
        *,
        lease_ms: int = LEASE_MS,
        freed: Sequence[Freed] = (),
    ) -> Claim:
        """Lease up to ``k`` URLs of hosts that may be asked."""
        claim: Claim = await self._ask("claim", grants, k, lease_ms, freed)
        return claim

    async def ack(
        self,
        acks: Sequence[Ack],
        *,
        marks: Mapping[str, bytes] | None = None,
        news: Mapping[str, bytes] | None = None,
    ) -> Receipt:
        """End leases and queue what their pages linked to.

        What is too large for one message goes in several, marks and news with the first.
        """
        try:
            receipt: Receipt = await self._ask("ack", acks, marks, news)
        except TooLarge:
            if len(acks) < 2:
                raise
            half = len(acks) // 2
            first = await self.ack(acks[:half], marks=marks, news=news)
            return _sum(first, await self.ack(acks[half:]))
        return receipt

    async def renew(self, leases: Sequence[Lease], lease_ms: int = LEASE_MS) -> list[int]:
        """Prolong leases; answer the ids of those that are gone."""
        gone: list[int] = await self._ask("renew", leases, lease_ms)
        return gone

    async def enter(
        self,
        lease: Lease,
        host: HostKey,
        at_most_ms: int | None = None,
        target: Fingerprint | None = None,
    ) -> int:
        """Take the gate of another host under ``lease``."""
        wait_ms: int = await self._ask("enter", lease, host, at_most_ms, target)
        return wait_ms

    async def reserve(self, lease: Lease, host: HostKey, target: Fingerprint) -> int:
        """Keep the target of a redirect from being handed out."""
        wait_ms: int = await self._ask("reserve", lease, host, target)
        return wait_ms

    async def turn(
        self, lease: Lease, host: HostKey, delay_ms: int, at_most_ms: int | None = None
    ) -> int:
        """Ask a host once more under the gate that ``lease`` holds."""
        wait_ms: int = await self._ask("turn", lease, host, delay_ms, at_most_ms)
        return wait_ms

    async def lock(self, name: str, holder: int, ttl_ms: int) -> int:
        """Take, keep or give back a lock."""
        wait_ms: int = await self._ask("lock", name, holder, ttl_ms)
        return wait_ms

    async def permit(self, wanted: Sequence[Wish]) -> list[Permit]:
        """Grant what rate windows allow."""
        permits: list[Permit] = await self._ask("permit", wanted)
        return permits

    async def tokens(self, holder: str, wanted: Sequence[TokenWish], ttl_ms: int) -> list[int]:
        """Take, keep or give back tokens."""
        allowed: list[int] = await self._ask("tokens", holder, wanted, ttl_ms)
        return allowed

    async def share(self, values: Mapping[str, bytes], ttl_ms: int) -> None:
        """Let everyone have values for a while."""
        await self._ask("share", values, ttl_ms)

    async def shared(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values that are there."""
        values: list[bytes | None] = await self._ask("shared", names)
        return values

    async def publish(self, events: Sequence[bytes]) -> None:
        """Let everyone who listens know that something has happened."""
        await self._ask("publish", events)

    async def count(self, counts: Mapping[str, int], at_ms: int) -> None:
        """Add to counters over time."""
        await self._ask("count", counts, at_ms)

    async def count_urls(self, urls: Mapping[str, int]) -> None:
        """Count how often URLs were submitted."""
        await self._ask("count_urls", urls)

    # Jobs and hosts

    async def put_job(self, entry: JobEntry) -> JobNumber:
        """Create or update the job of that id."""
        number: JobNumber = await self._ask("put_job", entry)
        return number

    async def set_job_state(self, job: JobNumber, state: JobState) -> None:
        """Run, pause or cancel."""
        await self._ask("set_job_state", job, state)

    async def drop_job(self, job: JobNumber) -> None:
        """Forget a job and everything of it."""
        await self._ask("drop_job", job)

    async def clear(self, job: JobNumber, page_class: PageClass) -> int:
        """Forget the waiting URLs of one class."""
        removed: int = await self._ask("clear", job, page_class)
        return removed

    async def forget(
        self, job: JobNumber, host: HostKey, fp: Fingerprint, again: bool = False
    ) -> bool:
        """Make a URL unknown."""
        forgotten: bool = await self._ask("forget", job, host, fp, again)
        return forgotten

    async def set_host(
        self,
        host: HostKey,
        *,
        delay_ms: int | None = None,
        per_host: int | None = None,
        not_before_ms: int | None = None,
    ) -> None:
        """Change how a host is asked."""
        await self._ask("set_host", host, delay_ms, per_host, not_before_ms)

    # Questions

    async def jobs(self) -> dict[JobNumber, JobEntry]:
        """Return every job in the store."""
        jobs: dict[JobNumber, JobEntry] = await self._ask("jobs")
        return jobs

    async def counts(self, job: JobNumber, *, domain: str | None = None) -> Counts:
        """Return kept counters."""
        counts: Counts = await self._ask("counts", job, domain)
        return counts

    async def domains(self, job: JobNumber, limit: int = 100) -> list[tuple[str, Counts]]:
        """Return the domains with most pending URLs."""
        domains: list[tuple[str, Counts]] = await self._ask("domains", job, limit)
        return domains

    async def hosts_with_work(self) -> int:
        """Return how many hosts have a URL to hand out or in flight."""
        hosts: int = await self._ask("hosts_with_work")
        return hosts

    async def hosts(self, job: JobNumber) -> int:
        """Return how many hosts a job has met."""
        hosts: int = await self._ask("hosts", job)
        return hosts

    async def look(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> Sighting:
        """Return everything known of one URL."""
        sighting: Sighting = await self._ask("look", job, host, fp)
        return sighting

    async def seen(self, job: JobNumber, urls: Sequence[tuple[HostKey, Fingerprint]]) -> list[bool]:
        """Tell which URLs were ever accepted, in order."""
        seen: list[bool] = await self._ask("seen", job, urls)
        return seen

    async def mark(self, name: str) -> bytes | None:
        """Return the value a caller kept with its acks."""
        mark: bytes | None = await self._ask("mark", name)
        return mark

    async def marks_of(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values of many names."""
        found: list[bytes | None] = await self._ask("marks_of", names)
        return found

    async def marks(self, prefix: str) -> dict[str, bytes]:
        """Return every mark whose name begins with ``prefix``."""
        marks: dict[str, bytes] = await self._ask("marks", prefix)
        return marks

    async def note(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> bytes:
        """Return what the page index keeps of one URL."""
        note: bytes = await self._ask("note", job, host, fp)
        return note

    async def notes_of(
        self, wanted: Sequence[tuple[JobNumber, HostKey, Fingerprint]]
    ) -> list[bytes]:
        """Return what the page index keeps of many URLs."""
        notes: list[bytes] = await self._ask("notes_of", wanted)
        return notes

    async def notes(
        self, job: JobNumber, after: bytes = b"", limit: int = 500
    ) -> tuple[list[bytes], bytes]:
        """Return a stretch of the page index."""
        notes: tuple[list[bytes], bytes] = await self._ask("notes", job, after, limit)
        return notes

    async def tallies(self, job: JobNumber) -> dict[str, int]:
        """Return the totals of a job."""
        tallies: dict[str, int] = await self._ask("tallies", job)
        return tallies

    async def contents(self, job: JobNumber, digests: Sequence[bytes]) -> list[str | None]:
        """Return the first URLs with those contents."""
        contents: list[str | None] = await self._ask("contents", job, digests)
        return contents

    async def events(
        self, after: str, limit: int = 500, wait_ms: int = 0
    ) -> list[tuple[str, bytes]]:
        """Return events behind an id."""
        events: list[tuple[str, bytes]] = await self._ask("events", after, limit, wait_ms)
        return events

    async def series(
        self, prefix: str, step: str, since_ms: int, until_ms: int, *, exact: bool = False
    ) -> dict[str, dict[int, int]]:
        """Return counters over time."""
        asked = (prefix, step, since_ms, until_ms, exact)
        series: dict[str, dict[int, int]] = await self._ask("series", *asked)
        return series

    async def url_counts(self, urls: Sequence[str]) -> list[int]:
        """Return how often URLs were submitted."""
        counts: list[int] = await self._ask("url_counts", urls)
        return counts

    async def top_urls(self, limit: int = 100) -> list[tuple[str, int]]:
        """Return the URLs that were submitted most often."""
        urls: list[tuple[str, int]] = await self._ask("top_urls", limit)
        return urls

    async def stirs(self, heard: int, wait_ms: int) -> int:
        """Return a number that changes when something was queued."""
        stirs: int = await self._ask("stirs", heard, wait_ms)
        return stirs

    async def latest_event(self) -> str:
        """Return the id of the last event."""
        latest: str = await self._ask("latest_event")
        return latest


def _sum(first: Receipt, second: Receipt) -> Receipt:
    """Return what two parts of one step amount to."""
    return Receipt(
        first.accepted + second.accepted,
        first.stale + second.stale,
        first.new + second.new,
        first.known + second.known,
        first.overflow + second.overflow,
    )
