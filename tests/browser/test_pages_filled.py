"""Pages of a service that has much to show: they are whole at every width, and can be searched."""

from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from browsing import NARROW, WIDE, Service, Visitor, start_service
from mirrors import KEPT, MIRRORS, NAMES, MirrorWeb
from playwright.sync_api import expect
from serving import Answer, SmallSite

from skitter.api.dashboard.i18n.en import ENGLISH

pytestmark = pytest.mark.e2e

Visit = Callable[..., Visitor]
THINGS, OLD = 120, 70
LONG = "goods-of-a-shop-with-a-name-that-nobody-would-want-to-read-twice"
LONG_PATH = "/a-path-without-an-end/" + "and-so-on-" * 24
RULES = "User-agent: *\nDisallow: /private/\n"


def _shop() -> dict[str, Answer | str]:
    """Return a shop whose pages have changed in the middle, so that a field is found no more."""
    paths = [f"/thing/{n}" for n in range(THINGS)]
    links = "".join(f'<a href="{path}">{path}</a>' for path in [*paths, "/gone", LONG_PATH])
    pages: dict[str, Answer | str] = {
        path: f"<title>Thing {n}</title><h1>Thing {n}</h1>"
        f"<b class={'price' if n < OLD else 'cost'}>{n}</b>"
        for n, path in enumerate(paths)
    }
    pages["/"] = f"<title>The shop</title>{links}"
    pages[LONG_PATH] = f"<title>{'A title that goes on. ' * 12}</title><h1>long</h1>"
    pages["/robots.txt"] = Answer(RULES.encode(), "text/plain")
    pages["/news/"] = '<title>News</title><a href="/news/1.html">one</a>'
    pages["/news/1.html"] = "<title>One</title>" + "<p>It rained in the harbour again.</p>" * 40
    return pages


@pytest.fixture(scope="module")
def shop() -> Iterator[SmallSite]:
    with SmallSite(_shop()) as site:
        yield site


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, shop: SmallSite) -> Iterator[Service]:
    """Start a service with one worker, which sees all pages of a site in their order."""
    folder = tmp_path_factory.mktemp("filled")
    with MirrorWeb() as mirrors, start_service(folder, mirrors.hosts_file, workers=1) as started:
        _fill(started, shop, mirrors)
        yield started


def _fill(service: Service, shop: SmallSite, mirrors: MirrorWeb) -> None:
    price = {"css": ".price", "number": True}
    fields = {"price": price, "name": "//h1/text()"}
    polite = {"delay": 0, "per_host": 4}
    started = {"entries": [shop.url()], "sitemaps": "no", "polite": polite}
    service.add_job(id=LONG, **started, detail={"fields": fields}, owner="ana", labels={"a": "b"})
    _until_finished(service, LONG)
    wanted = {"fields": {"price": {**price, "required": True}}}
    service.add_job(id="strict", **started, detail=wanted)
    entries = [mirrors.url(name) for name in NAMES]
    service.add_job(id="mirrors", entries=entries, sitemaps="no")
    service.add_job(id="news", kind="news", entries=[shop.url("/news/")], refresh="2s")
    service.api("PUT", f"/v1/settings/{'a-long-name.' * 5}test", json={"delay": 3, "per_host": 2})
    service.api("PUT", "/v1/settings/bad.test", json={"blacklist": True})
    for job in ("strict", "mirrors"):
        _until_finished(service, job)
    service.until("further visits", lambda: len(_visits(service, shop.url("/news/"))) > 1)


def _until_finished(service: Service, job: str) -> None:
    service.until("its end", lambda: service.job(job)["state"] == "finished")


def _visits(service: Service, url: str) -> list[object]:
    told = service.api("GET", f"/v1/pages?url={quote(url, safe='')}")
    return [visit for job in told["jobs"] for visit in job.get("visits", ())]


def _of(url: str) -> str:
    return f"/pages?url={quote(url, safe='')}"


def _rows(visitor: Visitor, n: int) -> None:
    expect(visitor.page.locator("main.page tbody tr:visible")).to_have_count(n)


@pytest.mark.parametrize(
    ("size", "language"), [(WIDE, "en"), (NARROW, "en"), (NARROW, "zh")], ids=str
)
def test_what_is_shown_can_be_read(
    visit: Visit, shop: SmallSite, size: tuple[int, int], language: str
) -> None:
    visitor = visit(size=size)
    page = visitor.page
    page.evaluate("told => { document.cookie = told + '; path=/'; }", f"skitter_lang={language}")
    jobs = ("/jobs", f"/jobs/{LONG}", "/jobs/strict", "/jobs/new", f"/pages?job={LONG}")
    pages = (_of(shop.url("/news/")), _of(shop.url(LONG_PATH)))
    for path in ("/", *jobs, *pages, "/rejects", "/nodes", "/nodes/up", "/sites", "/live"):
        visitor.go(path)
        page.locator("main.page h1").wait_for()
        tabs = page.locator("main.page").get_by_role("tab")
        for at in range(max(1, tabs.count())):
            if tabs.count():
                tabs.nth(at).click()
            page.wait_for_timeout(60)
            assert not visitor.scrolls_sideways(), (path, at)
            # While a page is being put together, parts of it are where they do not stay.
            for _ in range(50):
                if not (cut := visitor.cut_off()):
                    break
                page.wait_for_timeout(100)
            assert cut == [], (path, at)
            if language == "zh":
                _is_chinese(visitor)


