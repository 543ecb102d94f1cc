"""The job: what a user asked for, as a checked and frozen value.

A job file (TOML or JSON) has the names below; an unknown one is refused, so that a slip of the
pen cannot become a crawl nobody wanted. Secrets never enter a job: a header may say ``env:NAME``
and is filled in when the crawl starts.
"""

import json
import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skitter import __version__
from skitter.errors import ConfigError
from skitter.job.fields import (
    ENV_PREFIX,
    Agent,
    DelayS,
    Depth,
    EntryUrls,
    HeaderName,
    HeaderValue,
    JobId,
    MediaTypes,
    Pages,
    Parameters,
    Patterns,
    PerHost,
    Priority,
    Size,
    Suffixes,
    TimeoutS,
)
from skitter.job.identity import derived_id, entries_digest
from skitter.job.problem import Vocabulary, refuse
from skitter.url.canonical import SESSION_PARAMS, TRACKING_PARAMS, CanonicalRules
from skitter.url.partition import Partition
from skitter.url.scope import ScopeKind

DEFAULT_AGENT: Final = f"Skitter/{__version__}"
DEFAULT_TYPES: Final = ("text/html", "application/xhtml+xml", "text/plain")
STORED_VERSION: Final = 1

_SECRET_WORDS = ("cookie", "auth", "token", "secret", "key", "session", "password")


class Kind(StrEnum):
    """What a job is for; it decides the defaults."""

    SITE = "site"
    WEB = "web"


class Order(StrEnum):
    """Which of the waiting pages of one priority comes first."""

    BFS = "bfs"
    DFS = "dfs"


class Overflow(StrEnum):
    """What happens to new links beyond ``limits.queue``."""

    SPILL = "spill"
    DROP = "drop"


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Limits(_Part):
    """How much the whole job may take."""

    pages: Pages | None = Field(
        default=None, description="Stop after this many pages; none = no limit."
    )
    queue: Size = Field(
        default=1_000_000, description="URLs waiting at most, before `overflow` decides."
    )
    overflow: Annotated[Overflow, Field(strict=False)] = Field(
        default=Overflow.SPILL,
        description="Beyond `queue`: keep new links on disk, or drop and count.",
    )


class Polite(_Part):
    """How gently hosts are asked."""

    delay: DelayS = Field(default=1.0, description="Seconds between two requests to one host.")
    per_host: PerHost = Field(default=1, description="Requests to one host at the same time.")
    robots: bool = Field(
        default=True, description="Obey robots.txt and robots directives in pages."
    )
    adaptive: bool = Field(
        default=True, description="Slow down for hosts that answer slowly or fail."
    )


