"""What the REST API says and is told: the one description of it, for server, clients and pages.

Times are RFC 3339 UTC, durations are seconds, lists come in pages: ``next`` is what to give as
``after`` for the following one, None at the end. A newer server may say more than is written here.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_LOOKUP = 300
"""URLs in one look-up."""
MAX_RESOLVE = 300
MAX_WAIT_S = 30.0


class Message(BaseModel):
    """Anything the API says."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class Wish(BaseModel):
    """Anything the API is told; an unknown name is refused, as it is in a job file."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


# Errors


class Problem(Message):
    """What went wrong: a word for programs, a sentence for people, and the field if it was one."""

    code: str
    message: str
    field: str | None = None


class ErrorBody(Message):
    """The one shape of every error."""

    error: Problem


class Role(StrEnum):
    """What a token may do: read, work with jobs and sites, or everything."""

    READER = "reader"
    OPERATOR = "operator"
    ADMIN = "admin"


class Health(Message):
    """Whether the service can do its work."""

    status: Literal["ok", "trouble"]
    version: str
    trouble: str = ""
    """Why not, in words."""


class Me(Message):
    """Who the token speaks for, and where the service keeps what it knows."""

    role: Role
    version: str
    store: str
    """"embedded", "redis" or "redis+postgresql": the home of the page index."""
    allow_private: bool
    sinks: list[str]
    """Names of sinks the operator has set up for jobs from the API."""


# Jobs


class JobRow(Message):
    """How a job stands."""

    id: str
    kind: str
    owner: str
    state: str
    """running, waiting, paused, finished or cancelled."""
    stopped_by: str
    priority: int
    pages: int
    ok: int
    failed: int
    refused: int
    duplicates: int
    rejected: int
    queued: int
    leased: int
    scheduled: int
    done: int
    dead: int
    dropped: int


class JobDetail(JobRow):
    """How a job stands, and what it was told to do."""

    entries: list[str]
    scope: str
    depth: int | None
    order: str
    labels: dict[str, str]
    limits: dict[str, Any]
    records: list[str] | str
    """Where its records go."""
    bytes: int
    sitemaps: int
    hosts: int
    status_codes: dict[str, int]
    errors: dict[str, int]
    alarms: list[str] = []
    spec: dict[str, Any] = {}
    """The job as it was given, defaults filled in, secrets left out."""


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
    error: str | None = None
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


# Pages


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
    failed_tries: int | None = None
    visits: list[dict[str, Any]] = []
    record: PageRow | None = None


class Explanation(Message):
    """Everything known of a URL."""

    url: str
    known: bool
    submitted: int = 0
    """How often it was submitted to be resolved."""
    jobs: list[Explained]


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
    error: str | None = None
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


# Resolve


class ResolveWish(Wish):
    """URLs, or a text to take them from, whose pages somebody wants to know about soon."""

    urls: Annotated[list[str], Field(max_length=MAX_RESOLVE)] = []
    text: Annotated[str, Field(max_length=100_000)] = ""
    max_age: Annotated[float, Field(ge=0)] = 86_400.0
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
    links: list[TriedLink]
    article: dict[str, Any]


# Nodes


class WorkerRow(Message):
    """One worker process, or a member nobody manages."""

    node: str
    worker: int | None = None
    member: str = ""
    kind: str = ""
    priority: int | None = None
    state: str
    wanted: bool | None = None
    pages: int = 0
    pages_per_minute: float = 0.0
    slots: int | None = None
    share: float | None = None
    backlog: int | None = None
    in_flight: int = 0
    health: str = ""
    heartbeat_s: float | None = None
    trouble: str = ""
    pid: int | None = None
    restarts: int = 0
    since: str | None = None


class NodeRow(Message):
    """One machine."""

    id: str
    health: str
    workers: int
    pages: int
    pages_per_minute: float
    in_flight: int


class NodeList(Message):
    """All machines and their workers."""

    nodes: list[NodeRow]
    workers: list[WorkerRow]


class NodeDetail(Message):
    """Everything about one machine, with workers that have ended."""

    id: str
    health: str
    heartbeat_s: float | None = None
    machine: str = ""
    pid: int | None = None
    since: str | None = None
    limit: int | None = None
    queued: int = 0
    workers: list[WorkerRow]


class StartWish(Wish):
    """Workers to start on a node."""

    kind: str = "all"
    priority: Annotated[int, Field(ge=0, le=9)] = 5
    count: Annotated[int, Field(ge=1, le=64)] = 1


class WorkerList(Message):
    """Workers of a node."""

    workers: list[WorkerRow]


class LogPiece(Message):
    """A piece of one process's log."""

    worker: int
    """0 is the manager itself."""
    text: str
    cursor: str
    more: bool


