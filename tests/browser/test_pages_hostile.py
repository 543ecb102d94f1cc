"""What hostile sites say stays text, on every page that shows it."""

import html
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from browsing import Service, Visitor
from playwright.sync_api import Locator, Page, expect
from serving import Answer, SmallSite

pytestmark = pytest.mark.e2e

ATTACKS = (
    '<img src=x onerror="window.pwned=1">',
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "{{constructor.constructor('window.pwned=1')()}}",
    "${window.pwned=1}`${window.pwned=1}`",
    "<svg/onload=window.pwned=1>",
    '" onmouseover="window.pwned=1" x="',
    ":onclick=window.pwned=1 :title=window.pwned=1",
    "javascript:window.pwned=1",
    "&lt;img src=x onerror=window.pwned=1&gt;",
)
Visit = Callable[..., Visitor]


def _page(attack: str) -> str:
    text = html.escape(attack)
    return (
        f"<html><head><title>{text}</title><meta name=description content='{text}'>"
        f"<meta name=author content='{text}'><link rel=icon href='javascript:window.pwned=1'>"
        f"</head><body><h1>{text}</h1><p>{text}</p><a href='javascript:window.pwned=1'>x</a>"
    )


def _robots() -> str:
    return "User-agent: *\nDisallow: /nowhere\n" + "".join(f"# {one}\n" for one in ATTACKS)


@pytest.fixture(scope="module")
def evil() -> Iterator[SmallSite]:
    paths = [f"/{n}/{quote(attack, safe='')}" for n, attack in enumerate(ATTACKS)]
    links = "".join(f"<a href='{html.escape(path)}'>{html.escape(path)}</a>" for path in paths)
    pages: dict[str, Answer | str] = {
        path: _page(attack) for path, attack in zip(paths, ATTACKS, strict=True)
    }
    pages["/"] = f"<title>{html.escape(ATTACKS[0])}</title>{links}"
    pages["/robots.txt"] = Answer(_robots().encode(), "text/plain")
    with SmallSite(pages) as site:
        yield site


def _is_inert(page: Page) -> None:
    page.wait_for_timeout(120)
    assert page.evaluate("window.pwned") is None
    for link in page.locator("a[href]").all():
        href = link.get_attribute("href") or ""
        assert href.startswith(("/", "#", "http://", "https://")), href
        if href.startswith("http"):
            assert link.get_attribute("rel") == "noopener noreferrer nofollow"
            assert link.get_attribute("target") == "_blank"
    assert page.locator(".page img, .page svg[onload], .page script").count() == 0


def _crawl_evil(service: Service, evil: SmallSite) -> None:
    """Add the job, which is the same one when it is there."""
    fields = {"said": "//h1/text()"}
    said = {"owner": ATTACKS[0][:60], "labels": {"said": ATTACKS[1]}}
    service.add_job(id="evil", entries=[evil.url()], detail={"fields": fields}, **said)


def _until_finished(service: Service, job: str) -> None:
    service.until("its end", lambda: service.job(job)["state"] == "finished")


def test_hostile_records_are_inert_on_every_page(visit: Visit, evil: SmallSite) -> None:
    visitor = visit()
    page, service = visitor.page, visitor.service
    visitor.go("/live")
    rules = {"fields": {"said": "//h1/text()", "must": {"css": "h6::text", "required": True}}}
    _crawl_evil(service, evil)
    service.add_job(id="evil-rejected", entries=[evil.url()], detail=rules)
    page.get_by_text(ATTACKS[0]).first.wait_for()
    _is_inert(page)
    _until_finished(service, "evil")
    rejected = len(ATTACKS) + 1
    service.until("rejects", lambda: service.job("evil-rejected")["rejected"] == rejected)
    for path in ("/", "/jobs", "/jobs/evil", "/pages?job=evil", "/nodes/up", "/sites", "/rejects"):
        visitor.go(path)
        page.locator("main.page h1").wait_for()
        _is_inert(page)
    for job, tab in (("evil", "Pages"), ("evil-rejected", "Rejects")):
        visitor.go(f"/jobs/{job}")
        page.get_by_role("tab", name=tab).click()
        visitor.until(
            "records", lambda: page.locator("tbody tr:visible").count() > len(ATTACKS) - 3
        )
        _is_inert(page)


