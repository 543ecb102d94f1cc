"""How hosts are treated: robots rules, pace and dead hosts, for the visits of one job."""

import random
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from skitter.clock import Clock
from skitter.crawl.gather import Gather
from skitter.crawl.keep import Keeper
from skitter.crawl.site_rules import SiteRules
from skitter.crawl.trip import Kept
from skitter.errors import AddressRefused, FetchError, FetchTimeout
from skitter.fetch.base import Fetcher, Request, Response
from skitter.fetch.redirects import Follow, next_hop
from skitter.frontier.base import Frontier, FrontierReader
from skitter.frontier.model import Freed
from skitter.job.spec import Job
from skitter.politeness.dead_hosts import DeadHosts
from skitter.politeness.pace import HostPace, PaceOptions, Verdict
from skitter.politeness.robots_cache import Lead, RobotsCache, RobotsOptions
from skitter.politeness.robots_entry import AgentRobots
from skitter.politeness.robots_reply import RobotsReply
from skitter.types import HostKey
from skitter.url.host import host_key, origin

ROBOTS_HOPS = 5
ROBOTS_BYTES = 512 * 1024
"""A little over what is read of a robots.txt; an endless one is cut there, not refused."""
PACES_KEPT = 100_000
LATELY_S = 10.0
"""A host may have been told a delay this long ago that was out of date by then."""
THROTTLED = frozenset({429, 503})
_NO_HOST = HostKey("")

Send = Callable[[Request], Awaitable[Response]]
"""Makes one request."""


