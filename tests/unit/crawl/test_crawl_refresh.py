"""Pages that come again: on which conditions, read by which rules, and which do not."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, Record, Web, make_job
from turbohtml import Node

from skitter.fetch.browser.base import Rendered, Renderer, Sheet
from skitter.parse.rules.field import Sight
from skitter.parse.rules.ruleset import Fields, Picked
from skitter.testing.fake_fetcher import page
from skitter.types import PageClass

PERIOD_S = 600
PRICE = {"detail": {"fields": {"price": {"css": "b", "number": True}}}}
PROSE = "<p>" + "The committee, it was said, spoke of the bridge all winter long. " * 12 + "</p>"
OpenRig = Callable[..., Awaitable[CrawlRig]]


@pytest.fixture
def web() -> Web:
    found = Web()
    found.robots("")
    return found


@pytest.fixture
async def open_rig(tmp_path: Path, web: Web) -> AsyncIterator[OpenRig]:
    """Open the same directory with one job after another."""
    rigs: list[CrawlRig] = []

    async def opened(renderer: Renderer | None = None, **job: Any) -> CrawlRig:
        if rigs:
            await rigs[-1].close()
        rig = CrawlRig(tmp_path, web, make_job(refresh=f"{PERIOD_S}s", **job))
        rig.renderer = renderer
        if rigs:
            rig.clock = rigs[-1].clock
            rig.sink.lines = rigs[-1].sink.lines
        rigs.append(rig)
        await rig.open()
        return rig

    yield opened
    await rigs[-1].close()


async def visits(rig: CrawlRig) -> list[Record]:
    """Visit whatever is ready until nothing is; answers the records of it."""
    before = len(rig.sink.lines)
    while leases := await rig.claim():
        await rig.commit(await rig.in_time(leases[0]))
    return rig.sink.records[before:]


async def next_visits(rig: CrawlRig) -> list[Record]:
    rig.clock.advance(PERIOD_S)
    return await visits(rig)


def conditions(rig: CrawlRig) -> list[str | None]:
    """Return on which condition the home page was asked for, time by time."""
    asked = [one for one in rig.fetcher.requests if one.url == HOME]
    return [one.headers.get("If-None-Match") for one in asked]


async def test_a_page_is_asked_for_on_condition_until_it_is_read_by_other_rules(
    web: Web, open_rig: OpenRig
) -> None:
    web.html(HOME, "<b>12.50</b>", etag='"1"')
    rig = await open_rig(**PRICE)
    await rig.offer(HOME)
    [first] = await visits(rig)
    assert (first["fields"], first["changed"]) == ({"price": 12.5}, None)
    web.status(HOME, 304)
    [second] = await next_visits(rig)
    assert (second["fields"], second["changed"]) == ({"price": 12.5}, False)
    assert conditions(rig) == [None, '"1"']

    web.html(HOME, "<b>12.50</b>", etag='"1"')
    rig = await open_rig(detail={"fields": {"name": "//title"}})
    [third] = await next_visits(rig)
    assert (third["fields"], third["changed"], third["visit"]) == ({"name": HOME}, None, 3)
    web.status(HOME, 304)
    [fourth] = await next_visits(rig)
    assert (fourth["fields"], fourth["changed"]) == ({"name": HOME}, False)
    assert conditions(rig) == [None, '"1"']


@pytest.mark.parametrize(
    ("job", "says"),
    [
        ({}, 'looks like an error page: it says "404, Not Found"'),
        # What has its fields, or says more than an error page does, is none for its title alone.
        (PRICE, None),
        ({"detail": {"fields": {"size": "//i", "shape": "//u"}}}, None),
        ({"kind": "news"}, None),
    ],
)
async def test_a_title_speaks_for_a_page_that_was_not_judged_otherwise(
    web: Web, open_rig: OpenRig, job: dict[str, Any], says: str | None
) -> None:
    html = f"<title>404 Not Found</title><b>12.50</b>{PROSE * 3}"
    web[HOME] = page(HOME, html, headers={"content-type": "text/html", "etag": '"1"'})
    rig = await open_rig(**job)
    await rig.offer(HOME)
    [first] = await visits(rig)
    assert (first["outcome"], first["error"]) == ("ok", says)
    assert (await rig.totals()).error_pages == (says is not None)
    web.status(HOME, 304)
    [second] = await next_visits(rig)
    assert (second["outcome"], second["error"], second["changed"]) == ("ok", says, False)


class Prices:
    """Makes of each page what its script would show today."""

    def __init__(self) -> None:
        self.price = "12.50"

    async def render(self, sheet: Sheet) -> Rendered:
        return Rendered(text=f"<b>{self.price}</b>")


async def test_a_page_is_another_with_a_browser_and_without(web: Web, open_rig: OpenRig) -> None:
    web.html(HOME, "<div id=app></div>", etag='"1"')
    rig = await open_rig(**PRICE)
    await rig.offer(HOME)
    [plain] = await visits(rig)
    shows = Prices()
    rig = await open_rig(**PRICE, http={"render": True}, renderer=shows)
    found = [plain, *await next_visits(rig), *await next_visits(rig)]
    shows.price = "13.00"
    found += await next_visits(rig)
    said = [(one["fields"].get("price"), one["changed"]) for one in found]
    assert said == [(None, None), (12.5, None), (12.5, False), (13, True)]
    assert conditions(rig) == [None] * 3
    rig = await open_rig(**PRICE)
    [last] = await next_visits(rig)
    assert (last["fields"], last["changed"]) == ({"price": None}, None)
    assert conditions(rig) == [None]


async def test_nothing_is_unchanged_that_was_asked_for_without_condition(
    web: Web, open_rig: OpenRig
) -> None:
    web.status(HOME, 304)
    rig = await open_rig()
    await rig.offer(HOME)
    [record] = await visits(rig)
    assert (record["outcome"], record["error"]) == ("http_error", "status 304")
    assert record["changed"] is None


async def test_a_link_that_leads_nowhere_is_asked_for_once(web: Web, open_rig: OpenRig) -> None:
    web.html(HOME, "", "/go?1", "/go?2")
    web.moved(f"{SITE}/go?1", "mailto:ann@site.test")
    web.html(f"{SITE}/go?2", "nothing here")
    rig = await open_rig(kind="news", jump=["/go"])
    await rig.offer(HOME)
    await visits(rig)
    again = await next_visits(rig)
    assert [record["url"] for record in again] == [HOME]


async def test_a_page_of_links_that_says_there_is_nothing_is_set_aside(
    web: Web, open_rig: OpenRig
) -> None:
    gone = f"{SITE}/gone"
    web.html(HOME, "", "/gone")
    web.html(gone, "<h1>404 - page not found</h1>")
    rig = await open_rig(kind="news")
    await rig.offer(HOME)
    assert [record["url"] for record in await visits(rig)] == [HOME]
    assert (await rig.totals()).rejected == 1
    note = (await rig.look(gone)).note
    assert b"looks like an error page" in note


async def test_an_article_that_was_taken_for_a_page_of_links_is_told_when_others_are_known(
    web: Web, open_rig: OpenRig
) -> None:
    stories = [f"{SITE}/story/{number}" for number in range(1, 6)]
    web.html(HOME, "", "/story/1", "/topics/one")
    web.html(stories[0], "Soon.", "/topics/one", etag='"1"')
    web.html(f"{SITE}/topics/one", "Topics.", "/story/1", "/topics/two")
    web.status(f"{SITE}/topics/two", 404)
    rig = await open_rig(kind="news")
    await rig.offer(HOME)
    classes = {record["url"]: record["page_class"] for record in await visits(rig)}
    assert classes[stories[0]] == "nav"

    web.html(HOME, "", *stories)
    for url in stories[1:]:
        web.html(url, f"<h1>{url}</h1>{PROSE}")
    classes = {record["url"]: record["page_class"] for record in await next_visits(rig)}
    assert {classes[url] for url in stories[1:]} == {"data"}

    web.html(stories[0], f"<h1>{stories[0]}</h1>{PROSE}", etag='"1"')
    found = {record["url"]: record for record in await next_visits(rig)}
    assert found[stories[0]]["page_class"] == "data"
    assert found[stories[0]]["text"].startswith("The committee")
    assert found[f"{SITE}/topics/one"]["page_class"] == "nav"
    asked = [one.headers for one in rig.fetcher.requests if one.url == stories[0]]
    assert "If-None-Match" not in asked[-1]
    assert stories[0] not in {record["url"] for record in await next_visits(rig)}


async def test_a_page_is_marked_while_rules_are_read_on_it(
    web: Web, open_rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.html(HOME, "<b>12.50</b>")
    rig = await open_rig(**PRICE)
    marks: list[bytes] = []
    read = Fields.read

    def noted(self: Fields, node: Node, sight: Sight) -> Picked:
        marks.append((rig.root / "blackbox").read_bytes()[:12])
        return read(self, node, sight)

    monkeypatch.setattr(Fields, "read", noted)
    await rig.offer(HOME)
    await visits(rig)
    assert len(marks) == 1
    assert any(marks[0])
    assert not any((rig.root / "blackbox").read_bytes()[:12])


async def test_an_entry_that_is_taken_up_anew_is_asked_for_without_condition(
    web: Web, open_rig: OpenRig
) -> None:
    web.html(HOME, "", "/topics/one", etag='"1"')
    web.html(f"{SITE}/topics/one", "Topics.", "/topics/two")
    rig = await open_rig(kind="news")
    await rig.offer(HOME)
    await visits(rig)
    await rig.frontier.clear(rig.number, PageClass.NAV)
    rig.finder.forget()
    await rig.seeder.restart([HOME])
    found = [record["url"] for record in await visits(rig)]
    assert found == [HOME, f"{SITE}/topics/one"]
    assert conditions(rig) == [None, None]
    await next_visits(rig)
    assert conditions(rig)[2] == '"1"'


async def test_what_was_cleared_is_found_again_though_nothing_has_changed(
    web: Web, open_rig: OpenRig
) -> None:
    web.html(HOME, "", "/story/1", etag='"1"')
    rig = await open_rig()
    await rig.offer(HOME)
    assert rig.equipment.refresh is not None
    for cleared, condition in [(b"", None), (b"", '"1"'), (b"x", None), (b"x", '"1"')]:
        rig.equipment.refresh.cleared = cleared
        await next_visits(rig)
        assert conditions(rig)[-1] == condition


async def test_the_next_page_of_a_list_is_no_entry(web: Web, open_rig: OpenRig) -> None:
    rules = {"from": "//li", "detail_url": "a/@href", "next": "//i/@href"}
    away, gone, out = f"{SITE}/away", f"{SITE}/gone", "http://other.test/"
    web.html(HOME, "<i href='/away'></i><i href='/gone'></i><li><a href='http://other.test/x'>")
    web.moved(away, out)
    web.status(gone, 404)
    web.html(out, "not ours")
    web.robots("", "http://other.test")
    rig = await open_rig(kind="list", list=rules)
    await rig.offer(HOME)
    found = {record["url"]: record for record in await visits(rig)}
    assert (found[away]["depth"], found[away]["outcome"]) == (0, "refused")
    assert found[gone]["status"] == 404
    assert out not in rig.asked
    assert [record["url"] for record in await next_visits(rig)] == [HOME]
