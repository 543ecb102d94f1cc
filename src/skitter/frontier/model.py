"""The records that cross the frontier's seam.

They are msgspec structs: made once per link or per page on the hot path, where a frozen
dataclass costs several times more.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Literal

import msgspec

from skitter.errors import ConfigError, FrontierError
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass, Role
from skitter.url.partition import Partition

LEASE_MS = 120_000
MAX_LOST = 3
"""A URL whose lease was lost this often is handed out once more, only to be buried."""
MAX_LOST_SHARED = 10
"""The same where members come and go: most leases are lost with a member that others killed."""
DEFAULT_PRIORITY = 5
SCORED_RANKS = 1024
"""Ranks below this are scores: they also decide between hosts, and a better one moves a URL up."""
DEFAULT_QUEUE_BOUND = 1_000_000
MAX_DATA_BYTES = 16_384
"""Of what one URL may carry. Heads of queues are in memory, so it is for fields, not for pages."""


class Link(msgspec.Struct, frozen=True, gc=False):
    """One URL on offer. ``url`` is a serialised http(s) URL without fragment."""

    url: str
    fp: Fingerprint
    host: HostKey
    job: JobNumber
    slot: int = 0
    page_class: PageClass = PageClass.DATA
    priority: int = DEFAULT_PRIORITY
    """0 (last) to 9 (first)."""
    depth: int = 0
    rank: int = 0
    """Order inside a priority, lower first; equal ranks are first in, first out."""
    referrer: str = ""
    not_before_ms: int = 0
    visit: int = 1
    """Number of the visit to come; more than 1 for a URL that is taken up anew."""
    role: Role = Role.PAGE
    data: bytes = b""
    """Opaque to the frontier: kept with the URL and handed out with each of its leases. Of a URL
    that is known already, what came first stays."""

    def __post_init__(self) -> None:
        # Here, because a store that finds out later would have to refuse a whole ack.
        if len(self.data) > MAX_DATA_BYTES:
            raise FrontierError(
                f"{len(self.data)} bytes of data with {self.url}: a queued URL carries at most"
                f" {MAX_DATA_BYTES}"
            )


class Lease(msgspec.Struct, frozen=True):
    """The right to fetch one URL until ``expires_at`` on the boot clock."""

    id: int
    url: str
    fp: Fingerprint
    host: HostKey
    job: JobNumber
    slot: int
    fence: int
    page_class: PageClass
    priority: int
    depth: int
    attempts: int
    """Tries that failed before this one."""
    lost: int
    """How often a lease on this URL ended without an ack."""
    visit: int
    referrer: str
    found_s: int
    """When the URL was first offered, in seconds since the epoch."""
    expires_at: float
    role: Role = Role.PAGE
    rank: int = 0
    """The rank the URL was queued with."""
    gated: bool = True
    """Whether the host's gate is held for it. Without it nothing may be asked: its host is one of
    which nothing is asked at all, and the URL is there to be ended."""
    data: bytes = b""
    """What the URL was queued with."""


Tally = tuple[tuple[str, int], ...]
"""Names of counters and what is added to them."""


class Result(IntEnum):
    """What an ack asks of the frontier."""

    DONE = 0
    """Finished; a nav page with ``at_ms`` is visited again then."""
    RETRY = 1
    """Failed; try again at ``at_ms``."""
    DEAD = 2
    """Given up, or never to be fetched."""
    DEFER = 3
    """Not attempted; goes back to its place, or waits until ``at_ms``."""


class Hop(msgspec.Struct, frozen=True, gc=False):
    """A URL met as a redirect hop, known from then on without being queued."""

    fp: Fingerprint
    host: HostKey


_POINTS = b">"
"""How a pointer begins; a note is JSON and never does."""


def pointer_to(url: str) -> bytes:
    """Return what the page index keeps of a hop: where its record is."""
    return _POINTS + url.encode()


def is_pointer(note: bytes) -> bool:
    """Tell whether a note only says under which URL the record is."""
    return note.startswith(_POINTS)


def own_note(note: bytes) -> bytes:
    """Return the note of a URL that has one itself; b"" for a pointer."""
    return b"" if is_pointer(note) else note


def pointed_url(note: bytes) -> str:
    """Return the URL that was queued and led to the hop, of a pointer."""
    return note[len(_POINTS) :].decode()


class Ack(msgspec.Struct, frozen=True):
    """The end of one lease: its result and everything found on the page."""

    lease: Lease
    result: Result
    at_ms: int | None = None
    reason: str = ""
    links: Sequence[Link] = ()
    hops: Sequence[Hop] = ()
    note: bytes = b""
    """What the page index keeps of this visit; opaque to the frontier."""
    digest: bytes = b""
    """Content hash, remembered as first held by this URL."""
    listed: bool = False
    """Whether the note is a record for the outputs of the job."""
    tally: Tally = ()
    """What this visit adds to the totals of its job, by name; nothing if the lease had ended."""
    alike: bytes = b""
    """Another content hash, remembered in the same way."""


class Freed(msgspec.Struct, frozen=True, gc=False):
    """A response has arrived: its host may be asked again after its delay."""

    lease_id: int
    host: HostKey
    delay_ms: int | None = None
    """The host's delay from here on; None keeps the one it has."""
    not_before_ms: int = 0
    """A back-off: the host rests at least until then."""
    floor_ms: int = 0
    """Of the delay, what the site asks for itself: no setting goes below it."""
    held_until_ms: int = 0
    """Of the back-off, what holds whatever is set for the host."""
    retuned: bool = False
    """The delay follows a change of settings: so does the rest that the old one made."""
    drains: bool = False
    """Nothing is asked of the host: its URLs are handed out without its gate, for a while."""
    unasked: bool = False
    """No request was made under the lease: the host need not rest for it."""
    per_host: int | None = None
    """How many requests may be under way to the host from here on; None keeps that."""


