"""The methods of both clients: one table, and what makes methods of it.

A verb of a client that is awaited gives a coroutine, that of one that waits gives the answer; what
is sent is the same. Asked of the class, it gives the call without sending it.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, overload

from skitter.client.calls import base
from skitter.client.calls import events as event_calls
from skitter.client.calls import jobs as job_calls
from skitter.client.calls import nodes as node_calls
from skitter.client.calls import pages as page_calls
from skitter.client.calls import sites as site_calls
from skitter.client.calls.base import Answer, Call, Page, Row
from skitter.client.events import Event
from skitter.client.pages import MAX_LOOKUP, LookupAnswer

P = ParamSpec("P")


class Awaiting:
    """A client whose verbs are awaited."""


class Waiting:
    """A client whose verbs wait."""


class Verb(Generic[P, Answer]):
    """A method that sends one call."""

    def __init__(self, build: Callable[P, Call[Answer]]) -> None:
        self._build = build

    @overload
    def __get__(self, client: None, owner: Any) -> Callable[P, Call[Answer]]: ...
    @overload
    def __get__(self, client: Awaiting, owner: Any) -> Callable[P, Coroutine[Any, Any, Answer]]: ...
    @overload
    def __get__(self, client: Waiting, owner: Any) -> Callable[P, Answer]: ...
    def __get__(self, client: Any, owner: Any) -> Any:
        """Bind the verb to a client."""
        return _bound(self._build, client, "send")


class Every(Generic[P, Page, Row]):
    """A method that goes through all pages of a list."""

    def __init__(self, build: Callable[P, Call[Page]], rows: Callable[[Page], list[Row]]) -> None:
        self._build = build
        self._rows = rows

    @overload
    def __get__(self, client: None, owner: Any) -> Callable[P, Call[Page]]: ...
    @overload
    def __get__(self, client: Awaiting, owner: Any) -> Callable[P, AsyncGenerator[Row, None]]: ...
    @overload
    def __get__(self, client: Waiting, owner: Any) -> Callable[P, Generator[Row, None, None]]: ...
    def __get__(self, client: Any, owner: Any) -> Any:
        """Bind the verb to a client."""
        return _bound(self._build, client, "every", self._rows)


class Batched(Generic[P, Answer]):
    """A method that sends as many calls as there are batches of what it is given first."""

    def __init__(
        self,
        build: Callable[Concatenate[Sequence[str], P], Call[Answer]],
        size: int,
        join: Callable[[Sequence[Answer]], Answer],
    ) -> None:
        self._build = build
        self._size = size
        self._join = join

    @overload
    def __get__(
        self, client: None, owner: Any
    ) -> Callable[Concatenate[Sequence[str], P], Call[Answer]]: ...
    @overload
    def __get__(
        self, client: Awaiting, owner: Any
    ) -> Callable[Concatenate[Sequence[str], P], Coroutine[Any, Any, Answer]]: ...
    @overload
    def __get__(
        self, client: Waiting, owner: Any
    ) -> Callable[Concatenate[Sequence[str], P], Answer]: ...
    def __get__(self, client: Any, owner: Any) -> Any:
        """Bind the verb to a client."""
        if client is None:
            return self._build
        return _bound(self._calls, client, "join", self._join, like=self._build)

    def _calls(self, items: Sequence[str], *args: Any, **kwargs: Any) -> list[Call[Answer]]:
        every = base.listed(items)
        starts = range(0, len(every), self._size)
        return [self._build(every[at : at + self._size], *args, **kwargs) for at in starts]


class Heard(Generic[P]):
    """A method that listens."""

    def __init__(self, build: Callable[P, Call[None]]) -> None:
        self._build = build

    @overload
    def __get__(self, client: None, owner: Any) -> Callable[P, Call[None]]: ...
    @overload
    def __get__(self, client: Awaiting, owner: Any) -> Callable[P, AsyncGenerator[Event, None]]: ...
    @overload
    def __get__(self, client: Waiting, owner: Any) -> Callable[P, Generator[Event, None, None]]: ...
    def __get__(self, client: Any, owner: Any) -> Any:
        """Bind the verb to a client."""
        return _bound(self._build, client, "hear")


def _bound(build: Any, client: Any, how: str, *more: Any, like: Any = None) -> Any:
    if client is None:
        return build
    like = like or build

    @wraps(like)
    def method(*args: Any, **kwargs: Any) -> Any:
        return getattr(client, how)(build(*args, **kwargs), *more)

    # What comes back is not what the description of the call says.
    method.__annotations__ = {**like.__annotations__, "return": Any}
    return method


class Verbs:
    """Every call of the REST API by its name."""

    health = Verb(base.health)
    me = Verb(base.me)

    jobs = Every(job_calls.jobs, job_calls.job_rows)
    jobs_page = Verb(job_calls.jobs)
    job = Verb(job_calls.job)
    add_job = Verb(job_calls.add_job)
    change_job = Verb(job_calls.change_job)
    delete_job = Verb(job_calls.delete_job)
    pause = Verb(job_calls.pause)
    resume = Verb(job_calls.resume)
    cancel = Verb(job_calls.cancel)
    clear = Verb(job_calls.clear)
    job_pages = Every(job_calls.job_pages, job_calls.page_rows)
    job_pages_page = Verb(job_calls.job_pages)
    job_rejects = Every(job_calls.job_rejects, job_calls.reject_rows)
    job_rejects_page = Verb(job_calls.job_rejects)
    job_linked = Verb(job_calls.job_linked)

    explain = Verb(page_calls.explain)
    archived = Verb(page_calls.archived)
    lookup = Batched(page_calls.lookup, MAX_LOOKUP, LookupAnswer.joined)
    resolve = Verb(page_calls.resolve)
    resolved = Verb(page_calls.resolved)
    fetch = Verb(page_calls.fetch)
    try_rules = Verb(page_calls.try_rules)

    nodes = Verb(node_calls.nodes)
    node = Verb(node_calls.node)
    workers = Verb(node_calls.workers)
    start_workers = Verb(node_calls.start_workers)
    stop_worker = Verb(node_calls.stop_worker)
    logs = Verb(node_calls.logs)

    settings = Verb(site_calls.settings)
    setting = Verb(site_calls.setting)
    set_setting = Verb(site_calls.set_setting)
    unset_setting = Verb(site_calls.unset_setting)
    aliases = Verb(site_calls.aliases)
    undo_alias = Verb(site_calls.undo_alias)

    events = Heard(event_calls.events)
    webhooks = Verb(event_calls.webhooks)
    add_webhook = Verb(event_calls.add_webhook)
    delete_webhook = Verb(event_calls.delete_webhook)
    stats = Verb(event_calls.stats)
    series = Verb(event_calls.series)
