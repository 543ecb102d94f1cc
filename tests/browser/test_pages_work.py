"""What people do on the pages: make a job, watch it, read what it brought, stop a worker."""

import csv
import io
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from browsing import Visitor, start_service
from playwright.sync_api import Browser, Locator, Page, expect

from skitter.demo.child import DemoProcess
from skitter.demo.model import Target

pytestmark = pytest.mark.e2e

Visit = Callable[..., Visitor]
TOUR = Path(__file__).parents[2] / "docs" / "tour.md"


def test_the_news_example_is_made_by_the_form_watched_and_read(
    visit: Visit, demo_web: DemoProcess
) -> None:
    visitor = visit()
    page = visitor.page
    visitor.go("/jobs/new")
    page.locator('[data-kind="news"]').click()
    visitor.field("entries").fill("news.demo test")
    page.get_by_text("wanted an http or https URL").first.wait_for()
    expect(visitor.button("Create job")).to_be_disabled()
    visitor.field("entries").fill(demo_web.web.url(Target("news", "/")))
    visitor.field("id").fill("courier")
    visitor.field("delay").fill("0.05")
    page.get_by_text("Ready to be created").wait_for()
    visitor.button("Create job").click()
    page.wait_for_url(f"{visitor.service.url}/jobs/courier")
    _until_more_than(visitor, "pages", 30)
    visitor.until("a chart of it", lambda: sum(n for _, n in visitor.chart()) > 0)
    _open_an_article(visitor)


def _open_an_article(visitor: Visitor) -> None:
    page = visitor.page
    page.get_by_role("tab", name="Pages").click()
    article = page.locator("td", has_text=".html").locator("a").first
    title = article.inner_text()
    article.click()
    page.get_by_role("heading", name=title).wait_for()
    assert page.locator("pre.text").first.inner_text().count(" ") > 50
    outside = page.locator("main.page a[target=_blank]").first
    assert outside.get_attribute("rel") == "noopener noreferrer nofollow"


def test_a_job_is_written_as_toml_and_tried_on_a_page(visit: Visit, demo_web: DemoProcess) -> None:
    visitor = visit("operator")
    page = visitor.page
    goods = demo_web.web.url(Target("shop", "/p/3-steel-classic-rake"))
    job = f"""
        id = "rakes"
        entries = ["{goods}"]
        depth = 0
        [detail.fields]
        name = {{css = "h1::text", required = true}}
        colour = {{css = "h6::text", required = true}}
    """
    visitor.go("/jobs/new")
    page.get_by_role("tab", name="TOML or JSON").click()
    raw = page.get_by_role("textbox", name="TOML or JSON")
    raw.fill("id = ")
    page.get_by_text("not valid TOML").wait_for()
    raw.fill(job)
    page.get_by_text("Ready to be created").wait_for()
    visitor.button("Try").click()
    page.get_by_text("Missing: colour").wait_for()
    page.get_by_text("Steel Classic Rake").first.wait_for()
    visitor.button("Create job").click()
    page.wait_for_url(f"{visitor.service.url}/jobs/rakes")
    visitor.go("/rejects?job=rakes")
    visitor.until("its reject", lambda: _again(visitor).count() == 1)
    page.get_by_role("cell", name="colour").wait_for()


def _again(visitor: Visitor) -> Locator:
    visitor.go("/rejects?job=rakes")
    visitor.page.locator("tbody tr, .empty").first.wait_for()
    return visitor.page.locator("tbody tr")


def test_a_worker_is_stopped_and_charts_move(visit: Visit, demo_web: DemoProcess) -> None:
    visitor = visit()
    page = visitor.page
    visitor.go("/")
    before = sum(n for _, n in visitor.chart())
    entries = [demo_web.web.url(Target(site, "/")) for site in ("docs", "archive")]
    visitor.service.add_job(id="moving", entries=entries, limits={"pages": 60})
    visitor.until("a higher line", lambda: sum(n for _, n in visitor.chart()) > before)
    width = page.locator(".nicegui-echart canvas").first.bounding_box()
    assert width is not None
    assert width["width"] > 500
    visitor.go("/nodes/up")
    running = page.locator("tr", has_text="running")
    expect(running).to_have_count(2)
    running.first.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    page.get_by_text("The worker is stopping.").wait_for()
    expect(running).to_have_count(1)
    visitor.button("Start workers").click()
    expect(running).to_have_count(2)
    page.locator("pre.log").wait_for()


