"""Write the bulk web as files for a static server, with a manifest that holds its ground truth."""

import argparse
import hashlib
import shutil
import socket
import sys
import time
from pathlib import Path

import msgspec

from bench.paths import ROOT, WEBS
from skitter.demo.bulk import BulkPlan, bulk_page, bulk_web, trap_page
from skitter.demo.html import encoded
from skitter.demo.model import Page
from skitter.demo.web import Web

FIRST_OF_MANY = 2
"""Many hosts are 127.0.0.2 and the addresses after it."""
_GENERATOR = ("src/skitter/demo", "bench/render.py")
_PICTURES = 40
_SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="200"><text>{}</text></svg>'
_CSS = "body{margin:0;font:16px/1.5 sans-serif}"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The ground truth of one rendered web."""

    made_by: str
    """Fingerprint of the generator."""
    folder: str
    addresses: list[str]
    port: int
    start: str
    titles: dict[str, str]
    """Every page that a right crawl brings, by URL."""
    behind_redirects: list[str]
    """Pages among them that only redirects lead to."""
    forbidden_path: str
    forbidden: int
    dead: int
    redirects: int
    files: int
    html_bytes: int


def rendered(pages: int, hosts: int, *, seed: int = 1) -> Manifest:
    """Return a web of this size on disk, rendered before or written by this call."""
    folder = WEBS / f"{pages}-pages-{hosts}-hosts"
    made_by = _fingerprint(pages, hosts, seed)
    known = folder / "manifest.json"
    if known.exists():
        manifest = msgspec.json.decode(known.read_bytes(), type=Manifest)
        if manifest.made_by == made_by and _is_free(manifest.port):
            return manifest
    shutil.rmtree(folder, ignore_errors=True)
    manifest = _write(BulkPlan(pages, hosts, seed), folder, made_by)
    known.write_bytes(msgspec.json.encode(manifest))
    return manifest


def _write(plan: BulkPlan, folder: Path, made_by: str) -> Manifest:
    port = _free_port()
    first = FIRST_OF_MANY if plan.hosts > 1 else 1
    addresses = [f"127.0.0.{first + n}" for n in range(plan.hosts)]
    web = bulk_web(plan, addresses, port)
    writer = _Writer(web, folder / "files")
    titles, size = {}, 0
    for number in range(plan.pages):
        page = bulk_page(plan, number)
        size += writer.write(page)
        titles[web.url(page.at)] = page.title or ""
    traps = plan.traps
    for kind in ("private", "files", "dl"):
        for number in range(traps[kind]):
            writer.write(trap_page(plan, kind, number))
    _write_extras(web, folder, plan)
    behind = [web.url(plan.target(n)) for n in range(plan.open_pages, plan.pages)]
    return Manifest(
        made_by=made_by,
        folder=str(folder),
        addresses=addresses,
        port=port,
        start=web.entry,
        titles=titles,
        behind_redirects=behind,
        forbidden_path="/private/",
        forbidden=traps["private"],
        dead=traps["missing"],
        redirects=traps["old"],
        files=traps["files"] + traps["dl"],
        html_bytes=size,
    )


class _Writer:
    """Writes pages under a folder per host, making each directory once."""

    def __init__(self, web: Web, folder: Path) -> None:
        self._web = web
        self._folder = folder
        self._made: set[Path] = set()

    def write(self, page: Page) -> int:
        """Write one page; return its size."""
        path = self._folder / self._web.hosts[page.at.site] / page.at.path.lstrip("/")
        if path.parent not in self._made:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(path.parent)
        body = page.answer.body
        if body is None:
            body = encoded(self._web, page)
        return path.write_bytes(body)


def _write_extras(web: Web, folder: Path, plan: BulkPlan) -> None:
    """Write robots.txt, styles and pictures of every host, and the redirects of all."""
    for name, site in web.sites.items():
        home = folder / "files" / web.hosts[name]
        for part in ("img", "static"):
            (home / part).mkdir(parents=True, exist_ok=True)
        (home / "robots.txt").write_text(site.robots.text())
        (home / "static" / "site.css").write_text(_CSS)
        for number in range(_PICTURES):
            (home / "img" / f"{number}.svg").write_text(_SVG.format(number))
    lines = []
    for number in range(plan.traps["old"]):
        at = plan.trap("old", number)
        goal = web.url(plan.target(plan.redirect_goal(number)))
        lines.append(f"{web.hosts[at.site]}{at.path} {goal};\n")
    (folder / "redirects.map").write_text("".join(lines))


def _fingerprint(pages: int, hosts: int, seed: int) -> str:
    digest = hashlib.sha256(f"{pages} {hosts} {seed}".encode())
    for place in _GENERATOR:
        path = ROOT / place
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    manifest = rendered(options.pages, options.hosts)
    took = time.monotonic() - began
    mean = manifest.html_bytes / len(manifest.titles)
    print(f"{manifest.folder}: {len(manifest.titles):,} pages of {mean:,.0f} bytes, {took:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
