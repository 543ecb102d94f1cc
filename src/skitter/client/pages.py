"""Pages looked up, resolved, fetched and tried, as the REST API tells them."""

from base64 import b64decode
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field

from skitter.client.base import Message, Wish
from skitter.client.jobs import PageRow

MAX_LOOKUP = 300
"""URLs in one look-up."""
MAX_RESOLVE = 300
MAX_WAIT_S = 30.0
MAX_AGE_S = 100 * 365 * 86_400.0


class Explained(Message):
    """Everything one job knows of a URL, and why it stands so."""

    model_config = ConfigDict(extra="allow")

    job: str
    url: str
    state: str
    why: str
    host: str = ""
    depth: int | None = None
    link_rule: str | None = None
    next_visit: str | None = None
    """When it is asked for next, in RFC 3339: by its schedule, or once more after a failed try."""
    failed_tries: int | None = None
    visits: list[dict[str, Any]] = []
    """What each visit saw, the last 50 of them."""
    record: PageRow | None = None


class Explanation(Message):
    """Everything known of a URL."""

    url: str
    known: bool
    submitted: int = 0
    """How often it was submitted to be resolved."""
    jobs: list[Explained]
    """Those that know it come first."""
    left_out: int = 0
    """Jobs beyond the 200 that are told of."""


class Archived(Message):
    """The response to a URL as the archive has it."""

    url: str
    job: str
    head: str
    """Status line and headers as they came, in Base64."""
    body: str
    """With transfer and content coding undone, in Base64."""

    @property
    def head_bytes(self) -> bytes:
        """Status line and headers."""
        return b64decode(self.head)

    @property
    def body_bytes(self) -> bytes:
        """The body."""
        return b64decode(self.body)


class LookupWish(Wish):
    """URLs to look up, requested or final."""

    urls: Annotated[list[str], Field(min_length=1, max_length=MAX_LOOKUP)]
    job: str | None = None
    """None looks into every job; the newest record counts."""


class Found(Message):
    """What the page index holds of one URL."""

    url: str
    """As it was asked for."""
    found: bool
    error: str | None = Field(
        default=None,
        description="Why there is no page, in words; with the outcome `ok`, what may be wrong with"
        " the page that came, such as that it looks like an error page.",
    )
    job: str | None = None
    requested_url: str | None = None
    final_url: str | None = None
    redirects: list[str] = []
    status: int | None = None
    outcome: str | None = None
    title: str | None = None
    description: str | None = None
    image: str | None = None
    language: str | None = None
    content_type: str | None = None
    canonical: str | None = None
    fetched_at: str | None = None
    media: list[dict[str, str]] = []


class LookupAnswer(Message):
    """One answer for each URL, in order."""

    pages: list[Found]

    @classmethod
    def joined(cls, answers: Sequence[Self]) -> Self:
        """Return the answers of several calls as one, in their order."""
        return cls(pages=[page for answer in answers for page in answer.pages])


# Resolve


class ResolveWish(Wish):
    """URLs, or a text to take them from, whose pages somebody wants to know about soon."""

    urls: Annotated[list[str], Field(max_length=MAX_RESOLVE)] = []
    text: Annotated[str, Field(max_length=100_000)] = ""
    max_age: Annotated[float, Field(ge=0, le=MAX_AGE_S)] = 86_400.0
    """A page that was fetched within so many seconds is not fetched again."""
    wait: Annotated[float, Field(ge=0, le=MAX_WAIT_S)] = 0.0
    media: list[Literal["image", "video", "audio"]] = []
    """Related files that are to be fetched as well."""


class Resolved(Found):
    """What came of one URL."""

    state: Literal["done", "pending", "blocked", "invalid"]
    """blocked: something forbids to fetch it, ``error`` says what."""
    cached: bool = False
    """Whether it was known and young enough."""
    seconds: float | None = None
    """From the submission to the answer."""


class ResolveAnswer(Message):
    """What is known by now; ``done`` when nothing is pending any more."""

    ticket: str
    done: bool
    results: list[Resolved]
    left_out: int = 0
    """URLs of the text beyond what one call resolves."""


class FetchWish(Wish):
    """One URL to fetch right now, beside every queue but with the manners of its host."""

    url: str
    body: bool = False


class Fetched(Message):
    """A direct fetch."""

    url: str
    final_url: str
    redirects: list[str]
    status: int
    content_type: str | None
    headers: dict[str, str]
    bytes: int
    elapsed_ms: int
    title: str | None = None
    description: str | None = None
    image: str | None = None
    language: str | None = None
    body: str | None = None


class TrialWish(Wish):
    """A job's rules to be tried on a page that is fetched, or given as HTML."""

    job: dict[str, Any]
    url: str
    html: Annotated[str, Field(max_length=4_000_000)] | None = None
    rule: str | None = None


class TriedLink(Message):
    """One link of the page, and what becomes of it."""

    url: str
    follow: bool
    page_class: str | None = None
    why: str


class TrialAnswer(Message):
    """What the rules made of the page."""

    url: str
    rule: str
    page_class: str
    looks_like: str
    fields: dict[str, Any]
    missing: list[str]
    items: list[dict[str, Any]] = []
    next: list[str] = []
    """Pages on which its list goes on."""
    is_list: bool = False
    problems: list[str] = []
    """What was there and could not be used."""
    links: list[TriedLink]
    article: dict[str, Any]
