"""Which pages of a job are read as a browser shows them, and how they come into it and out again.

The page is fetched like any other: robots.txt, pace, redirects, caps and the archive are not
touched. What the scripts have made of it is then read in place of what was received.
"""

import codecs
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

import msgspec

from skitter.crawl.equipment import Equipment
from skitter.crawl.link_rules import LinkRules
from skitter.crawl.manners import THROTTLED
from skitter.crawl.subrequests import SubRequests
from skitter.crawl.trip import Trip
from skitter.errors import BodyTooLarge
from skitter.fetch.base import Response
from skitter.fetch.browser.base import Ask, Rendered, Renderer, Sheet
from skitter.frontier.model import Lease
from skitter.job.secrets import OwnHeaders
from skitter.job.spec import Job
from skitter.parse.encoding import sniff_encoding
from skitter.parse.media import read_content_type
from skitter.types import HostKey

log = logging.getLogger(__name__)

PAGE_S: Final = 15.0
"""How long a page may be busy in the browser, or ``http.timeout`` if that is less."""
_NO_HEADERS: Mapping[str, str] = {}


def is_rendered(job: Job) -> bool:
    """Tell whether a job wants a browser for some of its pages."""
    return job.http.render or any(rule.render for rule in job.links)


def wants_rendered(
    job: Job, links: LinkRules | None, url: str, host: HostKey, data: bytes = b""
) -> bool:
    """Tell whether a page is read as a browser shows it; ``data`` is what its link has told."""
    said = None if links is None else links.renders_page(url, host, data)
    return job.http.render if said is None else said


def can_be_rendered(response: Response) -> bool:
    """Tell whether an answer is a page that a browser could show."""
    is_page = response.status == 200 and read_content_type(response.read_as).is_html
    return is_page and bool(response.body)


async def render(
    renderer: Renderer, job: Job, response: Response, agent: str, ask: Ask
) -> tuple[Response, Rendered]:
    """Return a response with the body that a browser has made of it; raises ``RenderError``."""
    encoding = sniff_encoding(response.body, response.read_as)
    rendered = await renderer.render(
        Sheet(
            url=response.url,
            body=response.body,
            encoding=encoding,
            agent=agent,
            time_s=min(PAGE_S, job.http.timeout),
            ask=ask,
        )
    )
    body, encoding = encoded(rendered.text, encoding)
    if len(body) > job.http.max_bytes:
        why = f"{len(body)} bytes in the browser, more than the cap of {job.http.max_bytes}"
        raise BodyTooLarge(response.url, why)
    headers = {**response.headers, "content-type": f"text/html; charset={encoding}"}
    return msgspec.structs.replace(response, body=body, headers=headers), rendered


def encoded(text: str, encoding: str) -> tuple[bytes, str]:
    """Return the text of a page in its encoding, or else in UTF-8, and in which of them.

    Links are read by the encoding of their page, so it has to stay what it was.
    """
    try:
        # It is told from what pages say of themselves, too, and UTF-8 needs no telling.
        codec = codecs.lookup("gb18030" if encoding in ("gbk", "gb2312") else encoding)
        body = text.encode(codec.name, "xmlcharrefreplace")
    except (LookupError, ValueError):
        return text.encode("utf-8", "replace"), "utf-8"
    content_type = f"text/html; charset={encoding}"
    if sniff_encoding(body, content_type) != encoding:
        return text.encode("utf-8", "replace"), "utf-8"
    return body, encoding


class Rendering:
    """Shows the pages of one job in a browser, those that are to be."""

    def __init__(self, equipment: Equipment, renderer: Renderer) -> None:
        self._with = equipment
        self._renderer = renderer
        self._links = equipment.judge.links
        self._requests = SubRequests(equipment.job, equipment.fetcher, equipment.clock)
        self._own = equipment.job.http.own_headers()

    def wants(self, lease: Lease) -> bool:
        """Tell whether the page of a lease is to be shown."""
        return wants_rendered(self._with.job, self._links, lease.url, lease.host, lease.data)

    async def shown(self, trip: Trip, response: Response) -> Response:
        """Return what is read of a page: what came, or what a browser has made of it."""
        if not can_be_rendered(response):
            return response
        agent = self._with.manners.sites.agent(trip.host)
        ask = partial(self._requests.ask, _Access(self._with, trip, self._own))
        job = self._with.job
        shown, rendered = await render(self._renderer, job, response, agent, ask)
        trip.received = response
        if rendered.late:
            log.info("%s was still busy when its time was over; read as it stood", trip.url)
        if rendered.moved_to != trip.url:
            trip.moved_to = rendered.moved_to
        return shown


class _Access:
    """What the page of one visit may ask for."""

    def __init__(self, equipment: Equipment, trip: Trip, own: OwnHeaders) -> None:
        self._with = equipment
        self._trip = trip
        self._own = own

    async def allows(self, url: str, host: HostKey) -> bool:
        """Tell whether settings and robots.txt let a URL be asked for."""
        manners, lease = self._with.manners, self._trip.lease
        if not manners.sites.explain(host, 0).allowed:
            return False
        if manners.obeys_robots:
            robots = manners.robots_at_hand(url) or await manners.robots_stored(url)
            robots = robots or await manners.ask_robots(url)
            if not robots.decide(url).allowed:
                return False
        if self._with.windows is not None:
            await self._with.windows.wait(lease, host, round(PAGE_S * 1000))
        return True

    def headers(self, url: str, host: HostKey) -> Mapping[str, str]:
        """Return the job's headers, for its own sites among themselves, and our name."""
        sites, page, home = self._with.manners.sites, self._trip, self._with.home
        named = sites.agent_header(host) if sites.renames else _NO_HEADERS
        downgraded = page.url.startswith("https") and not url.startswith("https")
        at_home = home.contains(url, host) and home.contains(page.url, page.host)
        if not self._own or downgraded or not at_home:
            return named
        return {**self._own.for_url(url, self._with.clock.now_ms() / 1000), **named}

    def ready(self, host: HostKey) -> Callable[[], Awaitable[None]] | None:
        """Return what counts a request in the windows of its domain."""
        windows = self._with.windows
        return None if windows is None else windows.ready(self._trip.lease, host)

    def permit(self) -> None:
        """Raise when the lease has passed to another process."""
        if self._with.rights is not None:
            self._with.rights.check(self._trip.lease)

    def answered(self, host: HostKey, response: Response) -> None:
        """Slow down where a host asks for it."""
        if response.status in THROTTLED:
            self._with.manners.answered(host, response)
