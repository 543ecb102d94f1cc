"""A browser on the pages of a real service: it notes what goes wrong and what leaves the origin."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from clusters import Background
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    expect,
    sync_playwright,
)
from stores import PATIENCE_S

from skitter.wiring.tokens import OPERATOR, READER, derived

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, NARROW = (1280, 820), (390, 844)
PATIENCE_MS = 1000 * PATIENCE_S
expect.set_options(timeout=PATIENCE_MS)

_CUT = """() => {
  const found = [], width = document.documentElement.clientWidth;
  const title = "[title]:not([title=''])";
  const left = ".nicegui-echart, .q-ripple, pre, input, textarea";
  const titled = (el) => el.closest(title) || el.querySelector(title);
  for (const el of document.querySelectorAll("main.page *")) {
    const box = el.getBoundingClientRect(), style = getComputedStyle(el);
    if (!box.width || !box.height || el.closest(left)) continue;
    const told = `${el.tagName} ${el.className}: ${el.textContent.trim().slice(0, 60)}`;
    if (box.right > width + 1 || box.left < -1) {
      if (style.display !== "inline" || !titled(el)) found.push("outside: " + told);
    }
    else if (el.scrollWidth > el.clientWidth + 1 && style.overflowX !== "visible"
      && style.display !== "inline" && !titled(el)) found.push("cut: " + told);
  }
  return found;
}"""
"""Finds what is beyond the edge, and text that is cut with nothing that shows it whole."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Debian's chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Service:
    """``skitter up`` in processes of its own."""

    up: Background
    url: str
    token: str
    data: Path

    def token_of(self, role: str) -> str:
        names = {"operator": OPERATOR, "reader": READER}
        return derived(self.token, names[role]) if role in names else self.token

    def api(self, method: str, path: str, **given: Any) -> Any:
        """Call the API as an admin; return what it answers."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.request(method, self.url + path, headers=headers, timeout=60, **given)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def add_job(self, **job: Any) -> str:
        given = {"polite": {"delay": 0}, **job}
        return str(self.api("POST", "/v1/jobs", json=given)["id"])

    def until(self, what: str, is_so: Callable[[], object], seconds: float = PATIENCE_S) -> None:
        self.up.until(what, lambda: bool(is_so()), seconds)

    def job(self, job_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api("GET", f"/v1/jobs/{job_id}")
        return found


@contextmanager
def start_service(
    folder: Path, hosts: str, workers: int = 2, token: str | None = "a-token-of-the-tests"
) -> Iterator[Service]:
    """Start a service that can reach what ``hosts`` names, and wait until it answers.

    Without a token it makes one, and tells it.
    """
    (folder / "hosts").write_text(hosts)
    data = folder / "state"
    given = {} if token is None else {"SKITTER_TOKEN": token}
    words = ("--data", data, "--port", "0", "--workers", str(workers), "--allow-private")
    reach = ("--hosts", folder / "hosts")
    with Background(folder, "up", *words, *reach, env=given) as up:
        up.until_told("http://127.0.0.1:")
        port = up.told.partition("http://127.0.0.1:")[2]
        number = "".join(char for char in port[:5] if char.isdecimal())
        known = token or (data / "token").read_text().strip()
        service = Service(up, f"http://127.0.0.1:{number}", known, data)
        service.until("an answer", lambda: _answers(service.url))
        yield service


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=10).status_code == 200
    except httpx.TransportError:
        return False


class Visitor:
    """Somebody with a browser, signed in; complains at the end of what should not have been."""

    def __init__(
        self, browser: Browser, service: Service, role: str, folder: Path, **given: Any
    ) -> None:
        width, height = given.pop("size", WIDE)
        link = given.pop("link", None)
        self._context = browser.new_context(
            viewport={"width": width, "height": height}, accept_downloads=True, **given
        )
        self.service, self.folder = service, folder
        self._context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self._context.new_page()
        self.trouble: list[str] = []
        self.elsewhere: list[str] = []
        self._link = link or f"{service.url}/login#token={service.token_of(role)}"
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        self.page.on("dialog", self._dialog)
        self._context.on("request", self._request)

    def __enter__(self) -> Self:
        self.sign_in()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.page.screenshot(path=self.folder / "failed.png")
        self._context.close()
        if kind is None:
            assert not self.elsewhere
            assert not self.trouble

    def sign_in(self) -> None:
        """Follow the link that ``skitter up`` prints."""
        self.page.goto(self._link)
        self.page.wait_for_url(f"{self.service.url}/")
        self.ready()

    def ready(self) -> None:
        """Wait until a page can be used: its scripts run and its socket is open."""
        self.page.wait_for_function("window.did_handshake === true")

    def go(self, path: str) -> None:
        """Open an address of the dashboard."""
        self.page.goto(self.service.url + path)
        self.ready()

    def field(self, name: str) -> Locator:
        """Return a field of a form."""
        return self.page.locator(f'[data-field="{name}"]')

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def tile(self, key: str) -> Locator:
        return self.page.locator(f'[data-tile="{key}"] .value')

    def chart(self, at: int = 0) -> list[Any]:
        """Return the numbers that a chart draws, once it does."""
        shown = self.page.locator(".nicegui-echart").nth(at)
        shown.locator("canvas").first.wait_for()
        script = "el => getElement(el.id.slice(1)).chart.getOption().series.flatMap(s => s.data)"
        found: list[Any] = shown.evaluate(script)
        return found

    def until(self, what: str, is_so: Callable[[], object], seconds: float = PATIENCE_S) -> None:
        """Wait for something to become so in the browser."""
        end = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < end, f"{what} did not come"
            self.page.wait_for_timeout(100)

    def scrolls_sideways(self) -> bool:
        script = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        return bool(self.page.evaluate(script))

    def cut_off(self) -> list[str]:
        """Return what cannot be read on the page: beyond its edge, or cut without a title."""
        found: list[str] = self.page.evaluate(_CUT)
        return found

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.trouble.append(f"console: {message.text}")

    def _dialog(self, dialog: Any) -> None:
        self.trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.service.url, "data:", "blob:")):
            self.elsewhere.append(request.url)
