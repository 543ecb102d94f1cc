"""The job: what a user asked for, as a checked and frozen value.

A job file (TOML or JSON) has the names below; an unknown one is refused, so that a slip of the
pen cannot become a crawl nobody wanted. Secrets never enter a stored job: a header, a cookie or the
URL of a database may say ``env:NAME`` or ``file:PATH`` and is filled in when the crawl starts.
"""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from skitter.errors import ConfigError
from skitter.job.fields import (
    Depth,
    EntryUrls,
    JobId,
    Keywords,
    Patterns,
    Priority,
)
from skitter.job.identity import derived_id, entries_digest
from skitter.job.outputs import Output
from skitter.job.part import Part
from skitter.job.parts import (
    Aliases,
    Archive,
    Http,
    Limits,
    Polite,
    Seen,
    Traps,
    Urls,
)
from skitter.job.problem import Vocabulary, refuse
from skitter.job.refresh import Policy, Refresh, RefreshRule
from skitter.job.rules import EXTRACTS, LinkRule, ListRules, RuleName, RuleSet
from skitter.job.secrets import is_reference, may_be_stored
from skitter.url.partition import Partition
from skitter.url.scope import ScopeKind

STORED_VERSION: Final = 1


MediaKind = Literal["image", "video", "audio"]
"""What kind of file a page shows, as its media type begins."""


class Kind(StrEnum):
    """What a job is for; it decides the defaults."""

    SITE = "site"
    WEB = "web"
    LIST = "list"
    NEWS = "news"
    RESOLVE = "resolve"


class Order(StrEnum):
    """Which of the waiting pages of one priority comes first."""

    BFS = "bfs"
    DFS = "dfs"
    BEST = "best"


class Sitemaps(StrEnum):
    """What sitemaps and feeds are used for."""

    AUTO = "auto"
    ONLY = "only"
    NO = "no"


