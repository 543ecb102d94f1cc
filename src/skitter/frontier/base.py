"""The seam every frontier back end implements.

A lease is the only way to take a URL, and each verb is one atomic step: after a crash at any
moment either all of a call happened or none of it. A back end is correct when it passes
``tests/contract/test_frontier.py`` and the state machine beside it.

Times that cross the seam are milliseconds of the store's own clock; deadlines a caller counts
down itself (``expires_at``) are seconds of the boot clock. Every verb may be repeated after a
lost reply: offering twice is offering once, and an ack of an ended lease changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

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
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass

OWNER_TTL_MS = 5_000
KNOWN = -1
"""The answer of ``enter`` and ``reserve`` for a target that others have queued or fetched."""


class Frontier(Protocol):
    """The data path: own slots, offer and claim URLs, ack and renew leases.

    A verb waits while the store cannot be reached, and goes on when it can.
    """

    @property
    def trouble(self) -> str:
        """Why the verbs wait, in words for a person; "" while the store answers."""

    async def own(
        self, member: str, slots: Iterable[int], ttl_ms: int = OWNER_TTL_MS
    ) -> list[Grant]:
        """Take or keep slots; those another live member holds are missing from the answer."""

    async def disown(self, grants: Iterable[Grant]) -> None:
        """Give slots back, for others to take at once; leases in them are handed out anew."""

    async def offer(self, links: Sequence[Link]) -> Receipt:
        """Queue the links that are new to their job."""

    async def claim(
        self,
        grants: Sequence[Grant],
        k: int,
        *,
        lease_ms: int = LEASE_MS,
        freed: Sequence[Freed] = (),
    ) -> Claim:
        """Lease up to ``k`` URLs of hosts that may be asked; ``freed`` hosts are let go first.

        Raises ``Fenced``, changing nothing, when a grant is not the caller's any more.
        """

    async def ack(
        self,
        acks: Sequence[Ack],
        *,
        marks: Mapping[str, bytes] | None = None,
        news: Mapping[str, bytes] | None = None,
    ) -> Receipt:
        """End leases and queue what their pages linked to.

        Returns when the step is durable. Marks are named values of the caller's, such as a file's
        safe length. Where one process has the store they are one step with the acks; where many
        share it they come before, so that a crash in between leaves a mark ahead and never behind.
        ``news`` are marks that every member has to know: whoever claims a URL that these acks
        queued is told of a new version.
        """

    async def renew(self, leases: Sequence[Lease], lease_ms: int = LEASE_MS) -> list[int]:
        """Prolong leases; answer the ids of those that are gone."""

    async def enter(
        self,
        lease: Lease,
        host: HostKey,
        at_most_ms: int | None = None,
        target: Fingerprint | None = None,
    ) -> int:
        """Take the gate of another host under ``lease`` (a redirect hop).

        Answers 0 when the host may be asked, else the milliseconds to wait before asking again;
        the first question keeps a place in line, before the host's queued URLs, unless the host
        rests for longer than ``at_most_ms``: then nothing is taken. The gate is let go by a
        ``Freed`` naming the host, or with the lease. A ``target`` is reserved as by ``reserve``,
        unless nothing is taken; ``KNOWN`` answers that it became known before, and nothing is.
        """

    async def reserve(self, lease: Lease, host: HostKey, target: Fingerprint) -> int:
        """Keep a URL of the lease's job, where a redirect leads, from being handed out.

        Answers 0 when that is so until the lease ends, ``KNOWN`` when the URL became known before,
        else the milliseconds after which to ask again: another redirect leads there. A link to the
        URL may be offered meanwhile, and waits. When the ack is accepted and has the URL among its
        hops, whoever offered it has what they wanted: the URL counts as done once its turn comes,
        and is not handed out. Otherwise it is.
        """

    async def turn(
        self, lease: Lease, host: HostKey, delay_ms: int, at_most_ms: int | None = None
    ) -> int:
        """Ask a host once more under the gate that ``lease`` holds, now that it has answered.

        Answers the milliseconds after which that may be: ``delay_ms`` at least, which is the host's
        delay from here on, and later where others have their turn before. If it is more than
        ``at_most_ms``, nothing is taken.
        """

    async def lock(self, name: str, holder: int, ttl_ms: int) -> int:
        """Take a lock, or keep one that ``holder`` has: at most one holder has it at a time.

        Answers 0 when it is the caller's, else the milliseconds after which the other's ends by
        itself. A ``ttl_ms`` of 0 gives it back. A store that is restarted may forget it.
        """

    async def permit(self, wanted: Sequence[Wish]) -> list[Permit]:
        """Grant requests that the rate windows they count in allow now, in the order of the wishes.

        No more than a window's number of grants is given in any stretch of its length, over all
        who ask and whatever happens to the store in between. A call that is repeated may count
        twice.
        """

    async def tokens(self, holder: str, wanted: Sequence[TokenWish], ttl_ms: int) -> list[int]:
        """Say how many tokens ``holder`` uses and would like; answers how many it may use.

        Over all holders there are no more than a wish says. Tokens end after ``ttl_ms`` unless
        they are asked for again. An answer may be less than what is used: those are the holder's
        until it has told that it uses fewer. A store that is restarted may forget them.
        """

    async def share(self, values: Mapping[str, bytes], ttl_ms: int) -> None:
        """Let everyone have named values for a while.

        A store that is restarted may forget those that are shared for ten minutes or less.
        """

    async def shared(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values of those names that somebody shares, in order."""

    async def publish(self, events: Sequence[bytes]) -> None:
        """Let everyone who listens know that something has happened, in this order.

        The last hundred thousand or so are kept. They are for people who watch: a power cut may
        take the last ones, and a call that is repeated may tell them twice.
        """

    async def count(self, counts: Mapping[str, int], at_ms: int) -> None:
        """Add to counters over time, by name, at a moment of the store's clock.

        A name may have one dimension: ``pages|job=ID``, ``pages|host=example.com``. Hosts are
        counted by hour and day alone, and when there are very many in one, as ``host=other``. A
        call that is repeated may count twice.
        """

    async def count_urls(self, urls: Mapping[str, int]) -> None:
        """Count how often URLs were submitted; those that rarely were are forgotten."""


