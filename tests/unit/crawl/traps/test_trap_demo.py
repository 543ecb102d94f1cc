"""The guard on the real HTML of the demo web."""

import html
import re
from collections import deque
from urllib.parse import urljoin

import pytest
from trap_webs import make_guard
from turbohtml import parse

from skitter.crawl.traps.guard import TrapGuard
from skitter.demo.build import demo_web
from skitter.demo.html import document
from skitter.demo.model import Target
from skitter.demo.web import Web
from skitter.parse.simhash import page_sketch

_HREF = re.compile(r'<a href="([^"#]+)')


def crawl(web: Web, name: str, guard: TrapGuard) -> list[Target]:
    """Fetch a site page by page, links as the pages have them."""
    base = web.url(Target(name, "/"))[:-1]
    queue, seen = deque([(f"{base}/", 0, "")]), {f"{base}/"}
    fetched: list[Target] = []
    while queue and len(fetched) < 2_000:
        url, depth, found_on = queue.popleft()
        target = Target(name, url.removeprefix(base))
        page = web.sites[name].page(target.path)
        if page is None or guard.before(url, depth, found_on=found_on) is not None:
            continue
        fetched.append(target)
        text = document(web, page)
        sketch = page_sketch(parse(text), url)
        guard.page(url, depth=depth, found_on=found_on, sketch=sketch)
        for href in map(html.unescape, _HREF.findall(text)):
            link = urljoin(url, href)
            if not link.startswith(f"{base}/"):
                continue
            if guard.link(link, found_on=url, depth=depth + 1) is None and link not in seen:
                seen.add(link)
                queue.append((link, depth + 1, url))
    return fetched


@pytest.mark.parametrize("name", ["www", "news", "shop", "docs", "archive", "library"])
def test_nothing_of_an_ordinary_site_is_cut(name: str) -> None:
    guard = make_guard()
    fetched = crawl(demo_web(pages=1_500), name, guard)
    assert fetched
    assert not guard.cut


def test_the_maze_is_left_with_every_real_page() -> None:
    web = demo_web(with_traps=True)
    guard = make_guard()
    fetched = crawl(web, "maze", guard)
    trapped = [target for target in fetched if web.trap(target)]
    assert len(trapped) <= 0.05 * len(fetched), trapped
    every = {Target("maze", path) for path in ("/", "/beds/", "/seeds", "/events/", "/walks/")}
    assert every <= set(fetched)
    assert len(fetched) - len(trapped) == len(crawl(web, "maze", _Blind(web)))


class _Blind(TrapGuard):
    """Knows the traps from the web itself."""

    def __init__(self, web: Web) -> None:
        self._web = web

    def link(self, url: str, *, found_on: str, depth: int) -> str | None:
        path = url.removeprefix(self._web.url(Target("maze", "/"))[:-1])
        return "a trap" if self._web.trap(Target("maze", path)) else None

    def before(self, url: str, depth: int, *, found_on: str = "") -> str | None:
        return None

    def page(self, *args: object, **named: object) -> None:
        return None