class Job(Part):
    """What a user asked for. Defaults come from the kind."""

    model_config = ConfigDict(populate_by_name=True)

    entries: EntryUrls = Field(default=(), description="URLs to start from.")
    id: JobId = Field(
        default_factory=lambda data: derived_id(data["entries"]),
        description="Name of the job; left out = host of the first entry and a hash of them all.",
    )
    kind: Annotated[Kind, Field(strict=False)] = Field(
        default=Kind.SITE,
        description="`site` stays on the entries' hosts, `web` goes where links lead, `list` reads"
        " lists by the rules in `list`, and the pages of their items, `news` finds the articles"
        " that pages of links lead to, `resolve` fetches the entries and tells what they are.",
    )
    owner: str = Field(default="", description="Who asked.")
    depth: Depth | None = Field(
        default_factory=lambda data: default_depth(data["kind"]),
        description="Links to follow from an entry; 0 = entries alone, none = no limit.",
    )
    dynamic_depth: Depth | None = Field(
        default=None,
        description="The same for URLs with a query; none = as `depth`.",
    )
    priority: Priority = Field(default=5, description="0 (last) to 9 (first).")
    keywords: Keywords = Field(
        default=(), description="What the crawl is about, words or phrases; for `order` best."
    )
    order: Annotated[Order, Field(strict=False)] = Field(
        default_factory=lambda data: _default_order(data["keywords"]),
        description="Breadth first, depth first, or the most relevant to `keywords` first.",
    )
    sitemaps: Annotated[Sitemaps, Field(strict=False)] = Field(
        default_factory=lambda data: _default_sitemaps(data["kind"]),
        description="`auto` also fetches what sitemaps list, `only` follows no links but theirs,"
        " `no` reads none.",
    )
    scope: Annotated[ScopeKind, Field(strict=False)] = Field(
        default_factory=lambda data: default_scope(data["kind"]),
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
    links: Annotated[tuple[LinkRule, ...], Field(strict=False)] = Field(
        default=(),
        description="Which links are followed, and as what; the first rule that fits counts, and"
        " a link that fits none is left alone. None = all of them.",
    )
    list_: ListRules | None = Field(
        default=None, alias="list", description="What is taken of list pages: nav pages, entries."
    )
    detail: RuleSet = RuleSet()
    rules: dict[RuleName, RuleSet] = Field(
        default_factory=dict, description="More rule sets, for `extract` of a link rule."
    )
    article: Patterns = Field(
        default=(),
        description="What the address of an article looks like, in news jobs; none = articles are"
        " told from pages of links by what they say. Other kinds take no notice of it, and warn.",
    )
    jump: Patterns = Field(
        default=(),
        description="Links that only lead on to others, such as those of a search engine: where"
        " they lead is queued in their place.",
    )
    media: Annotated[tuple[MediaKind, ...], Field(strict=False)] = Field(
        default=(),
        description="Files that pages show and that are fetched into the archive as well:"
        " `image`, `video`, `audio`. They may lie on any host; the record names them.",
    )
    refresh: RefreshRule = Field(
        default=Refresh(),
        description='"never", or when pages are visited again: a time ("10m") for pages of links,'
        ' or {policy = "window", days = 3} for all pages of a site or web job, not within so many'
        " days.",
    )
    limits: Limits = Limits()
    polite: Polite = Polite()
    http: Http = Http()
    urls: Urls = Urls()
    traps: Traps = Traps()
    aliases: Aliases = Aliases()
    archive: Archive = Archive()
    seen: Seen = Seen()
    sinks: Annotated[tuple[Output, ...], Field(strict=False)] = Field(
        default=(),
        description="Files and databases for the records; none = the file `<job id>.jsonl`.",
    )

    @model_validator(mode="after")
    def _keywords_fit_order(self) -> "Job":
        if self.order is Order.BEST and not self.keywords:
            raise ValueError("order: best wants keywords that say what the crawl is about")
        if self.keywords and self.order is not Order.BEST:
            raise ValueError(f"keywords: only order best uses them, not {self.order.value}")
        return self

    @model_validator(mode="after")
    def _rules_are_there(self) -> "Job":
        if self.kind is Kind.LIST and self.list_ is None:
            raise ValueError("kind: list wants a table [list] that says where its items are")
        known = (*EXTRACTS, *self.rules)
        for number, rule in enumerate(self.links):
            if rule.extract is not None and rule.extract not in known:
                near = get_close_matches(rule.extract, known, n=1)
                hint = f'; did you mean "{near[0]}"?' if near else ""
                raise ValueError(
                    f"links[{number}].extract: {json.dumps(rule.extract)}: wanted one of"
                    f" {', '.join(known)}{hint}"
                )
        return self

    @property
    def visits_all_again(self) -> bool:
        """Whether all of its pages come again, not only those of links."""
        return self.refresh.policy is Policy.WINDOW and self.kind in (Kind.SITE, Kind.WEB)

    @property
    def unused(self) -> list[str]:
        """What it says that comes to nothing, in words; a job of another kind may share it."""
        if self.article and self.kind is not Kind.NEWS:
            return [f"article: only kind news uses it, not {self.kind.value}"]
        return []

    def identity(self) -> dict[str, object]:
        """Return what must be equal for a stored crawl to be continued as this job."""
        return {
            "id": self.id,
            "kind": self.kind.value,
            "scope": self.scope.value,
            "depth": self.depth,
            "dynamic_depth": self.dynamic_depth,
            "order": self.order.value,
            "sitemaps": self.sitemaps.value,
            "partition": self.partition.value,
            "include": list(self.include),
            "exclude": list(self.exclude),
            "article": list(self.article) or None,
            "links": [rule.identity() for rule in self.links],
            "urls": self.urls.model_dump(mode="json"),
            "entries": entries_digest(self.entries, size=16),
        }

    def to_json(self) -> str:
        """Return the job for storing, without cookies, passwords and secret-looking headers."""
        data = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        http = data["http"]
        http["headers"] = {k: v for k, v in self.http.headers.items() if may_be_stored(k, v)}
        cookies = self.http.cookies
        if not isinstance(cookies, str):
            http["cookies"] = {k: v for k, v in cookies.items() if is_reference(v)}
        data["sinks"] = [
            sink.without_secret().model_dump(mode="json", exclude_none=True) for sink in self.sinks
        ]
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
        "": frozenset({"related"}),
        "http": frozenset({"proxy", "proxies"}),
    },
    later_values={
        "refresh": frozenset({"classes", "adaptive"}),
        "refresh.policy": frozenset({"classes", "adaptive"}),
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


def default_scope(kind: Kind) -> ScopeKind:
    """Return which links a job of some kind follows unless it says otherwise."""
    scopes = {
        Kind.WEB: ScopeKind.ANY,
        Kind.LIST: ScopeKind.DOMAIN,
        Kind.NEWS: ScopeKind.DOMAIN,
        Kind.RESOLVE: ScopeKind.ANY,
    }
    return scopes.get(kind, ScopeKind.HOST)


def default_depth(kind: Kind) -> int | None:
    """Return how far a job of some kind goes from its entries unless it says otherwise."""
    return {Kind.NEWS: 2, Kind.RESOLVE: 0}.get(kind)


def _default_sitemaps(kind: Kind) -> Sitemaps:
    return Sitemaps.AUTO if kind in (Kind.SITE, Kind.WEB) else Sitemaps.NO


def _default_order(keywords: tuple[str, ...]) -> Order:
    return Order.BEST if keywords else Order.BFS