class RecordWriter(Protocol):
    """Where the records of acks go, in the process that has the store to itself."""

    @property
    def trouble(self) -> str:
        """Why writing waits, in words; "" while it does not."""

    async def write(self, acks: Sequence[Ack]) -> Mapping[str, bytes]:
        """Make the notes of ``acks`` safe; answers marks to be stored in one step with them."""


class Entry(NamedTuple):
    """One record that waits in a shared store to be written to files."""

    tag: int
    id: bytes
    line: bytes


class RecordSource(Protocol):
    """The records of a job, in the store that its members share."""

    async def open(self) -> None:
        """Let go of records that an earlier process had written and kept."""

    async def read(self, limit: int) -> Sequence[Entry]:
        """Return records that were not let go yet, those of one page's host in order."""

    async def keep(self, marks: Mapping[str, bytes], entries: Sequence[Entry]) -> None:
        """Store in one step how far the files are and which records they hold."""

    async def let_go(self, entries: Sequence[Entry]) -> None:
        """Remove records from the store that are safe in the files."""


class FrontierControl(Protocol):
    """Jobs and hosts, as operators change them."""

    async def put_job(self, entry: JobEntry) -> JobNumber:
        """Create or update the job of that id."""

    async def set_job_state(self, job: JobNumber, state: JobState) -> None:
        """Run, pause or cancel; cancelling drops what waits and voids the job's leases."""

    async def drop_job(self, job: JobNumber) -> None:
        """Forget a job and everything of it; its number is not used again."""

    async def clear(self, job: JobNumber, page_class: PageClass) -> int:
        """Forget the waiting URLs of one class; answers how many. Leased ones stay."""

    async def forget(
        self, job: JobNumber, host: HostKey, fp: Fingerprint, again: bool = False
    ) -> bool:
        """Make a URL unknown, so that it can be offered anew; False when unknown or leased.

        With ``again`` it is for another visit: what the page index keeps of it stays until then,
        and one that waits to be visited is left alone, which answers False.
        """

    async def set_host(
        self,
        host: HostKey,
        *,
        delay_ms: int | None = None,
        per_host: int | None = None,
        not_before_ms: int | None = None,
    ) -> None:
        """Change how a host is asked."""


