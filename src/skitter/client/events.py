"""What happens and how often, as the REST API tells it."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from skitter.client.base import Message, Wish


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
    waiting: int | None = 0
    """Events that are to come, as far as they were counted; None where too many are behind."""
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
