"""Pages in a real browser; what they ask for is answered by a table."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import msgspec
import pytest
from killable import family
from playwright.async_api import Browser, BrowserContext, Error

from skitter.errors import RenderError, RenderTimeout
from skitter.fetch.browser.base import Answered, Rendered, Sheet, Wanted
from skitter.fetch.browser.page import ASKED_AT_ONCE
from skitter.fetch.browser.pool import Chromium
from skitter.fetch.browser.rules import MOST_REQUESTS

pytestmark = pytest.mark.e2e

SITE = "http://site.test"
PAGE = f"{SITE}/page"


class Table:
    """Answers what is in it, and notes everything that was wanted."""

    def __init__(self, answers: Mapping[str, str] | None = None) -> None:
        self.answers = answers or {}
        self.wanted: list[Wanted] = []

    async def ask(self, wanted: Wanted) -> Answered | None:
        self.wanted.append(wanted)
        found = self.answers.get(wanted.url.removeprefix(SITE))
        if found is None:
            return None
        kind = "text/javascript" if wanted.is_script else "application/json"
        return Answered(status=200, headers={"content-type": kind}, body=found.encode())

    @property
    def urls(self) -> list[str]:
        return [wanted.url for wanted in self.wanted]


def sheet(html: str, table: Table | None = None, *, time_s: float = 60.0) -> Sheet:
    return Sheet(
        url=PAGE,
        body=html.encode(),
        encoding="utf-8",
        agent="Tester/1",
        time_s=time_s,
        ask=(table or Table()).ask,
    )


@asynccontextmanager
async def started(at_once: int = 4, pages: int = 500) -> AsyncIterator[Chromium]:
    browser = Chromium(at_once=at_once, pages=pages)
    try:
        yield browser
    finally:
        await browser.close()


def browsers() -> list[int]:
    """Return the processes of the browsers of this process."""

    def is_browser(pid: int) -> bool:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
        return b"--remote-debugging-pipe" in words and b"--type=" not in words

    return [pid for pid in family(os.getpid()) if is_browser(pid)]


async def test_scripts_run_with_what_they_ask_for() -> None:
    table = Table(
        {
            "/app.js": "fetch('/data.json').then(it => it.json())"
            ".then(it => { document.title = it.name; document.body.append(navigator.userAgent) })",
            "/data.json": '{"name": "From data"}',
        }
    )
    page = (
        "<!doctype html><title>Shell</title><link rel=stylesheet href=/a.css>"
        "<body><img src=/beacon.gif><iframe src=/frame></iframe>"
        "<script src=/app.js></script>"
    )
    async with started() as browser:
        found = await browser.render(sheet(page, table))
        again = await browser.render(
            sheet("<script>document.write(localStorage.x ?? 'new'); localStorage.x = 1</script>")
        )
        more = await browser.render(
            sheet("<script>document.write(localStorage.x ?? 'new')</script>")
        )
    assert "<title>From data</title>" in found.text
    assert "Tester/1" in found.text
    assert (found.moved_to, found.asked, found.late) == (None, 2, False)
    assert table.urls == [f"{SITE}/app.js", f"{SITE}/data.json"]
    assert [wanted.is_script for wanted in table.wanted] == [True, False]
    assert "new" in again.text
    assert "new" in more.text
    assert not browsers()


READS = """<script>(async () => {
  const of = (url) => fetch(url).then((it) => it.text()).catch(() => "nothing");
  const module = await import("http://other.test/data.json", {with: {type: "json"}})
    .then((it) => it.default.name).catch(() => "nothing");
  document.title = [await of("http://other.test/data.json"), module, await of("/own")].join();
})()</script>"""


async def test_a_page_cannot_read_what_another_site_does_not_show_it() -> None:
    table = Table({"http://other.test/data.json": '{"name": "secret"}', "/own": "own"})
    async with started() as browser:
        found = await browser.render(sheet(READS, table))
    assert "<title>nothing,nothing,own</title>" in found.text
    assert table.urls.count("http://other.test/data.json") == 2


async def test_a_page_that_wants_to_be_another_stays_and_says_where() -> None:
    moves = "<p>here</p><script>location = '/elsewhere?a=1'</script>"
    reloads = "<p>here</p><script>location.reload()</script>"
    posts = (
        "<form method=post action=/p></form><p>here</p><script>document.forms[0].submit()</script>"
    )
    opens = "<p>here</p><script>window.open('/popup')</script>"
    table = Table()
    async with started() as browser:
        found = [
            await browser.render(sheet(page, table)) for page in (moves, reloads, posts, opens)
        ]
    assert [one.moved_to for one in found] == [f"{SITE}/elsewhere?a=1", PAGE, None, None]
    assert all("<p>here</p>" in one.text for one in found)
    assert table.urls == []


async def test_a_busy_page_is_read_when_its_time_is_over() -> None:
    greedy = (
        "<script>for (let n = 0; n < 80; n++) fetch('/' + n).catch(() => 0)</script><p>here</p>"
    )
    polls = "<p>here</p><script>setInterval(() => fetch('/poll').catch(() => 0), 100)</script>"
    hangs = "<p>here</p><script>while (true) {}</script>"
    table = Table()
    async with started() as browser:
        full = await browser.render(sheet(greedy, table, time_s=60.0))
        late = await browser.render(sheet(polls, time_s=2.5))
        with pytest.raises(RenderTimeout, match="do not let it be read"):
            await browser.render(sheet(hangs, time_s=1.0))
        after = await browser.render(sheet("<p>after</p>"))
    assert (full.late, full.asked, len(table.urls)) == (False, MOST_REQUESTS, MOST_REQUESTS)
    assert late.late
    assert "<p>here</p>" in late.text
    assert "<p>after</p>" in after.text


BUFFERS = """<script>
const kept = [];
try { for (let n = 0; n < 40; n++) kept.push(new Uint8Array(100 << 20)) }
catch (e) { document.title = "no more" }
document.title += ", " + (kept.length < 20);
</script>"""


async def test_a_page_has_so_much_memory() -> None:
    async with started() as browser:
        found = await browser.render(sheet(BUFFERS))
    assert "<title>no more, true</title>" in found.text


async def test_a_page_asks_for_few_things_at_a_time() -> None:
    asked, most = 0, 0
    full = asyncio.Event()

    async def ask(_: Wanted) -> Answered | None:
        nonlocal asked, most
        asked += 1
        most = max(most, asked)
        if asked == ASKED_AT_ONCE:
            full.set()
        await full.wait()
        asked -= 1
        return Answered(status=200, headers={}, body=b"")

    page = "<script>for (let n = 0; n < 20; n++) fetch('/' + n)</script>"
    async with started() as browser:
        shown = await browser.render(msgspec.structs.replace(sheet(page), ask=ask))
    assert (shown.asked, most) == (20, ASKED_AT_ONCE)


class Closing:
    """A browser whose pages do not let themselves be closed."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    async def new_context(self, **said: Any) -> BrowserContext:
        context = await self._browser.new_context(**said)
        closing = patch.object(context, "close", side_effect=Error("it hangs"))
        closing.start()
        return context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._browser, name)


