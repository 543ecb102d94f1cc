"""The browser of one process: started with the first page, a few pages at once, renewed.

A browser belongs to its process by a pipe: however that ends, the browser ends with it.
"""

import asyncio
import logging
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from skitter.errors import RenderError
from skitter.fetch.browser.base import Rendered, Sheet
from skitter.fetch.browser.chromium import (
    ARGUMENTS,
    Nowhere,
    bound_memory,
    browser_environment,
    find_chromium,
)

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

PAGES_AT_ONCE: Final = 4
PAGES_A_BROWSER: Final = 500
"""After so many pages another browser takes over: what they leak goes with the old one."""
TRIES: Final = 2
START_S: Final = 60.0
STOP_S: Final = 5.0

log = logging.getLogger(__name__)


class Chromium:
    """Shows pages in one browser after the other."""

    def __init__(
        self,
        executable: Path | None = None,
        *,
        at_once: int = PAGES_AT_ONCE,
        pages: int = PAGES_A_BROWSER,
    ) -> None:
        self._executable = executable
        self._room = asyncio.Semaphore(at_once)
        self._pages = pages
        self._starting = asyncio.Lock()
        self._running: _Running | None = None
        self._retired: set[_Running] = set()
        self._closed = False

    async def render(self, sheet: Sheet) -> Rendered:
        """Return what becomes of a page; one that dies with its browser has a second try."""
        from skitter.fetch.browser.page import BrowserDied, render_page  # noqa: PLC0415  heavy

        why = ""
        async with self._room:
            for _ in range(TRIES):
                running = await self._browser(sheet.url)
                try:
                    return await render_page(running.browser, sheet, running.spend)
                except BrowserDied as died:
                    why = str(died)
                    log.info("the browser gave up %s: %s", sheet.url, why)
                    running.spend()
                except BaseException:
                    if not running.browser.is_connected():
                        running.spend()
                    raise
                finally:
                    running.under_way -= 1
                    await self._tend(running)
        raise RenderError(sheet.url, f"the browser died with it: {why}")

    async def close(self) -> None:
        """End the browser; idempotent."""
        self._closed = True
        running, self._running = self._running, None
        for one in [*self._retired, *([] if running is None else [running])]:
            await one.stop()
        self._retired.clear()

    async def _browser(self, url: str) -> "_Running":
        async with self._starting:
            if self._closed:
                raise RenderError(url, "the browser is closed")
            running = self._running
            if running is not None and (running.is_spent or running.begun >= self._pages):
                self._running = None
                self._retired.add(running)
                await self._tend(running)
                running = None
            if running is None:
                running = self._running = await self._start(url)
            running.begun += 1
            running.under_way += 1
            return running

    async def _start(self, url: str) -> "_Running":
        from playwright.async_api import Error  # noqa: PLC0415  heavy, and for some jobs alone

        executable = self._executable or find_chromium()
        try:
            async with asyncio.timeout(START_S):
                return await _Running.start(executable)
        except (Error, OSError, TimeoutError) as error:
            lines = str(error).strip().splitlines() or ["no answer in time"]
            raise RenderError(url, f"{executable} did not start: {lines[0]}") from error

    async def _tend(self, running: "_Running") -> None:
        """End a browser that nobody needs any more."""
        if running in self._retired and not running.under_way:
            self._retired.discard(running)
            await running.stop()


class _Running:
    """A browser that was started, and what speaks to it."""

    def __init__(self, playwright: "Playwright", browser: "Browser", belongings: ExitStack) -> None:
        self._playwright = playwright
        self.browser = browser
        self._belongings = belongings
        self.begun = 0
        self.under_way = 0
        self.is_spent = False

    def spend(self) -> None:
        """Take no further pages: it is gone, or does not answer."""
        self.is_spent = True

    @classmethod
    async def start(cls, executable: Path) -> "_Running":
        from playwright.async_api import async_playwright  # noqa: PLC0415  heavy

        belongings = ExitStack()
        nowhere = Nowhere()
        belongings.callback(nowhere.close)
        playwright = None
        try:
            home = TemporaryDirectory(prefix="skitter-browser-", ignore_cleanup_errors=True)
            belongings.enter_context(home)
            playwright = await async_playwright().start()
            bound_memory()
            browser = await playwright.chromium.launch(
                executable_path=executable,
                args=list(ARGUMENTS),
                proxy={"server": nowhere.url},
                env=browser_environment(home.name),
                # The superuser cannot have it.
                chromium_sandbox=os.geteuid() != 0,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
        except BaseException:
            if playwright is not None:
                await playwright.stop()
            belongings.close()
            raise
        return cls(playwright, browser, belongings)

    async def stop(self) -> None:
        """End the browser, also one that does not answer: it ends with what speaks to it."""
        from skitter.fetch.browser.page import LOST  # noqa: PLC0415  loaded by now

        for end in (self.browser.close, self._playwright.stop):
            with suppress(*LOST, TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await end()
        self._belongings.close()