class Http(_Part):
    """How one page is asked for, and what is taken of it."""

    agent: Agent = Field(
        default=DEFAULT_AGENT, description="User-Agent; robots.txt rules follow it."
    )
    headers: dict[HeaderName, HeaderValue] = Field(
        default_factory=dict,
        description='Sent to the entries\' own domains; "env:NAME" is filled in late.',
    )
    types: MediaTypes = Field(
        default=DEFAULT_TYPES, description="Media types to keep; empty takes any."
    )
    skip_suffixes: Suffixes | None = Field(
        default=None,
        description="Suffixes of links that are not asked for; none = the built-in list.",
    )
    timeout: TimeoutS = Field(default=60.0, description="Seconds for one whole request.")
    connect_timeout: TimeoutS = Field(default=10.0, description="Seconds to connect.")
    first_byte_timeout: TimeoutS = Field(
        default=20.0, description="Seconds until the answer begins."
    )
    max_bytes: Size = Field(
        default=32 * 1024 * 1024, description="Bytes of a body at most, packed and unpacked."
    )
    max_header_bytes: Size = Field(
        default=64 * 1024, description="Bytes of response headers at most."
    )
    max_redirects: Annotated[int, Field(ge=0, le=100)] = Field(
        default=10, description="Redirects followed from one URL."
    )
    tries: Annotated[int, Field(ge=1, le=100)] = Field(
        default=4, description="Attempts at one URL before it is given up."
    )

    def resolved_headers(self, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the headers with every ``env:NAME`` filled in; never store or print the result."""
        source = os.environ if environ is None else environ
        return {name: _resolved(name, value, source) for name, value in self.headers.items()}


class Urls(_Part):
    """Which spellings of a URL are one page; see ``skitter.url.canonical`` for the fixed rules."""

    tracking: Parameters = Field(
        default=TRACKING_PARAMS, description='Query parameters to ignore; "utm_*" is a prefix.'
    )
    session: Parameters = Field(
        default=SESSION_PARAMS, description="Session parameters to ignore, in query or path."
    )
    sort_query: bool = Field(default=False, description="Ignore the order of query parameters.")
    max_length: Size = Field(default=4096, description="Characters of the longest URL followed.")

    def rules(self) -> CanonicalRules:
        """Return them as the canonical form wants them."""
        return CanonicalRules(
            tracking=self.tracking,
            session=self.session,
            sort_query=self.sort_query,
            max_length=self.max_length,
        )


class Job(_Part):
    """What a user asked for. Defaults come from the kind."""

    entries: EntryUrls = Field(default=(), description="URLs to start from.")
    id: JobId = Field(
        default_factory=lambda data: derived_id(data["entries"]),
        description="Name of the job; left out = host of the first entry and a hash of them all.",
    )
    kind: Annotated[Kind, Field(strict=False)] = Field(
        default=Kind.SITE,
        description="`site` stays on the entries' hosts, `web` goes where links lead.",
    )
    owner: str = Field(default="", description="Who asked.")
    depth: Depth | None = Field(
        default=None,
        description="Links to follow from an entry; 0 = entries alone, none = no limit.",
    )
    priority: Priority = Field(default=5, description="0 (last) to 9 (first).")
    order: Annotated[Order, Field(strict=False)] = Field(
        default=Order.BFS, description="Breadth first or depth first."
    )
    scope: Annotated[ScopeKind, Field(strict=False)] = Field(
        default_factory=lambda data: _default_scope(data["kind"]),
        description="Which links are followed: same host, registered domain, sub-site, or any.",
    )
    partition: Annotated[Partition, Field(strict=False)] = Field(
        default=Partition.HOST,
        description="What keeps URLs together when several workers share a job.",
    )
    include: Patterns = Field(default=(), description="Follow only links one of these matches.")
    exclude: Patterns = Field(default=(), description="Never follow links one of these matches.")
    labels: dict[str, str] = Field(
        default_factory=dict, description="Your own words, kept in every record."
    )
    limits: Limits = Limits()
    polite: Polite = Polite()
    http: Http = Http()
    urls: Urls = Urls()

    def identity(self) -> dict[str, object]:
        """Return what must be equal for a stored crawl to be continued as this job."""
        return {
            "id": self.id,
            "kind": self.kind.value,
            "scope": self.scope.value,
            "depth": self.depth,
            "order": self.order.value,
            "partition": self.partition.value,
            "include": list(self.include),
            "exclude": list(self.exclude),
            "urls": self.urls.model_dump(mode="json"),
            "entries": entries_digest(self.entries, size=16),
        }

    def to_json(self) -> str:
        """Return the job for storing; header values that look secret are left out."""
        data = self.model_dump(mode="json")
        data["http"]["headers"] = {
            name: value
            for name, value in self.http.headers.items()
            if value.startswith(ENV_PREFIX) or not _looks_secret(name)
        }
        return json.dumps({"version": STORED_VERSION, **data}, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> "Job":
        """Return a stored job; raises ``ConfigError`` on one of a newer version."""
        data = json.loads(text)
        version = data.pop("version", None)
        if version != STORED_VERSION:
            raise ConfigError(
                f"stored job: wanted version {STORED_VERSION}, got {json.dumps(version)}"
            )
        return check_job(data, "stored job")


JOB_VOCABULARY: Final = Vocabulary(
    model=Job,
    later_keys={
        "": frozenset(
            {"refresh", "links", "list", "detail", "sinks", "article", "jump", "keywords"}
            | {"sitemaps", "render", "archive", "related"}
        ),
        "limits": frozenset({"time", "bytes", "template"}),
        "polite": frozenset({"rate", "ip"}),
        "http": frozenset({"agents", "cookies", "proxy", "proxies", "render"}),
    },
    later_values={
        "kind": frozenset({"list", "news", "resolve"}),
        "order": frozenset({"best"}),
        "limits.overflow": frozenset({"reject"}),
    },
)


def check_job(data: object, source: str) -> Job:
    """Return ``data`` as a job or raise a ``ConfigError`` naming ``source`` and every bad field."""
    try:
        return Job.model_validate(data)
    except ValidationError as error:
        raise refuse(error, JOB_VOCABULARY, lambda name: f"{source}: {name}") from error


def identity_difference(stored: Mapping[str, object], wanted: Mapping[str, object]) -> str | None:
    """Say in words how two identities differ, or return None when they are equal."""
    parts = [
        f"{name} is {json.dumps(stored.get(name))} there and {json.dumps(value)} here"
        for name, value in wanted.items()
        if stored.get(name) != value
    ]
    return "; ".join(parts) or None


def _default_scope(kind: Kind) -> ScopeKind:
    return ScopeKind.ANY if kind is Kind.WEB else ScopeKind.HOST


def _looks_secret(name: str) -> bool:
    lowered = name.lower()
    return any(word in lowered for word in _SECRET_WORDS)


def _resolved(name: str, value: str, environ: Mapping[str, str]) -> str:
    if not value.startswith(ENV_PREFIX):
        return value
    variable = value.removeprefix(ENV_PREFIX)
    found = environ.get(variable)
    if found is None:
        raise ConfigError(f"http.headers.{name}: environment variable {variable} is not set")
    if any(ord(char) < 0x20 and char != "\t" for char in found):
        raise ConfigError(f"http.headers.{name}: {variable} holds control characters")
    return found
