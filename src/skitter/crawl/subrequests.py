"""What the scripts of a page in the browser get: asked for as the crawl asks for its pages.

A page with all it loads is one visit: these requests keep no delay between them, but few go to one
host at a time, robots.txt is asked about each, and the same script is not fetched for every page.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Final, Protocol
from weakref import WeakValueDictionary

from skitter.clock import Clock
from skitter.crawl.windows import PutOff
from skitter.errors import FetchError, FrontierError
from skitter.fetch.base import Fetcher, FetchLimits, Request, Response
from skitter.fetch.browser.base import Answered, Wanted
from skitter.fetch.browser.rules import may_be_read, told
from skitter.fetch.redirects import Follow, NotRedirect, next_hop
from skitter.job.spec import Job
from skitter.types import HostKey
from skitter.url.host import host_key, origin

MOST_HOPS: Final = 5
AT_ONCE: Final = 2
"""Requests of pages in the browser to one host at a time, or ``polite.per_host`` if it is more."""
KEPT_BYTES: Final = 32 * 1024 * 1024
KEPT_S: Final = 600.0
"""How long a script is kept for further pages."""
_FAILURES: Final = (FetchError, FrontierError, PutOff)


class Access(Protocol):
    """Who may be asked, and as whom."""

    async def allows(self, url: str, host: HostKey) -> bool:
        """Tell whether a URL may be asked for at all."""

    def headers(self, url: str, host: HostKey) -> Mapping[str, str]:
        """Return what is sent along."""

    def ready(self, host: HostKey) -> Callable[[], Awaitable[None]] | None:
        """Return what to await right before a request is written."""

    def permit(self) -> None:
        """Raise when the visit is not ours any more."""

    def answered(self, host: HostKey, response: Response) -> None:
        """Take note of an answer."""


class SubRequests:
    """Makes the requests that pages of one job cause in the browser."""

    def __init__(self, job: Job, fetcher: Fetcher, clock: Clock) -> None:
        self._http = job.http
        self._fetcher = fetcher
        self._at_once = max(AT_ONCE, job.polite.per_host)
        self._scripts = ScriptCache(clock)
        self._hosts: WeakValueDictionary[HostKey, asyncio.Semaphore] = WeakValueDictionary()
        self._wanted: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()
        """By URL and asker: who fetches a script while others wait for it."""

    async def ask(self, access: Access, wanted: Wanted) -> Answered | None:
        """Get something for a page; None when that may not or cannot be."""
        if not wanted.is_script:
            return await self._get(access, wanted)
        key = _key(access, wanted)
        async with self._wanted.setdefault(key, asyncio.Lock()):
            found = self._scripts.get(key)
            if found is None:
                found = await self._get(access, wanted)
                if found is not None:
                    self._scripts.keep(key, found)
        return found if found is not None and len(found.body) <= wanted.most_bytes else None

    async def _get(self, access: Access, wanted: Wanted) -> Answered | None:
        way = _Way(wanted)
        for _ in range(MOST_HOPS + 1):
            try:
                response = await self._request(access, wanted, way)
            except _FAILURES:
                return None
            hop = None if response is None else next_hop(way.url, response)
            if isinstance(hop, Follow):
                way.go_on(hop.url)
            elif response is not None and isinstance(hop, NotRedirect):
                return _answered(response) if way.lets_read(response) else None
            else:
                return None
        return None

    async def _request(self, access: Access, wanted: Wanted, way: "_Way") -> Response | None:
        url, host = way.url, host_key(way.url)
        if not await access.allows(url, host):
            return None
        async with self._hosts.setdefault(host, asyncio.Semaphore(self._at_once)):
            request = Request(
                url=url,
                headers=_merged(way.headers(), access.headers(url, host)),
                limits=self._limits(wanted.most_bytes),
                permit=access.permit,
                ready=access.ready(host),
            )
            response = await self._fetcher.fetch(request)
        access.answered(host, response)
        return response

    def _limits(self, most_bytes: int) -> FetchLimits:
        http = self._http
        return FetchLimits(
            connect_s=min(http.connect_timeout, http.timeout),
            first_byte_s=min(http.first_byte_timeout, http.timeout),
            total_s=http.timeout,
            header_bytes=http.max_header_bytes,
            body_bytes=min(http.max_bytes, most_bytes),
        )


class _Way:
    """The redirects of one request: where it is, and as whose it goes on."""

    def __init__(self, wanted: Wanted) -> None:
        self.url = wanted.url.partition("#")[0]
        self._wanted = wanted
        self._reader = wanted.headers.get("origin") or origin(self.url)
        self._crossed = False

    def go_on(self, url: str) -> None:
        """Take the next step."""
        here = origin(self.url)
        if here != origin(url):
            self._crossed = True
            if here != self._reader:
                # Neither of them speaks for the page (Fetch standard, HTTP-redirect fetch).
                self._reader = "null"
        self.url = url

    def headers(self) -> Mapping[str, str]:
        """Return the page's own headers; another origin gets none that may be secret."""
        said = self._wanted.headers
        if origin(self.url) == origin(self._wanted.url):
            return said
        kept = {"accept": said["accept"]} if "accept" in said else {}
        return kept if self._wanted.is_script else {**kept, "origin": self._reader}

    def lets_read(self, response: Response) -> bool:
        """Tell whether the page may have the answer at the end."""
        is_script = self._wanted.is_script
        return not self._crossed or may_be_read(response.headers, self._reader, is_script=is_script)


def _key(access: Access, wanted: Wanted) -> Hashable:
    """Return what an answer depends on: one that is for our own sites is for their pages alone."""
    ours = access.headers(wanted.url, host_key(wanted.url))
    return wanted.url, wanted.headers.get("origin"), frozenset(ours.items())


def _merged(of_page: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """Return what is sent: where both say something, we do."""
    taken = {name.lower() for name in ours}
    return {**{name: of_page[name] for name in of_page if name not in taken}, **ours}


def _answered(response: Response) -> Answered:
    headers = told(response.headers)
    cache = response.headers.get("cache-control")
    if cache is not None:
        headers["cache-control"] = cache
    return Answered(status=response.status, headers=headers, body=response.body)


class ScriptCache:
    """The scripts that pages have in common, for a while and up to a size."""

    def __init__(self, clock: Clock, most_bytes: int = KEPT_BYTES) -> None:
        self._clock = clock
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Hashable, tuple[float, Answered]] = OrderedDict()

    def get(self, key: Hashable) -> Answered | None:
        """Return a script that is kept."""
        found = self._kept.get(key)
        if found is None:
            return None
        at, answer = found
        if self._clock.boot() - at > KEPT_S:
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return answer

    def keep(self, key: Hashable, answer: Answered) -> None:
        """Keep a script that came, unless its server forbids that."""
        if answer.status != 200 or "no-store" in answer.headers.get("cache-control", ""):
            return
        if key in self._kept:
            self._drop(key)
        self._kept[key] = (self._clock.boot(), answer)
        self._bytes += len(answer.body)
        while self._bytes > self._most_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Hashable) -> None:
        _, answer = self._kept.pop(key)
        self._bytes -= len(answer.body)
