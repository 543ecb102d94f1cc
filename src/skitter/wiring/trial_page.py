"""Fetches the one page that rules are tried on, as gently as a crawl would."""

import asyncio
import time
from collections.abc import Mapping
from urllib.parse import urljoin

from skitter.config import RunOptions
from skitter.errors import ConfigError, FetchError
from skitter.fetch.base import Fetcher, Request, Response
from skitter.job.spec import Job
from skitter.politeness.robots import RobotsRules
from skitter.politeness.robots_pattern import path_of
from skitter.types import HostKey
from skitter.url.host import host_key, origin
from skitter.url.scope import Scope, ScopeKind
from skitter.wiring.browsers import Browsers
from skitter.wiring.parts import make_fetcher
from skitter.wiring.render_once import PlainAccess, shown

MOST_REDIRECTS = 5
LONGEST_DELAY_S = 30.0
"""What robots.txt may ask for at most, as in a crawl."""


async def fetched(job: Job, target: str, options: RunOptions) -> tuple[str, bytes, str | None]:
    """Return where a page was found, its bytes and its media type; robots.txt is asked first."""
    fetcher = make_fetcher(job, options)
    try:
        errand = Errand(job, fetcher)
        url, response = await errand.run(target)
        response = await shown(job, response, errand.access(url), fetcher, Browsers())
    except FetchError as error:
        raise ConfigError(f"{error.url}: {error.why}") from error
    finally:
        await fetcher.close()
    if response.status != 200:
        raise ConfigError(f"{url}: status {response.status}; wanted a page that is there")
    return url, response.body, response.read_as


class Errand:
    """The requests for one page: those to a host have the job's delay between them."""

    def __init__(self, job: Job, fetcher: Fetcher) -> None:
        self._job = job
        self._fetcher = fetcher
        self._home = Scope(ScopeKind.DOMAIN, job.entries)
        self._delays: dict[HostKey, float] = {}
        self._asked: dict[HostKey, float] = {}
        self._robots: dict[str, RobotsRules | None] = {}

    async def run(self, target: str) -> tuple[str, Response]:
        """Return where the page is, and the answer; raises ``ConfigError`` when it is forbidden."""
        url = target
        for _ in range(MOST_REDIRECTS):
            await self._heed_robots(url)
            downgraded = target.startswith("https") and not url.startswith("https")
            response = await self._ask(url, self._headers(url, own=not downgraded))
            location = response.headers.get("location")
            if response.status not in range(300, 400) or not location:
                break
            url = urljoin(url, location)
        return url, response

    def access(self, page: str) -> PlainAccess:
        """Return what the scripts of a page may ask for."""
        is_open, at_home = not page.startswith("https"), self._home.contains(page)
        return PlainAccess(
            self._allows,
            lambda url: self._headers(url, own=at_home and (is_open or url.startswith("https"))),
        )

    async def _allows(self, url: str) -> bool:
        try:
            await self._heed_robots(url)
        except ConfigError:
            return False
        return True

    def _headers(self, url: str, *, own: bool) -> Mapping[str, str]:
        host, http = host_key(url), self._job.http
        named = {"User-Agent": http.agent_for(host)}
        if not own or not self._home.contains(url, host):
            return named
        return {**http.own_headers().for_url(url, time.time()), **named}

    async def _heed_robots(self, url: str) -> None:
        if not self._job.polite.robots:
            return
        site = origin(url)
        if site not in self._robots:
            self._robots[site] = await self._ask_robots(site)
        rules, agent = self._robots[site], self._job.http.agent_for(host_key(url))
        if rules is None:
            return
        said = rules.for_agent(agent)
        self._delays[host_key(url)] = min(said.crawl_delay or 0.0, LONGEST_DELAY_S)
        if not said.decide(path_of(url)).allowed:
            raise ConfigError(f"{url}: robots.txt forbids it; save the page and name the file")

    async def _ask_robots(self, site: str) -> RobotsRules | None:
        url = f"{site}/robots.txt"
        response = await self._ask(url, self._headers(url, own=False))
        if response.status >= 500:
            raise ConfigError(
                f"{url}: status {response.status}, which forbids all; try again later"
            )
        if response.status != 200:
            return None
        return RobotsRules.parse(response.body.decode("utf-8", "replace"))

    async def _ask(self, url: str, headers: Mapping[str, str]) -> Response:
        host = host_key(url)
        delay_s = max(self._job.polite.delay, self._delays.get(host, 0.0))
        before = self._asked.get(host)
        if before is not None:
            await asyncio.sleep(before + delay_s - time.monotonic())
        try:
            return await self._fetcher.fetch(Request(url=url, headers=headers))
        finally:
            self._asked[host] = time.monotonic()