def _is_chinese(visitor: Visitor) -> None:
    """Check that headings and the like are in Chinese, and that no name of a text is shown."""
    shown = visitor.page.locator("nav.side, main.page")
    texts = " ".join(shown.all_inner_texts())
    assert [key for key in ENGLISH if "." in key and f" {key} " in texts] == []
    parts = "main.page :is(h1, h2:not(.large), h3, th, .q-tab, .tile .label, .empty .what):visible"
    ours = [text.strip() for text in visitor.page.locator(parts).all_inner_texts()]
    english = [text for text in ours if text and not any("一" <= char <= "鿿" for char in text)]
    assert set(english) <= NAMED, english


NAMED = {LONG, "strict", "up", "robots.txt"}
"""What is called so in every language."""


def test_records_are_searched_and_a_page_tells_its_visits(visit: Visit, shop: SmallSite) -> None:
    visitor = visit("reader")
    page = visitor.page
    visitor.go(f"/pages?job={LONG}")
    _rows(visitor, 50)
    visitor.button("Show more").click()
    _rows(visitor, 100)
    visitor.button("Show more").click()
    _rows(visitor, THINGS + 3)
    expect(visitor.button("Show more")).to_be_hidden()
    find = page.get_by_label("Words in title or address")
    find.fill("Thing 77")
    _rows(visitor, 1)
    page.get_by_label("Site").fill("elsewhere.test")
    page.get_by_text("No records").wait_for()
    page.get_by_label("Site").fill("")
    find.fill("")
    page.get_by_label("Outcome").click()
    page.get_by_role("option", name="HTTP error").click()
    _rows(visitor, 1)
    page.get_by_role("link", name=shop.url("/gone")).click()
    page.get_by_role("heading", name=shop.url("/gone")).first.wait_for()
    visitor.field("look-up").fill(shop.url("/news/"))
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="News").wait_for()
    visits = page.locator("table", has=page.get_by_role("columnheader", name="Visit"))
    visitor.until("several visits", lambda: visits.locator("tbody tr").count() > 1)


def test_sites_are_known_by_one_name_and_by_their_rules(visit: Visit, shop: SmallSite) -> None:
    visitor = visit("operator")
    page = visitor.page
    visitor.go("/sites")
    page.get_by_role("tab", name="Aliases").click()
    rows = page.locator("tbody tr:visible")
    expect(rows).to_have_count(len(MIRRORS))
    mirror = rows.filter(has_text=MIRRORS[0]).first
    expect(mirror).to_contain_text(KEPT)
    mirror.get_by_role("button", name="Undo").click()
    page.get_by_role("dialog").get_by_role("button", name="Undo").click()
    expect(mirror).to_contain_text("crawled under its own name again")
    expect(mirror.get_by_role("button", name="Undo")).to_have_count(0)
    page.get_by_role("tab", name="robots.txt").click()
    visitor.field("robots").fill(shop.url().rstrip("/"))
    page.keyboard.press("Enter")
    expect(page.locator("pre.log:visible")).to_have_text(RULES.strip())
    visitor.until("most linked sites", lambda: shop.url().rstrip("/") in _most_linked(visitor))


def _most_linked(visitor: Visitor) -> str:
    """Load the page anew, and return what it says: links are counted every twenty seconds."""
    visitor.go("/sites")
    visitor.page.get_by_role("tab", name="Rankings").click()
    return visitor.page.locator("section:visible", has_text="Most linked").inner_text()


def test_what_goes_wrong_shows_first_and_charts_have_steps(visit: Visit) -> None:
    visitor = visit("reader")
    page = visitor.page
    alarm = page.locator(".alarm", has_text="rule detail.price was found on")
    expect(alarm.filter(has_text=LONG)).to_be_visible()
    visitor.go(f"/jobs/{LONG}")
    expect(alarm).to_be_visible()
    assert _step(visitor) == 10
    visitor.button("per minute").click()
    visitor.until("bars of a minute", lambda: _step(visitor) == 60)
    visitor.button("per day").click()
    visitor.until("bars of a day", lambda: _step(visitor) == 86_400)
    assert sum(n for _, n in visitor.chart()) >= THINGS


def _step(visitor: Visitor) -> int:
    """Return how many seconds one bar of the chart stands for."""
    times = [int(at) // 1000 for at, _ in visitor.chart()]
    return times[-1] - times[-2] if len(times) > 1 else 0


def test_live_shows_the_outcomes_that_are_wanted(visit: Visit, shop: SmallSite) -> None:
    visitor = visit("reader")
    page = visitor.page
    visitor.go("/live")
    entries = [shop.url("/gone"), *(shop.url(f"/thing/{n}") for n in range(4))]
    visitor.service.add_job(id="again", entries=entries, depth=0, sitemaps="no")
    shown = page.locator("tbody tr", has_text="again")
    expect(shown).to_have_count(5)
    page.get_by_label("Outcome").click()
    page.get_by_role("option", name="HTTP error").click()
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("/gone")
