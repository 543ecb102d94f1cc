"""A visit under way, and what it brings when it ends."""

from dataclasses import dataclass, field

from skitter.frontier.model import Hop, Lease, Link, Result
from skitter.pipeline.record import PageRecord
from skitter.types import Fingerprint, HostKey


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
    hops: list[Hop] = field(default_factory=list)
    digest: bytes = b""
    wider_scope: list[str] = field(default_factory=list)
    """URLs an entry redirected to, outside the scope until then."""


class Ended(Exception):
    """Carries the visit out of the hop loop; caught in ``Visitor.visit`` alone."""

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
