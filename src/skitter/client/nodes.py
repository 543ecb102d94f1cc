"""Machines and sites, as the REST API tells them."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from skitter.client.base import Message, Wish


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
    managed: bool = True
    """False for a process that no manager has started, such as a crawl: it takes no orders."""
    arguments: list[str] = []
    added: str | None = None
    started: str | None = None
    ended: str | None = None
    exit_reason: str = ""
    follows: int | None = None
    """The worker in whose place it was started."""
    log: str = ""
    """Where its manager keeps its log."""


class NodeRow(Message):
    """One machine."""

    id: str
    health: str
    workers: int
    pages: int
    pages_per_minute: float
    in_flight: int
    managed: bool = True
    """False where there is no manager to take orders."""


class NodeList(Message):
    """All machines and their workers."""

    nodes: list[NodeRow]
    workers: list[WorkerRow]
    buried: dict[str, int] = {}
    """How much of what is idle the store no longer keeps: hosts, robots, sessions, names."""


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
    known_hosts: int | None = None
    """How many hosts it covers today; only in the answer to a change."""


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
    in_force: bool = True
    """False once it was undone."""


class AliasList(Message):
    """All aliases."""

    aliases: list[AliasRow]


class AliasUndone(Message):
    """A host that is crawled under its own name again."""

    job: str
    alias: str
    site: str
    queued: int
    """URLs that were left out and wait again."""