class LogAnswer(Message):
    """Pieces of the logs of a node."""

    logs: list[LogPiece]


# Sites


class SettingRow(Message):
    """What is set for the hosts of a pattern."""

    pattern: str
    settings: dict[str, Any]
    changed_by: str = ""
    changed_at: str | None = None
    revision: int = 0
    version: int = 0


class SettingList(Message):
    """All settings."""

    settings: list[SettingRow]


class EffectiveSettings(Message):
    """What counts for a host or pattern, and where each value is said."""

    pattern: str
    settings: dict[str, dict[str, Any]]
    version: int


class AliasRow(Message):
    """A host that is another name of a site."""

    model_config = ConfigDict(extra="allow")

    job: str
    alias: str
    site: str


class AliasList(Message):
    """All aliases."""

    aliases: list[AliasRow]


# What happens, and how often


class Event(Message):
    """Something that has happened."""

    id: str = ""
    type: str
    """page, job, node, setting, alarm, resolve."""
    at: str
    job: str | None = None
    kind: str | None = None
    host: str | None = None
    node: str | None = None
    url: str | None = None
    final_url: str | None = None
    status: int | None = None
    outcome: str | None = None
    title: str | None = None
    bytes: int | None = None
    elapsed_ms: int | None = None
    message: str = ""
    dropped: int = 0
    """How many like it were left out before it: they came too fast to be told one by one."""


class WebhookWish(Wish):
    """Where events are to be sent."""

    url: str
    job: str | None = None
    types: list[str] = ["page"]
    secret: Annotated[str, Field(min_length=16, max_length=200)] | None = None
    """Signs what is sent; made when left out, and told once."""


class WebhookRow(Message):
    """A receiver of events."""

    id: str
    url: str
    job: str | None = None
    types: list[str]
    created_at: str
    delivered: int = 0
    failed: int = 0
    waiting: int = 0
    last_error: str | None = None
    secret: str | None = None
    """Only in the answer to its creation."""


class WebhookList(Message):
    """All webhooks."""

    webhooks: list[WebhookRow]


class Window(Message):
    """Counts of a stretch of time that ends now."""

    seconds: int
    pages: int = 0
    ok: int = 0
    failed: int = 0
    bytes: int = 0
    media: int = 0
    status_codes: dict[str, int] = {}
    modules: dict[str, int] = {}
    """What each part of the program has done: fetch, robots, sitemap, parse, article, media …"""


class HostCount(Message):
    """One site and a number."""

    host: str
    n: float


class Stats(Message):
    """How everything stands at this moment."""

    at: str
    jobs: int
    running: int
    queued: int
    leased: int
    pages: int
    bytes: int
    nodes: int
    workers: int
    pages_per_second: float
    windows: dict[str, Window]
    """By name: minute, ten_minutes, hour, day."""
    by_job: dict[str, int] = {}
    """Pages of the last ten minutes."""
    by_kind: dict[str, int] = {}
    by_node: dict[str, int] = {}
    busiest_hosts: list[HostCount] = []
    slowest_hosts: list[HostCount] = []
    """Mean milliseconds of an answer, over the last hour."""
    most_linked: list[HostCount] = []
    most_submitted: list[dict[str, Any]] = []
    alarms: list[str] = []


class Step(StrEnum):
    """How long each number of a series counts for."""

    TEN_SECONDS = "10s"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"


class Point(Message):
    """One number of a series."""

    at: str
    n: int


class Series(Message):
    """A counter over time; steps in which nothing was counted are there with 0."""

    name: str
    step: Step
    points: list[Point]


class SeriesAnswer(Message):
    """Counters over time."""

    series: list[Series]