class Grant(msgspec.Struct, frozen=True, gc=False):
    """Ownership of one slot."""

    slot: int
    fence: int
    expires_at: float


class Claim(msgspec.Struct, frozen=True):
    """The answer to a claim. No lease means nothing is ready before ``next_ready_ms``."""

    leases: tuple[Lease, ...]
    next_ready_ms: int | None
    """Earliest time anything can become ready; None when nothing waits at all."""
    version: int = 0
    """Grows when jobs or news change: what was read of them under a smaller one is out of date."""


class Receipt(msgspec.Struct, frozen=True):
    """What became of an offer or an ack."""

    accepted: int = 0
    stale: tuple[int, ...] = ()
    """Ids of leases that had ended; what came with them changed nothing."""
    new: int = 0
    known: int = 0
    overflow: int = 0
    """New links beyond the job's queue bound: kept on disk or dropped, as the job chose."""


class Counts(msgspec.Struct):
    """How many URLs are in each state; ``offered`` is always the sum of the others."""

    queued: int = 0
    leased: int = 0
    scheduled: int = 0
    done: int = 0
    dead: int = 0
    dropped: int = 0

    @property
    def offered(self) -> int:
        """Every URL ever accepted and not forgotten."""
        return self.pending + self.done + self.dead + self.dropped

    @property
    def pending(self) -> int:
        """URLs that are not finished."""
        return self.queued + self.leased + self.scheduled


class JobState(StrEnum):
    """Whether URLs of a job are handed out."""

    RUN = "run"
    PAUSE = "pause"
    CANCEL = "cancel"


class Overflow(StrEnum):
    """What happens to new links beyond a job's queue bound."""

    SPILL = "spill"
    DROP = "drop"


class JobEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What the frontier keeps of a job."""

    id: str
    spec: str = ""
    """The job as JSON; opaque to the frontier."""
    state: JobState = JobState.RUN
    delay_ms: int = 1000
    per_host: int = 1
    queue_bound: int = DEFAULT_QUEUE_BOUND
    overflow: Overflow = Overflow.SPILL
    partition: Partition = Partition.HOST
    """What decides who claims the URLs of a host."""
    pages: int | None = None
    """No more URLs are leased than still fit into this many pages, those in flight included."""
    outbox: bool = True
    """Whether records wait in a shared store for a process that writes them; else the page index
    alone has them."""


HISTORY = "history"
JOB_MARKS = ("job", "scope", "traps", "linked", "aliases", "templates", "drift", "fitted", HISTORY)
"""How the names of marks begin that go with their job."""
PAGES = "pages"
"""The tally that counts the pages of a job."""
ASIDE = "aside"
"""The tally that counts those of its pages that came and were set aside: they are in no output, and
a limit of pages is used up by them all the same."""
LIMITED = (PAGES, ASIDE)


def pages_used(tallies: Mapping[str, int]) -> int:
    """Return how much of its limit of pages a job with such tallies has used up."""
    return sum(tallies.get(name, 0) for name in LIMITED)


SeenKind = Literal["exact", "compact", "bloom"]
MOST_GROUPS = 16


class SeenOptions(msgspec.Struct, frozen=True):
    """How the frontier remembers which URLs are known.

    ``exact`` keeps a row per URL on disk and is never wrong. ``bloom`` keeps a counting Bloom
    filter in a mapped file: a few bytes of memory per URL and no disk read to look one up, at the
    price of passing over a small share of URLs as if they were known. ``compact`` is for a store in
    memory: half the bytes of ``exact`` there, and one URL in ten million passed over.
    """

    kind: SeenKind = "exact"
    expected: int = 10_000_000
    """How many URLs a Bloom filter is made for."""
    rate: float = 1e-4
    """The share of unknown URLs that may be taken for known once that many are in it."""
    groups: int = 2
    """Filters that have to agree, each with its own array and hashes."""

    def __post_init__(self) -> None:
        if self.kind not in ("exact", "compact", "bloom"):
            raise ConfigError(f"seen kind {self.kind!r}; wanted exact, compact or bloom")
        if self.expected < 1:
            raise ConfigError(f"seen expected {self.expected}; wanted a number of URLs, 1 or more")
        if not 0 < self.rate < 1:
            raise ConfigError(f"seen rate {self.rate:g}; wanted a share between 0 and 1")
        if not 1 <= self.groups <= MOST_GROUPS:
            raise ConfigError(f"seen groups {self.groups}; wanted 1 to {MOST_GROUPS}")


class SeenFacts(msgspec.Struct, frozen=True):
    """What the seen-set is like at a moment."""

    kind: SeenKind
    urls: int
    expected: int | None = None
    rate: float = 0.0
    """The share of unknown URLs that are taken for known at this moment, by the formula."""
    bytes: int = 0
    """Size of the mapped file; all of it is in memory once the filter is in use."""


class UrlState(StrEnum):
    """Where one URL is."""

    UNKNOWN = "unknown"
    QUEUED = "queued"
    LEASED = "leased"
    SCHEDULED = "scheduled"
    DONE = "done"
    DEAD = "dead"
    DROPPED = "dropped"


class Sighting(msgspec.Struct, frozen=True):
    """Everything the frontier knows of one URL."""

    state: UrlState
    note: bytes = b""
    link: Link | None = None
    """Set while the URL waits and could be found among the first of its queue."""
    attempts: int = 0
    due_ms: int | None = None
    presumed: bool = False
    """Only a Bloom filter speaks for it. A URL that waits was not found among the first of its
    queue. An unknown one is a false positive: the store holds nothing of it, yet it would be
    passed over when it is offered.
    """
