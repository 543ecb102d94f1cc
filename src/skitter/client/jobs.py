"""Jobs, their records and their rejects, as the REST API tells them."""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, PrivateAttr

from skitter.client.base import Message, Wish


class JobRow(Message):
    """How a job stands."""

    id: str
    kind: str
    owner: str
    state: str
    """running, waiting, paused, finished or cancelled."""
    stopped_by: str
    priority: int
    pages: int = Field(description="Records: one for each visit.")
    ok: int = Field(description="Records with the outcomes `ok` and `noindex`.")
    failed: int = Field(description="Those with `http_error` and `failed`.")
    refused: int = Field(description="Those with `refused` and `skipped`.")
    duplicates: int = Field(
        description="Redirects to a page that is known, and pages whose content another had."
    )
    rejected: int = Field(
        description="Visits without a field that the rules require: in no output."
    )
    queued: int = Field(description="URLs that wait.")
    leased: int = Field(description="URLs in the hands of workers.")
    scheduled: int = Field(description="URLs that are visited again later.")
    done: int = Field(description="URLs that are done for good.")
    dead: int = Field(
        description="URLs that were given up or refused: pages, and sitemaps that are not there."
    )
    dropped: int = Field(description="Links left out beyond `limits.queue`.")


class JobDetail(JobRow):
    """How a job stands, and what it was told to do."""

    hosts: int
    entries: list[str]
    scope: str
    depth: int | None
    order: str
    labels: dict[str, str]
    limits: dict[str, Any]
    records: list[str] | str
    """Where its records go."""
    bytes: int
    error_pages: int = Field(
        default=0,
        description="Visits to pages that came as if all were well, and only say that there is"
        " nothing: kept with a note in `error`, or set aside where rules were to read them.",
    )
    garbled: int = Field(
        default=0,
        description="Visits to pages with bytes that are no characters of their encoding.",
    )
    sitemaps: int
    status_codes: dict[str, int]
    errors: dict[str, int]
    alarms: list[str] = []
    warnings: list[str] = Field(
        default=[], description="What the job says that has come to nothing so far, in words."
    )
    spec: dict[str, Any] = Field(
        default={},
        description="The job as it was given, defaults filled in, secrets left out;"
        " only in the answer to a GET.",
    )
    notes: list[str] = []
    """Only in the answer to a PATCH: what the change does not reach."""
    added: bool | None = None
    """Only in the answer to a POST: whether it is new."""
    _etag: str | None = PrivateAttr(None)

    @property
    def etag(self) -> str | None:
        """What names this state of the job: given with a change, it is made only of this state."""
        return self._etag

    def tagged(self, etag: str | None) -> Self:
        """Note the tag that came with the answer; return the job."""
        self._etag = etag
        return self


class JobList(Message):
    """A page of jobs."""

    jobs: list[JobRow]
    next: str | None = None


class JobChange(Wish):
    """What can be changed of a job that is there."""

    owner: str | None = None
    priority: Annotated[int, Field(ge=0, le=9)] | None = None
    limits: dict[str, Any] | None = None


class ClearWish(Wish):
    """Which waiting URLs a job is to forget."""

    page_class: Literal["nav", "data"] = Field(alias="class")
    restart: bool = False
    """Whether its entries are offered anew afterwards."""


class Cleared(JobRow):
    """How a job stands after it forgot what waited."""

    cleared: int
    restarted: int | None = None


class PageRow(Message):
    """The record of one visit; names as in every output."""

    model_config = ConfigDict(extra="allow")

    job: str
    url: str
    final_url: str | None = None
    redirects: list[str] = []
    status: int | None = None
    outcome: str
    error: str | None = Field(
        default=None,
        description="Why it failed or was refused, in words; with the outcome `ok`, what may be"
        " wrong with the page that came.",
    )
    depth: int
    page_class: str
    referrer: str | None = None
    fetched_at: str
    elapsed_ms: int | None = None
    content_type: str | None = None
    bytes: int | None = None
    title: str | None = None
    description: str | None = None
    image: str | None = None
    author: str | None = None
    published: str | None = None
    language: str | None = None
    text: str | None = None
    n_links: int | None = None
    fields: dict[str, Any] = {}
    changed: bool | None = None
    visit: int
    duplicate_of: str | None = None


class PageList(Message):
    """A page of records."""

    pages: list[PageRow]
    next: str | None = None


class LinkedRow(Message):
    """A page, or a host, that pages of a job link to."""

    kind: Literal["page", "host"]
    url: str
    links: int


class LinkedList(Message):
    """The pages that were fetched, then the hosts, to which most pages of a job link."""

    linked: list[LinkedRow]


class Reject(Message):
    """A record that was set aside, and why."""

    job: str
    url: str
    rule: str
    field: str
    reason: str
    fetched_at: str | None = None


class RejectList(Message):
    """A page of rejects."""

    rejects: list[Reject]
    next: str | None = None
