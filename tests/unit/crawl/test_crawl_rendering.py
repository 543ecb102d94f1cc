"""Which pages go through a browser, and what is kept of them; the browser is a script here."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, Web, by_url, make_job

from skitter.crawl.rendering import encoded, is_rendered
from skitter.errors import RenderError, RenderTimeout
from skitter.fetch.browser.base import Rendered, Sheet, Wanted
from skitter.frontier.model import Result
from skitter.testing.fake_fetcher import page

MakeRig = Callable[..., Awaitable[CrawlRig]]
CDN = "http://cdn.test"


class Script:
    """Makes of each page what a test says, after it has asked for what the test says."""

    def __init__(self) -> None:
        self.sheets: list[Sheet] = []
        self.wants: list[str] = []
        self.got: list[bytes | None] = []
        self.moved_to: str | None = None
        self.late = False
        self.fault: RenderError | None = None
        self.text = '<title>Shown</title><p>made by a script</p><a href="/new">new</a>'

    async def render(self, sheet: Sheet) -> Rendered:
        self.sheets.append(sheet)
        if self.fault is not None:
            raise self.fault
        for url in self.wants:
            headers = {"x-of-page": "1", "authorization": "of the page"}
            wanted = Wanted(url=url, is_script=True, headers=headers, most_bytes=10_000)
            answer = await sheet.ask(wanted)
            self.got.append(None if answer is None else answer.body)
        return Rendered(text=self.text, moved_to=self.moved_to, late=self.late)

    @property
    def urls(self) -> list[str]:
        return [sheet.url for sheet in self.sheets]


@pytest.fixture
def web() -> Web:
    found = Web()
    found.robots("User-agent: *\nDisallow: /no")
    found.robots("User-agent: *\nDisallow: /no", CDN)
    found.html(HOME, "<div id=app></div>", "/a", "/b")
    for path in ("/a", "/b", "/new"):
        found.html(f"{SITE}{path}", "as received")
    found.text(f"{SITE}/app.js", "let a", "text/javascript")
    found.text(f"{SITE}/no/secret.js", "let n", "text/javascript")
    found.text(f"{CDN}/lib.js", "let lib", "text/javascript")
    return found


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
async def make_rig(tmp_path: Path, web: Web, script: Script) -> AsyncIterator[MakeRig]:
    rigs: list[CrawlRig] = []

    async def make(**fields: Any) -> CrawlRig:
        rig = CrawlRig(tmp_path, web, make_job(**{"http": {"render": True}, **fields}))
        rig.renderer = script
        rigs.append(rig)
        await rig.open()
        return rig

    yield make
    for rig in rigs:
        await rig.close()


async def test_what_scripts_made_is_read_and_what_came_is_told(
    make_rig: MakeRig, script: Script, web: Web
) -> None:
    rig = await make_rig()
    visit = await rig.visit(HOME)
    record = visit.record
    received = web[HOME]
    assert record is not None
    assert not isinstance(received, Exception)
    assert (record.title, record.n_links) == ("Shown", 1)
    assert [link.url for link in visit.links] == [f"{SITE}/new"]
    assert record.bytes == len(received.body)
    assert record.content_type == "text/html; charset=utf-8"
    [sheet] = script.sheets
    assert (sheet.url, sheet.body, sheet.encoding) == (HOME, received.body, "utf-8")
    assert sheet.agent == rig.job.http.agent_for(rig.normal(HOME).host)


async def test_link_rules_say_which_pages(make_rig: MakeRig, script: Script) -> None:
    script.text = "<title>Shown</title>"
    rules = [{"allow": ["/a$"], "render": True}, {"allow": ["/b$"]}]
    rig = await make_rig(http={}, links=rules)
    records = by_url(await rig.crawl(HOME))
    assert script.urls == [f"{SITE}/a"]
    assert records[f"{SITE}/a"]["title"] == "Shown"
    assert records[f"{SITE}/b"]["title"] == f"{SITE}/b"


async def test_a_rule_goes_before_the_job(make_rig: MakeRig, script: Script) -> None:
    script.text = '<a href="/a">a</a><a href="/b">b</a>'
    rig = await make_rig(links=[{"allow": ["/a$"], "render": False}, {"allow": ["/b$"]}])
    await rig.crawl(HOME)
    assert script.urls == [HOME, f"{SITE}/b"]


async def test_a_rule_for_a_part_of_a_page_is_told_to_what_it_links(
    make_rig: MakeRig, script: Script, web: Web
) -> None:
    web.html(HOME, '<nav><a href="/a">a</a></nav><a href="/b">b</a>')
    rules = [{"restrict_css": ["nav"], "allow": ["/[ab]$"], "render": True}, {}]
    rig = await make_rig(http={}, links=rules)
    script.text = "<p>shown"
    await rig.crawl(HOME)
    assert script.urls == [f"{SITE}/a"]


async def test_a_page_that_comes_again_is_asked_for_whole(
    make_rig: MakeRig, script: Script, web: Web
) -> None:
    web.html(HOME, "<div id=app></div>", etag='"1"')
    script.text = '<a href="/a">one</a>'
    rig = await make_rig(refresh="600s", depth=0)
    await rig.commit(await rig.visit(HOME))
    rig.clock.advance(600)
    script.text = '<a href="/b">another</a>'
    visit = await rig.visit()
    assert visit.record is not None
    assert visit.record.changed
    asked = [request.headers for request in rig.fetcher.requests if request.url == HOME]
    assert len(asked) == 2
    assert "If-None-Match" not in asked[1]


async def test_other_answers_are_left_alone(make_rig: MakeRig, script: Script, web: Web) -> None:
    web.text(HOME, "plain")
    web.status(f"{SITE}/a", 404)
    web[f"{SITE}/b"] = page(f"{SITE}/b", b"")
    rig = await make_rig()
    await rig.crawl(HOME, f"{SITE}/a", f"{SITE}/b")
    assert script.sheets == []


async def test_where_scripts_want_to_go_is_a_link(make_rig: MakeRig, script: Script) -> None:
    script.text, script.moved_to = "<p>moving", f"{SITE}/a"
    rig = await make_rig()
    visit = await rig.visit(HOME)
    assert [link.url for link in visit.links] == [f"{SITE}/a"]


async def test_a_page_that_only_reloads_leads_nowhere(make_rig: MakeRig, script: Script) -> None:
    script.text, script.moved_to = "<p>again", HOME
    rig = await make_rig()
    assert (await rig.visit(HOME)).links == []


async def test_scripts_get_what_robots_and_settings_allow(
    make_rig: MakeRig, script: Script
) -> None:
    script.wants = [f"{SITE}/app.js", f"{SITE}/no/secret.js", f"{CDN}/lib.js", f"{CDN}/no/x.js"]
    rig = await make_rig()
    await rig.visit(HOME)
    assert script.got == [b"let a", None, b"let lib", None]
    assert rig.asked == [HOME, f"{SITE}/app.js", f"{CDN}/lib.js"]
    assert rig.asked_all.count(f"{CDN}/robots.txt") == 1


async def test_without_robots_nobody_is_asked_for_rules(make_rig: MakeRig, script: Script) -> None:
    script.wants = [f"{SITE}/no/secret.js", f"{CDN}/lib.js"]
    rig = await make_rig(polite={"robots": False})
    await rig.visit(HOME)
    assert script.got == [b"let n", b"let lib"]
    assert not any(url.endswith("robots.txt") for url in rig.asked_all)


async def test_own_headers_stay_at_home(make_rig: MakeRig, script: Script) -> None:
    script.wants = [f"{SITE}/app.js", f"{CDN}/lib.js"]
    rig = await make_rig(http={"render": True, "cookies": {"session": "secret"}})
    rig.equipment.home.add(HOME)
    await rig.visit(HOME)
    sent = {request.url: request.headers for request in rig.fetcher.requests}
    assert sent[f"{SITE}/app.js"]["Cookie"] == "session=secret"
    assert "Cookie" not in sent[f"{CDN}/lib.js"]


async def test_pages_of_others_do_not_get_own_headers_sent(
    make_rig: MakeRig, script: Script, web: Web
) -> None:
    web.html(f"{CDN}/", "a page that is linked")
    script.wants = [f"{SITE}/app.js"]
    rig = await make_rig(http={"render": True, "cookies": {"session": "secret"}}, scope="any")
    rig.equipment.home.add(HOME)
    await rig.offer_links(1, f"{CDN}/")
    await rig.visit()
    assert script.got == [b"let a"]
    sent = {request.url: request.headers for request in rig.fetcher.requests}
    assert "Cookie" not in sent[f"{SITE}/app.js"]


async def test_a_browser_that_dies_is_tried_again_later(make_rig: MakeRig, script: Script) -> None:
    script.fault = RenderError(HOME, "the browser died with it: gone")
    rig = await make_rig(http={"render": True, "tries": 2})
    visit = await rig.visit(HOME)
    assert (visit.result, visit.reason, visit.record) == (Result.RETRY, "RenderError", None)
    await rig.commit(visit)
    rig.clock.advance(600)
    visit = await rig.visit()
    assert visit.record is not None
    assert (visit.record.outcome, visit.record.error) == ("failed", script.fault.why)


async def test_a_page_that_is_read_too_soon_is_told_in_the_log(
    make_rig: MakeRig, script: Script, caplog: pytest.LogCaptureFixture
) -> None:
    script.late = True
    rig = await make_rig()
    with caplog.at_level("INFO"):
        visit = await rig.visit(HOME)
    assert visit.record is not None
    assert (visit.record.outcome, visit.record.title) == ("ok", "Shown")
    assert f"{HOME} was still busy" in caplog.text


async def test_a_page_that_cannot_be_read_is_given_up(make_rig: MakeRig, script: Script) -> None:
    script.fault = RenderTimeout(HOME, "its scripts do not let it be read")
    rig = await make_rig()
    visit = await rig.visit(HOME)
    assert visit.record is not None
    assert (visit.result, visit.record.outcome) == (Result.DEAD, "failed")


async def test_a_page_that_grows_beyond_the_cap_is_refused(
    make_rig: MakeRig, script: Script
) -> None:
    script.text = "x" * 1_001
    rig = await make_rig(http={"render": True, "max_bytes": 1_000})
    visit = await rig.visit(HOME)
    assert visit.record is not None
    assert visit.reason == "BodyTooLarge"
    assert "1001 bytes in the browser, more than the cap of 1000" in (visit.record.error or "")


@pytest.mark.parametrize(
    ("text", "encoding", "body"),
    [
        ("<p>né", "utf-8", "<p>né".encode()),
        ("<p>né\u2603", "windows-1252", b"<p>n\xe9&#9731;"),
        (
            "<meta charset=gbk><p>中文网页内容",
            "gbk",
            "<meta charset=gbk><p>中文网页内容".encode("gbk"),
        ),
    ],
)
def test_a_page_keeps_its_encoding(text: str, encoding: str, body: bytes) -> None:
    assert encoded(text, encoding) == (body, encoding)


def test_what_cannot_be_written_in_its_encoding_is_utf_8() -> None:
    assert encoded("<p>é", "x-user-defined") == ("<p>é".encode(), "utf-8")
    assert encoded("<p>\ud800", "no-such")[1] == "utf-8"


def test_a_job_that_says_nothing_has_no_browser() -> None:
    assert not is_rendered(make_job(links=[{"render": False}, {}]))
    assert is_rendered(make_job(links=[{}, {"render": True}]))
    assert is_rendered(make_job(http={"render": True}))
