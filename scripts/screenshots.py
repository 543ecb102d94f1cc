"""Take the pictures of docs/images: a service at work on the demo web, looked at in a browser.

Run it with ``.venv/bin/python scripts/screenshots.py``; it wants chromium and takes two minutes.
"""

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support")]

from browsing import NARROW, Service, Visitor, chromium, start_service  # noqa: E402

from skitter.demo.child import DemoProcess  # noqa: E402
from skitter.demo.model import Target  # noqa: E402

IMAGES = ROOT / "docs" / "images"
MOST_BYTES = 200_000
WORK_S = 45.0
SIZE = (1280, 740)


@dataclass(frozen=True)
class Shot:
    """One picture."""

    name: str
    path: str
    theme: str = "light"
    language: str = "en"
    size: tuple[int, int] = SIZE


def jobs(demo: DemoProcess) -> list[dict[str, Any]]:
    """Return jobs that keep a service busy for a while."""

    def job(name: str, site: str, delay: float, **more: Any) -> dict[str, Any]:
        entries = [demo.web.url(Target(site, "/"))]
        return {"id": name, "entries": entries, "polite": {"delay": delay}, "owner": "ana", **more}

    rules = {"name": {"css": "h1::text", "required": True}}
    return [
        job("harbour-news", "news", 0.5, kind="news", refresh="30s"),
        job("library", "library", 0.35),
        job("dry-dock-goods", "shop", 1.5, detail={"fields": rules}, labels={"desk": "ports"}),
        job("handbook", "docs", 2.0, owner="lin"),
        job("tides", "tides", 1.0, owner="wei", priority=7),
        job("old-papers", "archive", 0.25),
    ]


def main() -> None:
    """Take all pictures."""
    IMAGES.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp())
    with DemoProcess() as demo, start_service(folder, demo.hosts) as service:
        for job in jobs(demo):
            service.api("POST", "/v1/jobs", json=job)
        time.sleep(WORK_S)
        page = first_article(service)
        for shot in (
            Shot("overview", "/"),
            Shot("job", "/jobs/harbour-news", "dark"),
            Shot("page", f"/pages?job=harbour-news&url={page}"),
            Shot("nodes", "/nodes", "dark"),
            Shot("chinese", "/jobs", language="zh"),
            Shot("phone", "/", "dark", size=NARROW),
        ):
            take(service, shot)
        take_form(service, demo)


def first_article(service: Service) -> str:
    """Return the address of an article that was fetched."""
    rows = service.api("GET", "/v1/jobs/harbour-news/pages?limit=100&class=data")["pages"]
    return str(max(rows, key=lambda row: len(row["text"] or ""))["url"])


def take(service: Service, shot: Shot) -> None:
    """Take one picture."""
    with chromium() as browser, Visitor(browser, service, "admin", IMAGES, size=shot.size) as one:
        dress(one, shot)
        one.go(shot.path)
        one.page.wait_for_timeout(3500)
        save(one, shot.name)


def take_form(service: Service, demo: DemoProcess) -> None:
    """Take the picture of the form, filled in and tried."""
    shot = Shot("new-job", "/jobs/new")
    with chromium() as browser, Visitor(browser, service, "admin", IMAGES, size=SIZE) as one:
        dress(one, shot)
        one.go(shot.path)
        one.page.locator('[data-kind="site"]').click()
        one.field("entries").fill(demo.web.url(Target("shop", "/")))
        one.field("id").fill("dry-dock")
        one.field("fields").fill(
            "name = //h1/text()\nprice = //td[.='Price']/following-sibling::td/text()"
        )
        one.field("try").fill(demo.web.url(Target("shop", "/p/3-steel-classic-rake")))
        one.button("Try").click()
        one.page.get_by_text("Links followed").wait_for()
        one.page.wait_for_timeout(500)
        save(one, shot.name)


def dress(visitor: Visitor, shot: Shot) -> None:
    """Choose theme and language as a viewer would."""
    for told in (f"skitter_theme={shot.theme}", f"skitter_lang={shot.language}"):
        visitor.page.evaluate("told => { document.cookie = told + '; path=/'; }", told)


def save(visitor: Visitor, name: str) -> None:
    """Keep a picture that is not too large for a page."""
    path = IMAGES / f"{name}.png"
    visitor.page.screenshot(path=path)
    if path.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{path}: {path.stat().st_size:,} bytes are too many")


if __name__ == "__main__":
    main()
