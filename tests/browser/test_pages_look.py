"""How pages look and are used: widths, themes, languages, the keyboard, roles, signing in."""

import time
from collections.abc import Callable

import pytest
from browsing import NARROW, WIDE, Visitor
from playwright.sync_api import Page, expect

from skitter.api.auth import COOKIE, SESSION_S, Keys
from skitter.client.base import Role
from skitter.demo.child import DemoProcess
from skitter.demo.model import Target

pytestmark = pytest.mark.e2e

Visit = Callable[..., Visitor]
PATHS = ("/", "/jobs", "/jobs/new", "/pages", "/rejects", "/nodes", "/sites", "/live")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1280", "390"])
def test_no_page_scrolls_sideways(visit: Visit, size: tuple[int, int]) -> None:
    visitor = visit(size=size)
    for path in PATHS:
        visitor.go(path)
        visitor.page.locator("main.page h1").wait_for()
        assert not visitor.scrolls_sideways(), path
    assert visitor.page.locator("nav.side").is_visible()


def test_the_theme_is_remembered(visit: Visit) -> None:
    visitor = visit(color_scheme="light")
    theme = "document.documentElement.dataset.theme"
    assert visitor.page.evaluate(theme) == "light"
    visitor.button("Light or dark").click()
    assert visitor.page.evaluate(theme) == "dark"
    background = "getComputedStyle(document.body).backgroundColor"
    assert visitor.page.evaluate(background) == "rgb(15, 20, 24)"
    visitor.go("/jobs")
    assert visitor.page.evaluate(theme) == "dark"
    assert visitor.page.locator("body.body--dark").count() == 1


def test_without_a_choice_the_theme_is_that_of_the_system(visit: Visit) -> None:
    visitor = visit(color_scheme="dark")
    assert visitor.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_everything_is_there_in_chinese(visit: Visit) -> None:
    visitor = visit()
    visitor.button("中文").click()
    visitor.page.get_by_role("heading", name="总览").wait_for()
    for path, title in (("/jobs", "任务"), ("/nodes", "节点"), ("/jobs/new", "新建任务")):
        visitor.go(path)
        visitor.page.get_by_role("heading", name=title, level=1).wait_for()
    visitor.button("English").click()
    visitor.page.get_by_role("heading", name="New job", level=1).wait_for()


def test_the_keyboard_is_enough(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "MAIN"
    page.keyboard.press("g")
    page.keyboard.press("j")
    page.get_by_role("heading", name="Jobs", level=1).wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.tagName") == "INPUT"
    page.keyboard.type("gs?")
    page.keyboard.press("Tab")
    page.evaluate("document.activeElement.blur()")
    assert page.url.endswith("/jobs")
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("Keyboard shortcuts").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.keyboard.press("n")
    page.get_by_role("heading", name="New job").wait_for()


def test_a_job_is_made_and_cancelled_with_the_keyboard_alone(
    visit: Visit, demo_web: DemoProcess
) -> None:
    visitor = visit("operator")
    page = visitor.page
    page.keyboard.press("n")
    page.get_by_role("heading", name="New job").wait_for()
    _tab_to(page, '[data-kind="site"]')
    page.keyboard.press("Space")
    expect(page.locator('[data-kind="site"]')).to_have_attribute("aria-checked", "true")
    _tab_to(page, '[data-field="entries"]')
    page.keyboard.type(demo_web.web.url(Target("library", "/")))
    _tab_to(page, '[data-field="id"]')
    page.keyboard.type("typed")
    page.get_by_text("Ready to be created").wait_for()
    _tab_to(page, "button", "Create job")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{visitor.service.url}/jobs/typed")
    dialog = page.get_by_role("dialog")
    for ends in ("Escape", "Enter"):
        _tab_to(page, "button", "Change")
        page.keyboard.press("Enter")
        page.get_by_role("menu").wait_for()
        _tab_to(page, ".q-item", "Cancel job")
        page.keyboard.press("Enter")
        dialog.get_by_role("button", name="Cancel job").wait_for()
        _tab_to(page, ".q-dialog button", "Cancel job")
        page.keyboard.press(ends)
        dialog.wait_for(state="detached")
    page.locator(".badge", has_text="cancelled").wait_for()


def _tab_to(page: Page, selector: str, name: str = "") -> None:
    """Press Tab until something has the focus, known by what it is and says."""
    script = """([selector, name]) => {
        const at = document.activeElement, found = at && at.closest(selector);
        const said = found && `${found.textContent} ${found.getAttribute("aria-label")}`;
        return Boolean(found && said.includes(name));
    }"""
    for _ in range(60):
        if page.evaluate(script, [selector, name]):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {selector} {name}")


def test_what_has_the_focus_can_be_seen(visit: Visit) -> None:
    page = visit().page
    for _ in range(3):
        page.keyboard.press("Tab")
    style = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(style) == "solid"


def test_a_reader_is_offered_nothing_that_changes_something(visit: Visit) -> None:
    visitor = visit("reader")
    visitor.go("/jobs")
    visitor.page.locator("main.page h1").wait_for()
    assert visitor.button("New job").count() == 0
    visitor.go("/sites")
    visitor.page.get_by_role("tab", name="Settings").wait_for()
    assert visitor.button("Save").count() == 0


def test_signing_out_and_in_again(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    visitor.button("Sign out").click()
    page.get_by_label("Access token").fill("wrong")
    visitor.button("Sign in").click()
    page.get_by_text("This token is not right.").wait_for()
    visitor.trouble.clear()  # the browser itself notes that 401
    page.goto(f"{visitor.service.url}/jobs")
    assert "/login?next=%2Fjobs" in page.url
    page.get_by_label("Access token").fill(visitor.service.token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Jobs", level=1).wait_for()


def test_a_session_that_ends_leads_to_the_login_and_back(visit: Visit) -> None:
    visitor = visit()
    page, url = visitor.page, visitor.service.url
    for seconds in (4, 16, 60):  # where loading a page takes longer than that, the next one
        soon = Keys(visitor.service.token).cookie(Role.ADMIN, time.time() - SESSION_S + seconds)
        page.context.clear_cookies(name=COOKIE)
        page.context.add_cookies([{"name": COOKIE, "value": soon, "url": url}])
        page.goto(f"{url}/jobs")
        if page.url == f"{url}/jobs":
            break
    page.wait_for_url(f"{url}/login?next=%2Fjobs", timeout=90_000)
    page.get_by_label("Access token").fill(visitor.service.token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Jobs", level=1).wait_for()