async def test_what_a_page_has_brought_counts_though_it_cannot_be_closed() -> None:
    async with started() as browser:
        await browser.render(sheet("<p>first</p>"))
        [first] = browsers()
        running = browser._running
        assert running is not None
        running.browser = cast("Browser", Closing(running.browser))
        assert "<p>here</p>" in (await browser.render(sheet("<p>here</p>"))).text
        await browser.render(sheet("<p>after</p>"))
        assert browsers() != [first]


async def test_a_browser_that_dies_is_started_again() -> None:
    table = Table({"/app.js": "document.body.append('done')"})
    deaths: list[int] = []

    class Deadly(Table):
        async def ask(self, wanted: Wanted) -> Answered | None:
            if len(deaths) < self.times:
                deaths.append(browsers()[0])
                os.kill(deaths[-1], signal.SIGKILL)
                return None
            return await table.ask(wanted)

        times = 1

    page = "<body><script src=/app.js></script>"
    async with started() as browser:
        found = await browser.render(sheet(page, Deadly()))
        assert "done" in found.text
        deadlier = Deadly()
        deadlier.times = 9
        with pytest.raises(RenderError, match="the browser died with it") as caught:
            await browser.render(sheet(page, deadlier))
        assert caught.value.retryable
        assert len(deaths) == 3
    assert not browsers()


async def test_few_pages_are_shown_at_once_and_browsers_are_renewed() -> None:
    at_once, most, seen = 0, 0, set()

    async def ask(wanted: Wanted) -> Answered | None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        seen.update(browsers())
        await asyncio.sleep(0)
        at_once -= 1
        return Answered(status=200, headers={}, body=b"")

    def one(number: int) -> Sheet:
        return Sheet(
            url=f"{SITE}/{number}",
            body=b"<script src=/app.js></script><p>here</p>",
            encoding="utf-8",
            agent="Tester/1",
            time_s=60,
            ask=ask,
        )

    async with started(at_once=2, pages=2) as browser:
        found: list[Rendered] = await asyncio.gather(*map(browser.render, map(one, range(4))))
    assert all("<p>here</p>" in page.text for page in found)
    assert most <= 2
    assert len(seen) == 2
    assert not browsers()


CRASHES = "<script>const a = []; for (;;) a.push(new Array(1e6).fill(Math.random()))</script>"


async def test_nothing_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with started() as browser:
        with pytest.raises(RenderError, match="crashed"):
            await browser.render(sheet(CRASHES))
        assert [path.name[:16] for path in tmp_path.glob("skitter-*")] == ["skitter-browser-"]
    assert not list(tmp_path.iterdir())


async def test_a_browser_that_does_not_start_is_told() -> None:
    with pytest.raises(RenderError, match="/bin/false did not start"):
        await Chromium(Path("/bin/false")).render(sheet("<p>"))