def test_a_hostile_record_is_inert_where_it_is_read(visit: Visit, evil: SmallSite) -> None:
    visitor = visit()
    page, service = visitor.page, visitor.service
    _crawl_evil(service, evil)
    _until_finished(service, "evil")
    rows = service.api("GET", "/v1/jobs/evil/pages?limit=100")["pages"]
    assert len(rows) == len(ATTACKS) + 1
    for row in rows:
        visitor.go(f"/pages?url={quote(row['url'], safe='')}")
        page.locator("main.page h2").first.wait_for()
        if row["title"]:
            assert row["title"].strip() in page.locator("main.page").inner_text()
        _is_inert(page)


def test_hostile_words_are_inert_in_every_tab_and_pane(visit: Visit, evil: SmallSite) -> None:
    visitor = visit()
    page, service = visitor.page, visitor.service
    service.add_job(id="evil-news", kind="news", entries=[evil.url()], refresh="2s")
    service.api("PUT", "/v1/settings/evil.test", json={"agent": ATTACKS[1], "blacklist": True})
    visitor.go("/sites")
    tabs = page.locator("main.page").get_by_role("tab")
    page.get_by_role("cell", name="evil.test").first.wait_for()
    for at in range(tabs.count()):
        tabs.nth(at).click()
        _is_inert(page)
    visitor.field("robots").fill(evil.url().rstrip("/"))
    page.keyboard.press("Enter")
    expect(page.locator("pre.log:visible")).to_contain_text(ATTACKS[-1])
    _is_inert(page)
    _try_on(visitor, evil)
    visitor.go(f"/pages?url={quote(evil.url(), safe='')}")
    visits = page.locator("table", has=page.get_by_role("columnheader", name="Visit"))
    visitor.until("further visits", lambda: _count_again(visitor, visits) > 1)
    _is_inert(page)
    # It would go on for ever, and the site ends before the service does.
    service.api("POST", "/v1/jobs/evil-news/cancel")


def _try_on(visitor: Visitor, evil: SmallSite) -> None:
    """Have rules tried on every hostile page, and on the one that links to them all."""
    page = visitor.page
    visitor.go("/jobs/new")
    page.locator('[data-kind="site"]').click()
    visitor.field("entries").fill(evil.url())
    visitor.field("fields").fill("said = //h1/text()\nlinks = //a/@href")
    paths = [path for path in evil.answers if path != "/robots.txt"]
    for path in paths[:: len(paths) - 1]:
        visitor.field("try").fill(evil.url(path))
        visitor.button("Try").click()
        page.get_by_text("Links followed").wait_for()
        _is_inert(page)
    visitor.field("entries").fill(f"http://{ATTACKS[0]}/")
    page.get_by_text("wanted an http or https URL").first.wait_for()
    _is_inert(page)


def _count_again(visitor: Visitor, rows: Locator) -> int:
    visitor.page.reload()
    visitor.page.locator("main.page h2").first.wait_for()
    return rows.locator("tbody tr").count()


def test_hostile_addresses_of_the_dashboard_are_inert(visit: Visit) -> None:
    visitor = visit()
    for attack in ATTACKS[:4]:
        told = quote(attack, safe="")
        for path in (f"/pages?url={told}", f"/rejects?job={told}"):
            visitor.go(path)
            visitor.page.locator("main.page h1").wait_for()
            _is_inert(visitor.page)
    visitor.go(f"/jobs/{quote(ATTACKS[0], safe='')}")
    visitor.page.get_by_text("There is no such job").wait_for()
    _is_inert(visitor.page)


@pytest.mark.parametrize("place", ["//evil.test/", "javascript:window.pwned=1", "/\\evil.test"])
def test_signing_in_leads_nowhere_else(visit: Visit, place: str) -> None:
    visitor = visit()
    link = f"/login?next={quote(place, safe='')}#token={visitor.service.token}"
    visitor.page.goto(visitor.service.url + link)
    visitor.page.wait_for_url(f"{visitor.service.url}/")
    assert visitor.page.evaluate("window.pwned") is None
