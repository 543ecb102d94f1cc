"""The browser of a process: all its jobs share it, and the last that closes ends it."""

from skitter.crawl.rendering import is_rendered
from skitter.fetch.browser.chromium import find_chromium
from skitter.fetch.browser.pool import Chromium
from skitter.job.spec import Job


class Browsers:
    """Has a browser ready while some job wants one; it starts with the first page."""

    def __init__(self) -> None:
        self._users = 0
        self._shared: Chromium | None = None

    def of(self, job: Job) -> Chromium | None:
        """Return the browser for a job; None for one that wants none. ``leave`` it later."""
        if not is_rendered(job):
            return None
        self._users += 1
        self._shared = self._shared or Chromium()
        return self._shared

    async def leave(self, browser: Chromium) -> None:
        """End the browser when nobody else has it."""
        self._users -= 1
        if not self._users:
            self._shared = None
            await browser.close()


def refuse_without_browser(job: Job) -> None:
    """Raise when a job wants a browser and this machine has none."""
    if is_rendered(job):
        find_chromium()
