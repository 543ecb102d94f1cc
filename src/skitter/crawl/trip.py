"""A visit under way, and what it brings when it ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skitter.crawl.history import History
from skitter.fetch.base import Raw, Response
from skitter.frontier.model import Hop, Lease, Link, Result
from skitter.job.spec import Job, Kind
from skitter.pipeline.record import PageRecord, is_listed
from skitter.types import Fingerprint, HostKey, Outcome, PageClass, Role

_NO_CONDITIONS: Mapping[str, str] = {}
_CAME: frozenset[str] = frozenset({Outcome.OK, Outcome.NOINDEX})


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One exchange with a server, kept for the archive."""

    url: str
    at_ms: int
    raw: Raw
    address: str
    cut: str


@dataclass(slots=True, kw_only=True)
class Visit:
    """What one lease brought."""

    lease: Lease
    result: Result
    at_ms: int | None = None
    reason: str = ""
    """Kind of failure or refusal, for counting; "" when all went well."""
    record: PageRecord | None = None
    """None when the visit has not ended: the URL is tried again."""
    links: list[Link] = field(default_factory=list)
    unheld: list[Link] = field(default_factory=list)
    """Those of the links that other pages brought: they are queued even if the lease had ended."""
    hops: list[Hop] = field(default_factory=list)
    digest: bytes = b""
    alike: bytes = b""
    """The digest without the host's own address, where that makes a difference and is of use."""
    first_alike: str = ""
    """The first URL of the job that had it."""
    filled: Sequence[str] = ()
    """The rule set that was read on the page, and those of its fields that were found."""
    edition: str = ""
    """A digest of that rule set; "" where it is not one of the job's."""
    says_missing: bool = False
    """Whether the page came as if all were well, and only says that there is nothing."""
    garbled: bool = False
    """Whether some of its bytes are no characters of its encoding."""
    was_aside: bool = False
    """Whether the record of the visit before this one was set aside."""
    never_kept: bool = False
    """Whether those of all visits before this one were, so that the page is not counted yet."""
    wider_scope: list[str] = field(default_factory=list)
    """URLs an entry redirected to, outside the scope until then."""
    kept: list[Kept] = field(default_factory=list)
    """Every exchange of the visit, in order; empty without an archive."""
    marks: dict[str, bytes] = field(default_factory=dict)
    """What is kept beside the ack, by name."""

    @property
    def page(self) -> PageRecord | None:
        """The record for the sinks; a sitemap's is in the page index alone."""
        record = self.record
        if record is None or self.lease.role is not Role.PAGE:
            return None
        return record if is_listed(record.page_class, record.outcome) else None

    @property
    def aside(self) -> PageRecord | None:
        """The record of a page that came and was set aside."""
        if self.record is None or self.record.outcome != Outcome.REJECTED:
            return None
        return self.record

    @property
    def media(self) -> PageRecord | None:
        """The record of a picture, film or sound that came."""
        if self.record is None or self.lease.role is not Role.MEDIA:
            return None
        return self.record if self.record.outcome in _CAME else None

    @property
    def comes_again(self) -> bool:
        """Whether it is not the first visit of a page that is looked at again and again."""
        return self.lease.visit > 1 and self.lease.page_class is PageClass.NAV

    @property
    def weight(self) -> int:
        """Bytes held in memory until the visit is safe."""
        return sum(len(kept.raw.response) for kept in self.kept)


class Ended(Exception):
    """Carries the visit out of the hop loop; caught where visits begin."""

    def __init__(self, visit: Visit) -> None:
        super().__init__()
        self.visit = visit


@dataclass(slots=True, eq=False)
class Trip:
    """A visit under way."""

    lease: Lease
    url: str
    host: HostKey
    chain: list[str] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    seen: set[Fingerprint] = field(default_factory=set)
    wider_scope: list[str] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    to_alias: bool = False
    """Whether a redirect leads to another name of the site, where alone the page can be had."""
    answered_ms: int | None = None
    """When the last response had arrived."""
    found: list[Link] = field(default_factory=list)
    """Links met on the way, such as the sitemaps that robots.txt names."""
    history: History | None = None
    """The visits before this one, of a page that comes again."""
    before: History | None = None
    """The visits before this one, of a page that is only asked for again when somebody wants it:
    they are remembered, and change nothing."""
    number: int = 0
    """Of the visit, where that is more than the queue knows of; else 0."""
    content: bytes = b""
    """Digest of what counts of such a page; b"" while it is not known."""
    is_shown: bool = False
    """Whether it is for a page that is read as a browser shows it. Such a page is asked for in any
    case: that it has not changed says nothing of what its scripts show."""
    received: Response | None = None
    """What came of the page, where a browser has made something else of it."""
    moved_to: str | None = None
    """Where its scripts wanted to go."""
    entered: bool = False
    """Whether the gate of the host at hand was taken for a redirect."""

    def goes_on_to(self, url: str, job: Job) -> bool:
        """Tell whether a redirect is followed to a page that is known already.

        Where somebody waits for the page, and where an earlier visit was led there, too.
        """
        if job.kind is Kind.RESOLVE:
            return True
        return self.history is not None and self.history.leads_to(url)

    @property
    def was_conditional(self) -> bool:
        """Whether the URL at hand was only asked for if it has changed."""
        return bool(self.conditions)

    @property
    def conditions(self) -> Mapping[str, str]:
        """Headers that ask for the URL at hand only if it has changed."""
        if self.history is None or self.is_shown:
            return _NO_CONDITIONS
        return self.history.conditions(self.url)

    @property
    def is_page(self) -> bool:
        """Whether the visit is for a page, not for a list of URLs."""
        return self.lease.role is Role.PAGE
