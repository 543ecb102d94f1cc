"""The tables of a job file: what may be said in each, with its defaults."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, model_validator

from skitter.job.agents import DEFAULT_AGENT, choose_agent, is_default, with_contact
from skitter.job.fields import (
    Agent,
    Agents,
    Contact,
    Cookies,
    DelayS,
    HeaderName,
    HeaderValue,
    MediaTypes,
    Networks,
    Pages,
    Parameters,
    PerAddress,
    PerHost,
    Rate,
    RunSeconds,
    Size,
    Suffixes,
    TimeoutS,
    Window,
)
from skitter.job.part import Part
from skitter.job.secrets import OwnHeaders
from skitter.types import HostKey
from skitter.url.canonical import SESSION_PARAMS, TRACKING_PARAMS, CanonicalRules

DEFAULT_TYPES: Final = ("text/html", "application/xhtml+xml", "text/plain")


class Overflow(StrEnum):
    """What happens to new links beyond ``limits.queue``."""

    SPILL = "spill"
    DROP = "drop"


class Limits(Part):
    """How much the whole job may take."""

    pages: Pages | None = Field(
        default=None,
        description="Stop after this many pages, those set aside among them; none = no limit.",
    )
    time: RunSeconds | None = Field(
        default=None, description="Stop a run after this many seconds; none = no limit."
    )
    bytes: Size | None = Field(
        default=None, description="Stop after this many bytes of pages and media; none = no limit."
    )
    queue: Size = Field(
        default=1_000_000, description="URLs waiting at most, before `overflow` decides."
    )
    overflow: Annotated[Overflow, Field(strict=False)] = Field(
        default=Overflow.SPILL,
        description="Beyond `queue`: keep new links (on disk; of a shared store, in it and its"
        " cold store), or drop and count.",
    )
    media_bytes: Size = Field(
        default=10_000_000, description="Bytes of one file at most that `media` asks for."
    )
    media_per_page: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=20, description="Files of one page at most that `media` asks for."
    )


class Polite(Part):
    """How gently hosts are asked."""

    delay: DelayS = Field(default=1.0, description="Seconds between two requests to one host.")
    per_host: PerHost = Field(default=1, description="Requests to one host at the same time.")
    rate: Window | None = Field(
        default=None,
        description="Requests to one registered domain in any stretch of time, by all jobs of this"
        ' kind on all machines: "20/60s".',
    )
    rate_ip: Window | None = Field(
        default=None,
        description="The same from one address of ours (`skitter node --egress`), whatever the"
        " kind; machines that name none count as one.",
    )
    per_ip: PerAddress = Field(
        default=8,
        description="Requests to one IP address at the same time, whatever the hosts, or"
        " `per_host` if that is more; 0 = any number.",
    )
    ip_exempt: Networks = Field(
        default=(),
        description="Addresses to which `per_ip` does not apply, such as those of a CDN:"
        ' "104.16.0.0/13".',
    )
    robots: bool = Field(
        default=True, description="Obey robots.txt and robots directives in pages."
    )
    adaptive: bool = Field(
        default=True, description="Slow down for hosts that answer slowly or fail."
    )


class Http(Part):
    """How one page is asked for, and what is taken of it."""

    agent: Agent = Field(
        default=DEFAULT_AGENT, description="User-Agent; robots.txt rules follow it."
    )
    contact: Contact | None = Field(
        default=None,
        description='Where its operator is to be reached, added to the agent: "https://…" or'
        ' "mailto:…".',
    )
    agents: Agents = Field(
        default=(),
        description="Several agents in place of one; a host always gets the same of them.",
    )
    headers: dict[HeaderName, HeaderValue] = Field(
        default_factory=dict,
        repr=False,
        description='Sent to the entries\' own domains. "env:NAME" and "file:PATH" (from the job'
        " file's directory) are filled in when the crawl starts.",
    )
    cookies: Cookies = Field(
        default_factory=dict,
        repr=False,
        description='Names and values, sent and filled in like headers; or "file:PATH", a'
        " cookies.txt, of which each URL gets what is for it. What servers set is not kept.",
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
    render: bool = Field(
        default=False,
        description="Let the scripts of every page run in a browser (Chromium) and read what is"
        " there then; `links[].render` says it for some pages alone.",
    )

    @model_validator(mode="after")
    def _one_of_each(self) -> "Http":
        if self.agents and not is_default(self.agent):
            raise ValueError("agents: there is an agent as well; wanted one of the two")
        if self.cookies and any(name.lower() == "cookie" for name in self.headers):
            raise ValueError("cookies: there is a header Cookie as well; wanted one of the two")
        return self

    def own_headers(self, environ: Mapping[str, str] | None = None) -> OwnHeaders:
        """Return headers and cookies with every value filled in; never store or print them."""
        return OwnHeaders.read(self.headers, self.cookies, environ)

    def agent_for(self, host: HostKey) -> str:
        """Return the name by which a host is asked."""
        agent = choose_agent(self.agents, host) if self.agents else self.agent
        return with_contact(agent, self.contact)


class Traps(Part):
    """When a site is taken to make up pages without end; see docs/traps.md."""

    enabled: bool = Field(default=True, description="Cut links that lead into a trap.")
    budget: Annotated[int, Field(ge=1, le=1_000)] = Field(
        default=3,
        description="Pages in a row that may bring nothing of their own before links are cut.",
    )
    max_segments: Annotated[int, Field(ge=1)] = Field(
        default=24, description="Directories in a path at most."
    )
    max_query_chars: Annotated[int, Field(ge=1)] = Field(
        default=1_500, description="Characters of a query at most."
    )
    max_params: Annotated[int, Field(ge=1)] = Field(
        default=24, description="Parameters in a query at most."
    )


class Aliases(Part):
    """Sites that have several names, or copies under other names."""

    enabled: bool = Field(
        default=True,
        description="Crawl a site under one of its names: hosts with equal pages at equal paths.",
    )


class Compression(StrEnum):
    """How the records of an archive are packed."""

    GZIP = "gzip"
    ZSTD = "zstd"
    NONE = "none"


class Archive(Part):
    """The web archive: every response as it came, in WARC files."""

    directory: str | None = Field(
        default=None, description="Write WARC files here; none = no archive."
    )
    compression: Annotated[Compression, Field(strict=False)] = Field(
        default=Compression.GZIP, description="How each record is packed."
    )
    max_file_bytes: Annotated[int, Field(ge=1_000_000)] = Field(
        default=1_000_000_000, description="Begin another file beyond this size."
    )


class SeenKind(StrEnum):
    """How known URLs are remembered."""

    EXACT = "exact"
    COMPACT = "compact"
    BLOOM = "bloom"


class Seen(Part):
    """How known URLs are remembered; see docs/bloom.md."""

    kind: Annotated[SeenKind, Field(strict=False)] = Field(
        default=SeenKind.EXACT,
        description="`exact`, a `bloom` filter that takes a few bits a URL and holds a few unseen"
        " ones for seen, or in Redis `compact`: half the bytes, wrong once in ten million.",
    )
    expected: Size = Field(default=10_000_000, description="URLs the Bloom filter is made for.")
    rate: Rate = Field(
        default=0.0001, description="Share of unseen URLs taken for seen, at that number."
    )
    groups: Annotated[int, Field(ge=1, le=8)] = Field(
        default=2, description="Groups of hash functions; a URL is seen when every group says so."
    )

    @model_validator(mode="after")
    def _only_for_bloom(self) -> "Seen":
        extra = self.model_fields_set - {"kind"}
        plain = Seen.model_construct()
        changed = sorted(name for name in extra if getattr(self, name) != getattr(plain, name))
        if self.kind is not SeenKind.BLOOM and changed:
            raise ValueError(f"{changed[0]}: only the Bloom filter uses it; wanted kind bloom")
        return self


class Urls(Part):
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
