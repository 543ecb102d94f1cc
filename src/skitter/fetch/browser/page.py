"""One page in the browser: served from what was fetched, watched until nothing more happens."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeVar

from playwright.async_api import Browser, BrowserContext, Error, Page, Request, Route

from skitter.errors import RenderTimeout
from skitter.fetch.browser.base import Answered, Rendered, Sheet, Wanted
from skitter.fetch.browser.rules import (
    Allowance,
    Verdict,
    closed_to_others,
    empty_type,
    judge,
    passed_on,
)

T = TypeVar("T")
log = logging.getLogger(__name__)

QUIET_S: Final = 0.5
"""How long a page has to want nothing of the network until it is read."""
OPEN_S: Final = 20.0
"""How long the browser may take to make room for a page."""
READ_S: Final = 6.0
"""How long a page may take to be read, or to be closed; its scripts may be in an endless loop."""
ASKED_AT_ONCE: Final = 6
"""What one page asks for at a time: so much of it is in memory."""
VIEW: Final = (1280, 1024)
LOST: Final = (Error, RuntimeError, OSError)
"""What calls end with when their page is gone, or the browser, or what speaks to it."""


class BrowserDied(Exception):
    """The browser, or the process of the page in it, is gone or does not answer."""


async def render_page(browser: Browser, sheet: Sheet, stuck: Callable[[], None]) -> Rendered:
    """Show a page in a context of its own; raises ``BrowserDied`` or a ``RenderError``.

    ``stuck`` is called when the browser could not close it.
    """
    context = await _in_time(_new_context(browser, sheet), OPEN_S)
    show = _Show(context, sheet)
    browser.on("disconnected", show.lost)
    try:
        return await show.run()
    finally:
        browser.remove_listener("disconnected", show.lost)
        show.end()
        try:
            await _in_time(context.close(), READ_S)
        except BrowserDied:
            stuck()


async def _new_context(browser: Browser, sheet: Sheet) -> BrowserContext:
    return await browser.new_context(
        user_agent=sheet.agent,
        service_workers="block",
        accept_downloads=False,
        viewport={"width": VIEW[0], "height": VIEW[1]},
    )


async def _in_time(action: Awaitable[T], seconds: float) -> T:
    try:
        async with asyncio.timeout(seconds):
            return await action
    except (*LOST, TimeoutError) as error:
        raise BrowserDied(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or "no answer in time").splitlines()[0]


class _Show:
    """A page while it is shown."""

    def __init__(self, context: BrowserContext, sheet: Sheet) -> None:
        self._context = context
        self._sheet = sheet
        self._page: Page | None = None
        self._allowance = Allowance()
        self._room = asyncio.Semaphore(ASKED_AT_ONCE)
        self._asking: set[asyncio.Task[Answered | None]] = set()
        self._under_way = 0
        self._served = False
        self._stir = asyncio.Event()
        self._loaded = False
        self._crashed = False
        self._moved_to: str | None = None

    async def run(self) -> Rendered:
        """Show the page until it is quiet or its time is over, and read it."""
        late = False
        await _in_time(self._open(), OPEN_S)
        assert self._page is not None
        try:
            async with asyncio.timeout(self._sheet.time_s):
                await self._show(self._page)
        except TimeoutError:
            late = True
        return Rendered(
            text=await self._read(self._page),
            moved_to=self._moved_to,
            asked=self._allowance.asked,
            late=late,
        )

    def end(self) -> None:
        """Break off what is still asked for."""
        for task in self._asking:
            task.cancel()

    async def _open(self) -> None:
        await self._context.route("**/*", self._answer)
        page = self._page = await self._context.new_page()
        self._context.on("page", self._close_other)
        page.on("load", lambda _: self._note(loaded=True))
        page.on("crash", self.lost)

    def lost(self, _: object) -> None:
        """Take note that the browser, or the process of the page, is gone."""
        self._note(crashed=True)

    def _note(self, *, loaded: bool = False, crashed: bool = False) -> None:
        self._loaded |= loaded
        self._crashed |= crashed
        self._stir.set()

    async def _close_other(self, page: Page) -> None:
        with suppress(*LOST):
            await page.close()

    async def _show(self, page: Page) -> None:
        try:
            await page.goto(self._sheet.url, wait_until="commit", timeout=0)
        except LOST as error:
            if not self._served or self._crashed:
                raise BrowserDied(_first_line(error)) from error
        while not self._crashed:
            self._stir.clear()
            if not self._under_way and self._loaded:
                try:
                    await asyncio.wait_for(self._stir.wait(), QUIET_S)
                except TimeoutError:
                    return
            else:
                await self._stir.wait()

    async def _read(self, page: Page) -> str:
        if self._crashed:
            raise BrowserDied("the page has crashed")
        if not self._served:
            raise BrowserDied("the browser did not take the page")
        try:
            async with asyncio.timeout(READ_S):
                return await page.content()
        except TimeoutError as error:
            raise RenderTimeout(self._sheet.url, "its scripts do not let it be read") from error
        except LOST as error:
            raise BrowserDied(_first_line(error)) from error

    async def _answer(self, route: Route, request: Request) -> None:
        """Answer one request of the page; nothing else does."""
        self._under_way += 1
        try:
            await self._answer_by(self._judge(request), route, request)
        except LOST:
            # The page is gone, or has given the request up.
            pass
        finally:
            self._under_way -= 1
            self._note()

    def _judge(self, request: Request) -> Verdict:
        moves = False
        if request.is_navigation_request():
            try:
                frame = request.frame
            except Error:
                # Of a window that the page opens.
                return Verdict.REFUSE
            if self._page is None or frame.page != self._page:
                return Verdict.REFUSE
            moves = frame == self._page.main_frame
        return judge(
            request.resource_type,
            request.method,
            request.url,
            moves_page=moves,
            served=self._served,
        )

    async def _answer_by(self, verdict: Verdict, route: Route, request: Request) -> None:
        match verdict:
            case Verdict.SERVE:
                self._served = True
                kind = f"text/html; charset={self._sheet.encoding}"
                await route.fulfill(status=200, content_type=kind, body=self._sheet.body)
            case Verdict.STAY:
                if request.method == "GET":
                    self._moved_to = self._moved_to or request.url
                # A browser that gets no content stays where it is, and may not tell that it has
                # loaded what it had begun.
                self._loaded = True
                await route.fulfill(status=204)
            case Verdict.EMPTY:
                kind = empty_type(request.resource_type)
                await route.fulfill(status=200, content_type=kind, body="")
            case Verdict.FETCH:
                await self._fetch(route, request)
            case _:
                await route.abort("blockedbyclient")

    async def _fetch(self, route: Route, request: Request) -> None:
        async with self._room:
            answer = await self._get(request)
            if answer is None:
                await route.abort("blockedbyclient")
                return
            headers = closed_to_others(answer.headers, request.url)
            await route.fulfill(status=answer.status, headers=headers, body=answer.body)

    async def _get(self, request: Request) -> Answered | None:
        most_bytes = self._allowance.take()
        if not most_bytes:
            return None
        wanted = Wanted(
            url=request.url,
            is_script=request.resource_type == "script",
            headers=passed_on(request.headers),
            most_bytes=most_bytes,
        )
        answer = await self._ask(wanted)
        fits = answer is not None and self._allowance.spend(len(answer.body))
        return answer if fits else None

    async def _ask(self, wanted: Wanted) -> Answered | None:
        """Ask in a task that ends with the page: this one belongs to the browser's library."""

        async def ask() -> Answered | None:
            return await self._sheet.ask(wanted)

        task = asyncio.create_task(ask())
        self._asking.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._asking.discard(task)
        if task.cancelled():
            return None
        if (error := task.exception()) is not None:
            log.error("asking %s for a page failed", wanted.url, exc_info=error)
            return None
        return task.result()
