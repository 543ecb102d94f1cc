"""Why a URL was fetched, refused or not seen; the answer for a person."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, Web, make_job

from skitter.clock import time_text
from skitter.crawl.explain import Explainer
from skitter.errors import ConnectError


@pytest.fixture
def web() -> Web:
    made = Web()
    made.robots("User-agent: *\nDisallow: /closed")
    made.html(HOME, "", "/a", "/closed/in", "/old", "/gone", "/down", "/broken")
    made.html(f"{SITE}/a", "a")
    made.moved(f"{SITE}/old", "/new")
    made.html(f"{SITE}/new", "new")
    made.status(f"{SITE}/gone", 410)
    made[f"{SITE}/down"] = ConnectError(f"{SITE}/down", "connection refused")
    made.status(f"{SITE}/broken", 500)
    return made


@pytest.fixture
async def rig(tmp_path: Path, web: Web) -> AsyncIterator[CrawlRig]:
    made = CrawlRig(tmp_path, web, make_job(http={"tries": 2}))
    await made.open()
    yield made
    await made.close()


async def why(rig: CrawlRig, url: str) -> dict[str, Any]:
    explainer = Explainer(
        job=rig.job,
        number=rig.number,
        reader=rig.frontier,
        judge=rig.judge,
        normaliser=rig.normaliser,
        manners=rig.manners,
    )
    found: dict[str, Any] = await explainer.explain(url)
    return found


async def test_a_fetched_page_is_shown_with_its_record(rig: CrawlRig) -> None:
    await rig.crawl()
    found = await why(rig, f"{SITE}/a#part")
    assert (found["url"], found["state"], found["why"]) == (f"{SITE}/a", "done", "was fetched")
    assert found["record"]["title"] == f"{SITE}/a"
    assert (found["job"], found["host"]) == ("job", "site.test")


async def test_any_spelling_of_a_page_finds_it(rig: CrawlRig) -> None:
    await rig.crawl()
    assert (await why(rig, f"{SITE}/./a?utm_source=mail"))["record"]["url"] == f"{SITE}/a"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/closed/in", ("refused", "robots.txt line 2", "/closed")),
        ("/gone", ("http_error", "410")),
        ("/down", ("failed", "connection refused")),
    ],
)
async def test_a_page_that_was_not_brought_says_why(
    rig: CrawlRig, path: str, words: tuple[str, ...]
) -> None:
    await rig.crawl()
    found = await why(rig, f"{SITE}{path}")
    assert found["state"] == "dead"
    assert all(word in found["why"] for word in words)


async def test_a_redirect_shows_where_it_led_and_its_target_who_led_there(rig: CrawlRig) -> None:
    await rig.crawl()
    old = await why(rig, f"{SITE}/old")
    assert old["record"]["final_url"] == f"{SITE}/new"
    new = await why(rig, f"{SITE}/new")
    assert new["state"] == "done"
    assert new["why"] == f"was reached by a redirect; its record is that of {SITE}/old"
    assert new["record"] == old["record"]
    assert new["visits"] == old["visits"]
    [visit] = new["visits"]
    assert (visit["number"], visit["status"], visit["outcome"]) == (1, 200, "ok")


async def test_a_redirect_to_a_page_with_its_own_record_names_it(rig: CrawlRig) -> None:
    await rig.crawl(f"{SITE}/new", HOME)
    assert f"redirects to {SITE}/new" in (await why(rig, f"{SITE}/old"))["why"]


async def test_a_waiting_page_says_how_deep_and_whence(rig: CrawlRig) -> None:
    await rig.commit(await rig.visit(HOME))
    found = await why(rig, f"{SITE}/a")
    assert found["state"] == "queued"
    assert (found["depth"], found["referrer"], found["failed_tries"]) == (1, HOME, 0)


async def test_a_page_that_failed_once_says_when_it_is_tried_again(rig: CrawlRig) -> None:
    await rig.commit(await rig.visit(f"{SITE}/broken"))
    found = await why(rig, f"{SITE}/broken")
    assert (found["state"], found["failed_tries"]) == ("scheduled", 1)
    assert found["next_visit"] > time_text(rig.clock.now_ms())


async def test_a_page_being_fetched_says_so(rig: CrawlRig) -> None:
    await rig.lease(HOME)
    found = await why(rig, HOME)
    assert (found["state"], found["why"]) == ("leased", "is being fetched")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://other.test/", ("never queued", "outside the host scope", "site.test")),
        (f"{SITE}/film.mp4", ("never queued", ".mp4")),
        (f"{SITE}/nobody-links-here", ("no fetched page links to it",)),
    ],
)
async def test_a_page_never_met_says_what_keeps_it_away(
    rig: CrawlRig, url: str, words: tuple[str, ...]
) -> None:
    await rig.crawl()
    found = await why(rig, url)
    assert found["state"] == "unknown"
    assert all(word in found["why"] for word in words)


async def test_a_page_never_met_that_robots_txt_forbids_says_so(rig: CrawlRig) -> None:
    await rig.crawl()
    found = await why(rig, f"{SITE}/closed/never-linked")
    assert found["state"] == "unknown"
    assert "robots.txt line 2" in found["why"]


async def test_what_is_no_url_is_answered_in_words(rig: CrawlRig) -> None:
    found = await why(rig, "gopher://old.test/")
    assert found["state"] == "unknown"
    assert "gopher" in found["why"]


# Sitemaps


async def test_a_sitemap_is_shown_with_what_it_listed(tmp_path: Path, web: Web) -> None:
    web.robots(f"Sitemap: {SITE}/map.xml\nSitemap: {SITE}/gone.xml")
    web.sitemap(f"{SITE}/map.xml", f"{SITE}/a", "http://other.test/")
    web.status(f"{SITE}/gone.xml", 404)
    rig = CrawlRig(tmp_path, web, make_job(sitemaps="auto"))
    await rig.open()
    await rig.crawl()
    found = await why(rig, f"{SITE}/map.xml")
    gone = await why(rig, f"{SITE}/gone.xml")
    await rig.close()
    assert found["state"] == "done"
    record = found["record"]
    assert (record["page_class"], record["n_links"]) == ("sitemap", 1)
    assert record["referrer"] == f"{SITE}/robots.txt"
    assert gone["state"] == "dead"
    assert "404" in gone["why"]


async def test_a_page_nobody_listed_says_so_where_sitemaps_alone_count(
    tmp_path: Path, web: Web
) -> None:
    rig = CrawlRig(tmp_path, web, make_job(sitemaps="only"))
    await rig.open()
    await rig.crawl()
    found = await why(rig, f"{SITE}/a")
    await rig.close()
    assert found["state"] == "unknown"
    assert "no sitemap" in found["why"]