def test_a_job_is_paused_resumed_cleared_and_cancelled(visit: Visit, demo_web: DemoProcess) -> None:
    visitor = visit("operator")
    page = visitor.page
    entry = demo_web.web.url(Target("library", "/"))
    visitor.service.add_job(id="slow", entries=[entry], polite={"delay": 2})
    visitor.go("/jobs")
    page.get_by_role("link", name="slow").click()
    visitor.button("Pause").click()
    page.locator(".badge", has_text="paused").wait_for()
    visitor.button("Resume").click()
    page.locator(".badge", has_text="running").wait_for()
    visitor.button("Change").click()
    page.get_by_text("Clear queue").click()
    page.get_by_role("dialog").get_by_role("button", name="Clear queue").click()
    page.get_by_text("waiting URLs were forgotten").wait_for()
    visitor.button("Change").click()
    page.get_by_role("menu").get_by_text("Cancel job").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
    page.locator(".badge", has_text="cancelled").wait_for()
    assert page.get_by_text("Delete", exact=True).count() == 0
    assert visitor.service.job("slow")["state"] == "cancelled"


def test_a_job_at_its_limit_says_so_and_goes_on_with_a_larger_one(
    visit: Visit, demo_web: DemoProcess
) -> None:
    visitor = visit("operator")
    page = visitor.page
    entry = demo_web.web.url(Target("docs", "/"))
    visitor.service.add_job(id="short", entries=[entry], limits={"pages": 5})
    visitor.go("/jobs/short")
    page.locator(".badge", has_text="at its limit").wait_for()
    page.get_by_text("Stopped by its limit of 5 pages.").wait_for()
    visitor.button("Go on").click()
    page.get_by_role("dialog").locator("input").fill("12")
    page.get_by_role("dialog").get_by_role("button", name="Go on").click()
    page.get_by_text("Stopped by its limit of 12 pages.").wait_for()
    assert visitor.service.job("short")["limits"]["pages"] == 12


def test_a_site_is_slowed_down_and_blocked(visit: Visit) -> None:
    visitor = visit("operator")
    page = visitor.page
    visitor.go("/sites")
    page.get_by_text("No settings").wait_for()
    visitor.field("pattern").fill("*.slow.test")
    visitor.field("delay").fill("fast")
    visitor.button("Save").click()
    page.get_by_text(re.compile("delay.*fast")).first.wait_for()
    visitor.field("delay").fill("2.5")
    visitor.button("Save").click()
    page.get_by_role("cell", name="delay = 2.5").wait_for()
    page.get_by_role("tab", name="Blacklist").click()
    visitor.field("block").fill("bad.test")
    visitor.button("Block").click()
    page.get_by_role("cell", name="bad.test").wait_for()
    rows = visitor.service.api("GET", "/v1/settings")["settings"]
    assert {row["pattern"] for row in rows} == {"*.slow.test", "bad.test"}
    visitor.button("Unblock").click()
    page.get_by_text("Nothing is blocked").wait_for()


def test_who_may_not_create_jobs_is_told_before_the_form_is_filled_in(visit: Visit) -> None:
    visitor = visit("reader")
    visitor.go("/jobs/new")
    visitor.page.get_by_text("Your token (Reader) may not create jobs.").wait_for()
    visitor.field("entries").fill("https://example.com/")
    visitor.field("pages").fill("many")
    visitor.page.get_by_text("wanted a number").first.wait_for()
    visitor.field("pages").fill("1")
    visitor.page.get_by_text("wanted a number").first.wait_for(state="hidden")
    expect(visitor.button("Create job")).to_be_disabled()
    expect(visitor.button("Try")).to_be_disabled()


def test_pages_show_while_they_are_fetched(visit: Visit, demo_web: DemoProcess) -> None:
    visitor = visit("reader")
    page = visitor.page
    visitor.go("/live")
    page.get_by_text("Waiting for pages").wait_for()
    entry = demo_web.web.url(Target("shop", "/"))
    visitor.service.add_job(id="shown", entries=[entry], limits={"pages": 20})
    rows = page.locator("tbody tr")
    visitor.until("some pages", lambda: rows.count() > 5)
    visitor.button("Pause").click()
    page.get_by_label("Site or words").fill("no such page")
    page.get_by_text("Waiting for pages").wait_for()
    page.get_by_label("Site or words").fill("shop")
    visitor.until("the same pages", lambda: rows.count() > 5)


