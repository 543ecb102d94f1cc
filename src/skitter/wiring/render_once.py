"""A page that somebody looks at by itself, read as a browser shows it where its job says so."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from skitter.clock import SystemClock
from skitter.crawl.link_rules import LinkRules
from skitter.crawl.rendering import can_be_rendered, render, wants_rendered
from skitter.crawl.subrequests import SubRequests
from skitter.fetch.base import Fetcher, Response
from skitter.job.spec import Job
from skitter.types import HostKey
from skitter.url.host import host_key
from skitter.wiring.browsers import Browsers, refuse_without_browser


class PlainAccess:
    """Who may be asked for such a page, and as whom."""

    def __init__(
        self,
        allows: Callable[[str], Awaitable[bool]],
        headers: Callable[[str], Mapping[str, str]],
    ) -> None:
        self._allows = allows
        self._headers = headers

    async def allows(self, url: str, _: HostKey) -> bool:
        """Tell whether a URL may be asked for at all."""
        return await self._allows(url)

    def headers(self, url: str, _: HostKey) -> Mapping[str, str]:
        """Return what is sent along."""
        return self._headers(url)

    def ready(self, _: HostKey) -> Callable[[], Awaitable[None]] | None:
        """Wait for nothing: it is one page."""
        return None

    def permit(self) -> None:
        """Let it be asked: nobody else has the page."""

    def answered(self, host: HostKey, response: Response) -> None:
        """Take note of nothing: nothing else is asked."""


async def shown(
    job: Job, response: Response, access: PlainAccess, fetcher: Fetcher, browsers: Browsers
) -> Response:
    """Return what is read of a page; raises ``ConfigError`` when a browser is wanted and missing.

    Raises ``RenderError`` when it could not show the page.
    """
    url, host = response.url, host_key(response.url)
    links = LinkRules(job.links) if job.links else None
    if not can_be_rendered(response) or not wants_rendered(job, links, url, host):
        return response
    refuse_without_browser(job)
    browser = browsers.of(job)
    assert browser is not None
    try:
        ask = partial(SubRequests(job, fetcher, SystemClock()).ask, access)
        return (await render(browser, job, response, job.http.agent_for(host), ask))[0]
    finally:
        await browsers.leave(browser)