class FrontierReader(Protocol):
    """Questions that change nothing; none scans the queues."""

    async def jobs(self) -> dict[JobNumber, JobEntry]:
        """Return every job in the store."""

    async def counts(self, job: JobNumber, *, domain: str | None = None) -> Counts:
        """Return the kept counters of a job, or of one registered domain in it."""

    async def domains(self, job: JobNumber, limit: int = 100) -> list[tuple[str, Counts]]:
        """Return the registered domains of a job, those with most pending URLs first."""

    async def hosts_with_work(self) -> int:
        """Return how many hosts have a URL to hand out, now or after their rest, or in flight."""

    async def hosts(self, job: JobNumber) -> int:
        """Return how many hosts a job has met."""

    async def look(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> Sighting:
        """Return everything known of one URL."""

    async def seen(self, job: JobNumber, urls: Sequence[tuple[HostKey, Fingerprint]]) -> list[bool]:
        """Tell which URLs were ever accepted, in order."""

    async def mark(self, name: str) -> bytes | None:
        """Return the value a caller kept with its acks."""

    async def marks_of(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values of many names, in order; None where there is none."""

    async def marks(self, prefix: str) -> dict[str, bytes]:
        """Return every mark whose name begins with ``prefix``."""

    async def note(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> bytes:
        """Return what the page index keeps of one URL; b"" for nothing. Cheaper than ``look``.

        Of a redirect hop that is a pointer to the URL which led there (``is_pointer``), unless the
        hop has a note of its own.
        """

    async def notes_of(
        self, wanted: Sequence[tuple[JobNumber, HostKey, Fingerprint]]
    ) -> list[bytes]:
        """Return the notes of many URLs, in order; of any jobs."""

    async def notes(
        self, job: JobNumber, after: bytes = b"", limit: int = 500
    ) -> tuple[list[bytes], bytes]:
        """Return what the page index keeps of a job's URLs, and where to go on; b"" at the end.

        Pointers are left out.
        """

    async def tallies(self, job: JobNumber) -> dict[str, int]:
        """Return the totals of a job: what the tallies of its acks add up to."""

    async def contents(self, job: JobNumber, digests: Sequence[bytes]) -> list[str | None]:
        """Return for each content hash the first URL of the job whose page had it."""

    async def events(
        self, after: str, limit: int = 500, wait_ms: int = 0
    ) -> list[tuple[str, bytes]]:
        """Return what was published after the event of that id, each with its id; ids grow.

        "" is from the oldest that is kept, "$" only what comes from now on. With ``wait_ms`` an
        answer waits as long for the first one, but no longer than a few seconds.
        """

    async def series(
        self, prefix: str, step: str, since_ms: int, until_ms: int, *, exact: bool = False
    ) -> dict[str, dict[int, int]]:
        """Return the counters whose names begin so, by the ms in which each of their steps begins.

        Steps are ``10s``, ``minute``, ``hour`` and ``day``; those in which nothing was counted are
        left out. ``until_ms`` is not part of the time. With ``exact`` it is that name alone. Those
        that are counted by host are among them where the name has a ``|`` already.
        """

    async def url_counts(self, urls: Sequence[str]) -> list[int]:
        """Return how often URLs were submitted, in order."""

    async def top_urls(self, limit: int = 100) -> list[tuple[str, int]]:
        """Return the URLs that were submitted most often, and how often."""

    async def stirs(self, heard: int, wait_ms: int) -> int:
        """Return a number that changes when somebody has queued URLs that the caller may claim.

        The answer waits until it is another one than was ``heard``, but no longer than ``wait_ms``
        and a few seconds. It is a hint: a claim may bring nothing after it, or something without.
        """

    async def latest_event(self) -> str:
        """Return the id of the last event, to read on from; "0" when there was none."""