def test_a_service_that_ends_is_missed_and_found_again(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    visitor.go("/jobs")
    master = visitor.service.up.pid
    os.kill(master, signal.SIGSTOP)  # or it is back before the page says so, after 2 s
    try:
        _kill_service(visitor)
        # What it says is shown two seconds later.
        told = "document.getElementById('popup').ariaHidden === 'false'"
        visitor.until("Connection lost", lambda: page.evaluate(told))
    finally:
        os.kill(master, signal.SIGCONT)
    visitor.until("its return", lambda: _is_connected(page), 60)
    page.get_by_role("heading", name="Jobs", level=1).wait_for()
    visitor.trouble.clear()  # the browser itself notes what it could not reach


def test_the_tour_leads_to_records_as_it_is_written(
    browser: Browser, demo_web: DemoProcess, tmp_path: Path
) -> None:
    """A newcomer follows the link that is printed, and clicks what docs/tour.md says to click."""
    steps = re.findall(r"^\d+\. Click \*\*(.+?)\*\*", TOUR.read_text(), re.MULTILINE)
    assert 3 < len(steps) + 1 < 10
    with start_service(tmp_path, demo_web.hosts, workers=1, token=None) as service:
        [link] = re.findall(r"open (http://\S+)", service.up.told)
        newcomer = Visitor(browser, service, "admin", tmp_path, link=link)
        with newcomer:
            newcomer.page.get_by_text("No jobs yet").wait_for()
            assert "token" not in newcomer.page.url
            for step in steps:
                _follow(newcomer, step, demo_web)


def _follow(newcomer: Visitor, step: str, demo_web: DemoProcess) -> None:
    page = newcomer.page
    if step == "Export":
        _until_more_than(newcomer, "pages", 5)
        with page.expect_download() as started:
            page.get_by_role("link", name=step).first.click()
        rows = list(csv.DictReader(io.StringIO(started.value.path().read_text())))
        assert len(rows) > 5
        assert {"url", "title", "outcome"} <= rows[0].keys()
    elif step.startswith("Addresses"):
        page.get_by_label(step).click()
        page.keyboard.type(demo_web.web.url(Target("tides", "/")))
        page.get_by_text("Ready to be created").wait_for()
    else:
        named = re.compile(rf"^{re.escape(step)}\b")
        choices = [page.get_by_role(role, name=named) for role in ("tab", "button", "radio")]
        either = choices[0].or_(choices[1]).or_(choices[2])
        either.first.click()


def test_records_are_downloaded_by_those_who_may_read_them(
    visit: Visit, demo_web: DemoProcess
) -> None:
    visitor = visit("reader")
    entry = demo_web.web.url(Target("tides", "/"))
    visitor.service.add_job(id="told", entries=[entry], depth=0)
    visitor.service.until("its end", lambda: visitor.service.job("told")["state"] == "finished")
    answer = visitor.page.request.get(f"{visitor.service.url}/download/told.jsonl")
    [record] = [json.loads(line) for line in answer.text().splitlines()]
    assert (record["url"], record["outcome"]) == (entry, "ok")
    missing = visitor.page.request.get(f"{visitor.service.url}/download/nothing.csv")
    assert missing.status == 404


def _until_more_than(visitor: Visitor, tile: str, n: int) -> None:
    def shown() -> int:
        text = visitor.tile(tile).first.inner_text().replace(",", "")
        return int(text) if text.isdecimal() else 0

    visitor.page.locator(f'[data-tile="{tile}"]').first.wait_for()
    visitor.until(f"more than {n} {tile}", lambda: shown() > n)


def _kill_service(visitor: Visitor) -> None:
    from clusters import command_line
    from killable import family

    [pid] = [one for one in family(visitor.service.up.pid) if "skitter.api" in command_line(one)]
    os.kill(pid, signal.SIGKILL)


def _is_connected(page: Page) -> bool:
    try:
        return bool(page.evaluate("window.did_handshake && window.socket.connected"))
    except Exception:  # noqa: BLE001  the page is being loaded anew
        return False