class Manners:
    """The host-level state of a crawl."""

    def __init__(
        self,
        job: Job,
        *,
        fetcher: Fetcher,
        reader: FrontierReader,
        clock: Clock,
        rng: random.Random,
        keeper: Keeper | None = None,
    ) -> None:
        self.sites = SiteRules(job)
        """What is set for sites; the job's own view of it is put here."""
        self._stored = Gather(reader.marks_of)
        self._sharing: Gather[None, None] | None = None
        self._clock = clock
        self._rng = rng
        self._obeys = job.polite.robots
        self.pace_options = PaceOptions(
            delay_s=job.polite.delay,
            per_host=job.polite.per_host,
            adaptive=job.polite.adaptive,
        )
        self._ask = partial(self._fetch_robots, fetcher.fetch)
        self._caches: dict[str, RobotsCache] = {}
        """The rules of sites for each name that we go by."""
        self._lately: OrderedDict[HostKey, _Told] = OrderedDict()
        self._paces: OrderedDict[HostKey, HostPace] = OrderedDict()
        self._unsaved: dict[str, bytes] = {}
        self._forbidden: dict[str, str] = {}
        """Sites at addresses the operator has not allowed, with the guard's words."""
        self._rests: dict[str, int] = {}
        self.asked = 0
        """Robots.txt files asked for, since whoever counts them has looked."""
        self._keeper = keeper
        self._kept: list[Kept] = []
        self.dead = DeadHosts(clock)

    def robots_at_hand(self, url: str) -> AgentRobots | None:
        """Return the rules for ``url`` if they are in memory.

        Raises ``AddressRefused`` for a site the guard has refused: that is the reason to give,
        not that its robots.txt could not be read.
        """
        site = origin(url)
        if site in self._forbidden:
            raise AddressRefused(url, self._forbidden[site])
        return self._robots(url).peek(site)

    def _robots(self, url: str) -> RobotsCache:
        """Return the rules for the name by which the host of ``url`` is asked."""
        agent = self.sites.agent(host_key(url) if self.sites.renames else _NO_HOST)
        found = self._caches.get(agent)
        if found is None:
            # A crawl has an end: a site whose robots.txt cannot be read is asked again within
            # seconds.
            options = RobotsOptions(unavailable_first_s=5.0)
            found = self._caches[agent] = RobotsCache(self._ask, agent, self._clock, options)
        return found

    @property
    def obeys_robots(self) -> bool:
        """Whether the job asks robots.txt at all."""
        return self._obeys

    async def robots_known(self, url: str) -> AgentRobots | None:
        """Return the rules for ``url`` if they are in memory or in the store."""
        return self._robots(url).peek(origin(url)) or await self.robots_stored(url)

    async def robots_stored(self, url: str) -> AgentRobots | None:
        """Return the rules for ``url`` if the store has them from an earlier run."""
        site = origin(url)
        [stored] = await self._stored([robots_mark(site)])
        if stored is not None and self._robots(url).load(site, stored):
            return self._robots(url).peek(site)
        return None

    async def ask_robots(self, url: str, lead: Lead | None = None) -> AgentRobots:
        """Return the rules for ``url``, requesting them from the site.

        Of several callers the first does so for all; ``lead`` says how.
        """
        site = origin(url)
        found = await self._robots(url).get(site, lead or self.request_robots)
        if site in self._forbidden:
            raise AddressRefused(url, self._forbidden[site])
        return found

    async def request_robots(self, site: str, send: Send | None = None) -> AgentRobots:
        """Ask a site for its rules; ``send`` makes the requests, those of redirects as well."""
        fetch = None if send is None else partial(self._fetch_robots, send)
        cache = self._robots(f"{site}/")
        found = await cache.request(site, fetch)
        exported = cache.export(site)
        if exported is not None and site not in self._forbidden:
            self._unsaved[robots_mark(site)] = exported
        return found

    def is_kept(self, site: str) -> bool:
        """Tell whether the rules of a site are, or will be, in the store."""
        is_known = self._robots(f"{site}/").peek(site) is not None
        return is_known and site not in self._forbidden

    async def share_robots(self, frontier: Frontier) -> None:
        """Store what was asked for; many sites at once where many are new."""
        if self._sharing is None:
            self._sharing = Gather(partial(self._share, frontier))
        await self._sharing([None])

    async def _share(self, frontier: Frontier, whose: Sequence[None]) -> Sequence[None]:
        await frontier.ack([], marks=self.take_marks())
        return whose

    def robots_lock(self, site: str) -> str:
        """Return the name of the lock under which one process asks a site for its rules."""
        return f"{robots_mark(site)} {self._robots(f'{site}/').token}"

    def take_marks(self) -> dict[str, bytes]:
        """Return what is to be kept with the next ack."""
        marks, self._unsaved = self._unsaved, {}
        return marks

    def take_kept(self) -> list[Kept]:
        """Return the exchanges about robots.txt since the last call, for the archive."""
        kept, self._kept = self._kept, []
        return kept

    async def _fetch_robots(self, send: Send, url: str) -> RobotsReply:
        self.asked += 1
        at = url
        for _ in range(ROBOTS_HOPS + 1):
            try:
                response = await send(
                    Request(
                        url=at,
                        headers=self.sites.agent_header(host_key(at)),
                        cut_bytes=ROBOTS_BYTES,
                        keep_raw=self._keeper is not None,
                    )
                )
            except AddressRefused as refusal:
                if at == url:
                    self._forbidden[origin(url)] = refusal.why
                raise
            if self._keeper is not None and response.raw is not None:
                self._kept.append(self._keeper.keep(response))
            hop = next_hop(at, response)
            if not isinstance(hop, Follow):
                break
            at = hop.url
        if response.status in THROTTLED:
            verdict = self.answered(host_key(at), response)
            self._rests[origin(url)] = verdict.next_allowed_ms
        return RobotsReply(status=response.status, body=response.body, redirected=at != url)

    def rests_until_ms(self, url: str) -> int:
        """Return when a site whose robots.txt request was throttled may be asked again."""
        return self._rests.get(origin(url), 0)

    def crawl_delay(self, url: str) -> float | None:
        """Return the delay robots.txt asks for, if it is known."""
        if not self._obeys:
            return None
        robots = self._robots(url).peek(origin(url))
        return robots.crawl_delay if robots is not None else None

    def _options(self, host: HostKey) -> PaceOptions:
        """Return the pace that is asked for: what is set for a host, else the job's."""
        if not self.sites.any:
            return self.pace_options
        found = self.sites.of(host)
        job = self.pace_options
        return replace(
            job,
            delay_s=job.delay_s if found.delay is None else found.delay,
            per_host=found.per_host or job.per_host,
        )

    def per_host(self, host: HostKey) -> int:
        """Return how many requests to a host may be under way."""
        return self.sites.of(host).per_host or self.pace_options.per_host

    def pace(self, host: HostKey) -> HostPace:
        """Return a host's pace."""
        found = self._paces.get(host)
        if found is None:
            found = self._paces[host] = HostPace(self.pace_options, self._rng)
            if len(self._paces) > PACES_KEPT:
                self._paces.popitem(last=False)
        found.options = self._options(host)
        return found

    def delay(self, host: HostKey, url: str) -> Verdict:
        """Return what follows from a request that was answered a moment ago and taught nothing."""
        now_ms = self._clock.now_ms()
        pace, crawl_delay = self.pace(host), self.crawl_delay(url)
        delay_ms = pace.effective_delay_ms(crawl_delay)
        floor_ms = pace.floor_ms(crawl_delay)
        return self._told(host, Verdict(now_ms + delay_ms, delay_ms, None, "", floor_ms=floor_ms))

    def _told(self, host: HostKey, verdict: Verdict) -> Verdict:
        """Remember what the store is about to be told of a host."""
        boot, lately = self._clock.boot(), self._lately
        per_host = self.sites.of(host).per_host
        lately[host] = _Told(boot, verdict.delay_ms, verdict.floor_ms, per_host)
        lately.move_to_end(host)
        while next(iter(lately.values())).boot < boot - LATELY_S:
            lately.popitem(last=False)
        return verdict

    def retuned(self) -> Iterator[Freed]:
        """Yield what the store was told of hosts lately, as it has to be by the settings of now.

        It may have come there after somebody changed them, and before this process heard of it.
        """
        for host, told in self._lately.items():
            set_ms = round(self._options(host).delay_s * 1000)
            delay_ms = max(set_ms, told.floor_ms)
            if delay_ms != told.delay_ms:
                yield Freed(0, host, delay_ms, floor_ms=told.floor_ms, retuned=True)
            if self.sites.of(host).per_host != told.per_host:
                yield Freed(0, host, per_host=self.per_host(host))
        self._lately.clear()

    def answered(self, host: HostKey, response: Response) -> Verdict:
        """Take note of a response."""
        self.dead.succeeded(host)
        verdict = self.pace(host).on_response(
            response.status,
            response.elapsed_ms,
            response.headers.get("retry-after"),
            self._clock.now_ms(),
            crawl_delay_s=self.crawl_delay(response.url),
        )
        return self._told(host, verdict)

    def faulted(self, host: HostKey, error: FetchError) -> Verdict:
        """Take note of a request that brought nothing; a dead host rests until it may be tried."""
        verdict = self.delay(host, error.url)
        if error.host_fault or isinstance(error, FetchTimeout):
            crawl_delay = self.crawl_delay(error.url)
            verdict = self.pace(host).on_fault(self._clock.now_ms(), crawl_delay_s=crawl_delay)
            self._told(host, verdict)
        dead_until = self.dead.failed(host) if error.host_fault else None
        if dead_until is None:
            return verdict
        return verdict._replace(
            next_allowed_ms=max(verdict.next_allowed_ms, dead_until),
            held_until_ms=max(verdict.held_until_ms, dead_until),
        )


class _Told(NamedTuple):
    """What the store was told of a host."""

    boot: float
    delay_ms: int
    floor_ms: int
    per_host: int | None
    """As it was set for the host."""


def robots_mark(site: str) -> str:
    """Return the name under which the rules of a site are kept."""
    return f"robots:{site}"
